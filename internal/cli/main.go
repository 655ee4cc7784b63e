// Package cli is the command line: it translates flags into verbs and answers into text.
package cli

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/belfryhq/belfry/internal/app"
)

// Main runs the command line and returns the exit code.
func Main(args []string, _ io.Reader, _, stderr io.Writer) int {
	if len(args) == 0 || args[0] != "serve" {
		fmt.Fprintln(stderr, "error: only serve is known so far")
		return 2
	}
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	file := fs.String("file", "", "")
	db := fs.String("db", "sqlite:belfry.db", "")
	listen := fs.String("listen", "127.0.0.1:0", "")
	lease := fs.Duration("claim-lease", 5*time.Second, "")
	runLease := fs.Duration("run-lease", 10*time.Second, "")
	if fs.Parse(args[1:]) != nil {
		return 2
	}
	_ = listen
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	log := slog.New(slog.NewJSONHandler(stderr, nil))
	n, err := app.Open(ctx, app.Options{DB: (*db)[len("sqlite:"):], File: *file, ClaimLease: *lease, RunLease: *runLease, Logger: log})
	if err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return 7
	}
	sig := make(chan os.Signal, 2)
	signal.Notify(sig, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-sig
		cancel()
		<-sig
		n.Kill()
	}()
	_ = json.NewEncoder(stderr).Encode(map[string]string{"msg": "ready", "addr": ""})
	if err := n.Run(ctx); err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return 1
	}
	if err := n.Close(); err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return 1
	}
	return 0
}
