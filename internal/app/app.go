// Package app wires a node together: a store, a planner, a worker, the file of schedules and the API, in one Run. It is
// the only package that names concrete stores and targets.
package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/internal/planner"
	"github.com/belfryhq/belfry/internal/worker"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/sqlite"
	"github.com/belfryhq/belfry/target"
	"github.com/belfryhq/belfry/target/command"
)

// Options says what a node is made of. The zero value needs at least DB.
type Options struct {
	DB            string         // path of the SQLite file
	File          string         // schedules of origin file; "": none
	FileFormat    string         // "": by the file's name; crontab, system-crontab or manifest
	Roles         Roles          // zero: all
	Pools         map[string]int // concurrency by pool
	Lead          time.Duration
	ClaimLease    time.Duration
	RunLease      time.Duration
	MaxIdle       time.Duration
	ShutdownGrace time.Duration
	Consent       target.Consent
	Version       string
	ZoneRelease   string
	Clock         clock.Clock
	Logger        *slog.Logger
	Jobs          *target.Jobs // handlers for in-process jobs; nil: none
}

// Roles says which loops a node runs.
type Roles struct{ Planner, Worker bool }

// Node is one process's planner and worker over one store.
type Node struct {
	o       Options
	store   store.Store
	Control *control.Control
	planner *planner.Planner
	worker  *worker.Worker
	watch   *fileWatch
}

// Open opens the store and reads the file of schedules once: a file that is wrong refuses the start, before anything
// runs.
func Open(ctx context.Context, o Options) (*Node, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Roles == (Roles{}) {
		o.Roles = Roles{Planner: true, Worker: true}
	}
	n := &Node{o: o}
	if o.File != "" {
		n.watch = &fileWatch{path: o.File, format: o.FileFormat, log: o.Logger}
		if _, err := n.watch.read(); err != nil {
			return nil, err
		}
	}
	s, err := sqlite.Open(ctx, o.DB, sqlite.Options{Clock: o.Clock, Count: plan.Count, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	n.store = s
	if err := n.wire(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return n, nil
}

func (n *Node) wire(ctx context.Context) (err error) {
	n.Control = control.New(n.store, control.Options{Consent: n.o.Consent, Clock: n.o.Clock, Logger: n.o.Logger})
	if n.watch != nil {
		n.watch.apply = n.Control.ApplyFile
		if err := n.watch.load(ctx, "start"); err != nil {
			return err
		}
	}
	if n.o.Roles.Planner {
		n.planner, err = planner.New(n.store, planner.Options{
			// The token begins with the process id, so that a person who sees the claim knows whom to ask.
			Token: fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()),
			Lead:  n.o.Lead, Lease: n.o.ClaimLease, MaxIdle: n.o.MaxIdle, ZoneRelease: n.o.ZoneRelease,
			Clock: n.o.Clock, Logger: n.o.Logger,
		})
		if err != nil {
			return err
		}
	}
	if n.o.Roles.Worker {
		return n.wireWorker()
	}
	return nil
}

func (n *Node) wireWorker() error {
	registry := &target.Registry{}
	cmd, err := command.New(command.Options{})
	if err != nil {
		return err
	}
	if err := registry.Register(target.KindCommand, cmd); err != nil {
		return err
	}
	if n.o.Jobs != nil {
		if err := registry.Register(target.KindJob, n.o.Jobs); err != nil {
			return err
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	n.worker, err = worker.New(n.store, registry, worker.Options{
		Node:  store.Node{Host: host, PID: os.Getpid(), Version: n.o.Version, ZoneRelease: n.o.ZoneRelease, Roles: n.roles()},
		Pools: n.o.Pools, Lease: n.o.RunLease, ShutdownGrace: n.o.ShutdownGrace, Consent: n.o.Consent,
		Clock: n.o.Clock, Logger: n.o.Logger,
	})
	return err
}

func (n *Node) roles() (names []string) {
	if n.o.Roles.Planner {
		names = append(names, "planner")
	}
	if n.o.Roles.Worker {
		names = append(names, "worker")
	}
	return names
}

// Run runs the loops until ctx ends and everything has been given back or has run out of its grace.
func (n *Node) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	errs := make([]error, 3)
	start := func(i int, what string, run func(context.Context) error) {
		wg.Go(func() {
			if err := run(ctx); err != nil {
				errs[i] = fmt.Errorf("%s: %w", what, err)
			}
		})
	}
	if n.planner != nil {
		start(0, "planner", n.planner.Run)
	}
	if n.worker != nil {
		start(1, "worker", n.worker.Run)
	}
	if n.watch != nil {
		start(2, "file", n.watch.run)
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Kill cuts a shutdown short: running work is cancelled at once.
func (n *Node) Kill() {
	if n.worker != nil {
		n.worker.Kill()
	}
}

// Reload reads the file of schedules again, as SIGHUP asks for.
func (n *Node) Reload(ctx context.Context) error {
	if n.watch == nil {
		return nil
	}
	return n.watch.load(ctx, "reload")
}

// Close closes the store. Run must have returned.
func (n *Node) Close() error { return n.store.Close() }

// Planner tells how planning stands.
func (n *Node) Planner() planner.Status {
	if n.planner == nil {
		return planner.Status{Ready: true, Reason: "this node does not plan"}
	}
	return n.planner.Status()
}
