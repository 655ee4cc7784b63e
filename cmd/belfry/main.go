// Command belfry is a scheduler whose runs can be late, but never silently lost.
package main

import (
	"os"
	_ "time/tzdata" // where the system has no zone data, the binary brings its own

	"github.com/belfryhq/belfry/internal/app"
	"github.com/belfryhq/belfry/internal/cli"
	"github.com/belfryhq/belfry/target/command"
)

var version, commit string // set by the linker

func main() {
	command.GuardMain() // does not return in a process that guards a command
	os.Exit(cli.Main(app.Build{Version: version, Commit: commit}))
}
