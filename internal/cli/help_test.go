package cli

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// The help of serve tells what happens without a flag, for each setting that has a default.
func TestHelpOfServeTellsTheDefaults(t *testing.T) {
	t.Parallel()
	e := &env{getenv: func(name string) string { return map[string]string{"HOME": "/home/x"}[name] }}
	flags := e.serve().Flags()
	for name, want := range map[string]string{"listen": "127.0.0.1:7878", "state-dir": "/home/x/.local/state/belfry", "pools": "default=16", "lead": "2s",
		"run-lease": "10s", "max-catchup-age": "24h", "shutdown-grace": "30s", "command-allow": "file", "log-level": "info", "file": ""} {
		if f := flags.Lookup(name); f.DefValue != want || f.Value.String() != "" {
			t.Errorf("--%s: default %q in the help, %q in effect; want %q and nothing", name, f.DefValue, f.Value, want)
		}
	}
}

// A help page is one sentence and two examples, and the examples are of commands and flags that exist.
func TestEveryCommandHasASentenceAndTwoExamples(t *testing.T) {
	t.Parallel()
	e := &env{stdout: os.Stdout, stderr: os.Stderr, getenv: func(string) string { return "" }, environ: func() []string { return nil }, now: time.Now}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Name() == "help" {
			return
		}
		lines := strings.Split(cmd.Example, "\n")
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || len(lines) != 2 {
			t.Errorf("%s: sentence %q, %d examples", cmd.CommandPath(), cmd.Short, len(lines))
		}
		for _, line := range lines {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "belfry" {
				continue // a pipeline of a shell
			}
			found, _, err := e.root().Find(words[1:])
			if err != nil {
				t.Errorf("%s: example %q: %v", cmd.CommandPath(), line, err)
				continue
			}
			for _, word := range words {
				name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
				if strings.HasPrefix(word, "--") && found.Flag(name) == nil && found.InheritedFlags().Lookup(name) == nil {
					t.Errorf("%s: example %q: there is no flag %s", cmd.CommandPath(), line, word)
				}
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(e.root())
}
