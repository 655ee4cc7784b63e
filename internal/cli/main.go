// Package cli is the command line: it translates flags into calls of the API's client and answers into text. What needs
// no server (preview, validate, version) is answered here.
//
// Data goes to stdout, everything else to stderr. JSON is the API's own JSON, and the formats json, jsonl, yaml and name
// and the exit codes are a promise; tables are for people and may change.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/belfryhq/belfry/internal/app"
)

// The exit codes.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitNotAllowed  = 5
	exitUnreachable = 6
	exitInvalid     = 7
	exitTimeout     = 8
	exitRunFailed   = 9
	exitLimited     = 13
	exitInterrupted = 130
	exitTerminated  = 143
)

// Main runs the command line of this process and returns the exit code.
func Main(b app.Build) int {
	e := &env{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, environ: os.Environ, now: time.Now, build: b}
	return e.run(os.Args[1:])
}

// env is what a command sees of the process. It belongs to one goroutine.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	environ        func() []string
	now            func() time.Time
	build          app.Build
	common         flags
	command        string // the path of the command that runs, "belfry run list"; "" before it is known
}

// run runs one command line.
func (e *env) run(args []string) int {
	root := e.root()
	root.SetArgs(args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	if !serves(args) { // serve drains on a signal, and has its own way with them
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		go func() {
			select {
			case s := <-signals:
				stop(signalled{s})
			case <-ctx.Done():
			}
		}()
	}
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var s signalled
	if errors.As(context.Cause(ctx), &s) {
		return s.code()
	}
	return e.fail(err)
}

func serves(args []string) bool { return len(args) > 0 && args[0] == "serve" }

// signalled is the cause of a context that a signal ended.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return s.String() }

func (s signalled) code() int {
	if s.Signal == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}
