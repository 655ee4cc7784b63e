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

	"github.com/belfryhq/belfry/client"
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
	File          Source         // schedules of origin file; no Path: none
	Listen        string         // loopback address of the API; "": no API
	AddressFile   string         // where the address is written once it is known; "": nowhere
	Roles         Roles          // zero: planner, worker and API
	Pools         map[string]int // concurrency by pool
	Lead          time.Duration
	ClaimLease    time.Duration
	RunLease      time.Duration
	MaxIdle       time.Duration
	ShutdownGrace time.Duration
	Consent       target.Consent
	Version       client.Version
	Clock         clock.Clock
	Logger        *slog.Logger
	Jobs          *target.Jobs // handlers for in-process jobs; nil: none
}

// ErrRefused marks what this server may not do by its own settings, such as running a command.
var ErrRefused = control.ErrRefused

// Roles says which loops a node runs. The zero value runs both; API alone runs neither.
type Roles struct{ Planner, Worker, API bool }

// Node is one process's planner and worker over one store.
type Node struct {
	o       Options
	store   store.Store
	Control *control.Control
	planner *planner.Planner
	worker  *worker.Worker
	watch   *fileWatch
	door    *door // nil: no API
	started time.Time
}

// Open reads the file of schedules once, opens the store, takes the address and applies the file: whatever refuses the
// start does so before a schedule has changed and before anything runs.
func Open(ctx context.Context, o Options) (*Node, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Roles == (Roles{}) {
		o.Roles = Roles{Planner: true, Worker: true, API: true}
	}
	n := &Node{o: o, started: o.Clock.Now()}
	if o.File.Path != "" {
		n.watch = &fileWatch{source: o.File, log: o.Logger, settle: defaultSettle, look: defaultLook}
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
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// wire applies the file last: a start that the address or a setting refuses must not have taken the schedules away from
// the server that has the database.
func (n *Node) wire(ctx context.Context) (err error) {
	n.Control = control.New(n.store, control.Options{Consent: n.o.Consent, Clock: n.o.Clock, Logger: n.o.Logger})
	if n.o.Roles.Planner {
		if err := n.wirePlanner(); err != nil {
			return err
		}
	}
	if n.o.Roles.Worker {
		if err := n.wireWorker(); err != nil {
			return err
		}
	}
	if n.o.Listen != "" {
		if n.door, err = n.listen(n.o.Listen); err != nil {
			return err
		}
	}
	if n.watch != nil {
		n.watch.apply = n.Control.ApplyFile
		return n.watch.load(ctx, "start")
	}
	return nil
}

func (n *Node) wirePlanner() (err error) {
	n.planner, err = planner.New(n.store, planner.Options{
		// The token begins with the process id, so that a person who sees the claim knows whom to ask.
		Token: fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()),
		Lead:  n.o.Lead, Lease: n.o.ClaimLease, MaxIdle: n.o.MaxIdle, ZoneRelease: n.o.Version.TZData,
		Clock: n.o.Clock, Logger: n.o.Logger,
	})
	return err
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
	n.worker, err = worker.New(n.store, registry, worker.Options{
		Node:  store.Node{Host: hostname(), PID: os.Getpid(), Version: n.o.Version.Version, ZoneRelease: n.o.Version.TZData, Roles: n.roles(), StartedAt: n.started},
		Pools: n.o.Pools, Lease: n.o.RunLease, ShutdownGrace: n.o.ShutdownGrace, Consent: n.o.Consent,
		Clock: n.o.Clock, Logger: n.o.Logger,
	})
	return err
}

func hostname() string {
	host, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return host
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

// Run runs the loops until ctx ends and everything has been given back or has run out of its grace. The API answers to
// the end, so that a person can watch a shutdown.
func (n *Node) Run(ctx context.Context) error {
	var loops, doors sync.WaitGroup
	errs := make([]error, 4)
	open, shut := context.WithCancel(context.WithoutCancel(ctx))
	defer shut()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	start := func(wg *sync.WaitGroup, i int, run func() error) {
		wg.Go(func() {
			if errs[i] = run(); errs[i] != nil {
				stop() // a node that does half of its work looks well and is not
			}
		})
	}
	if n.door != nil {
		start(&doors, 3, func() error { return n.door.run(open) })
	}
	if n.planner != nil {
		start(&loops, 0, func() error { return named("planner", n.planner.Run(ctx)) })
	}
	if n.worker != nil {
		start(&loops, 1, func() error { return named("worker", n.worker.Run(ctx)) })
	}
	if n.watch != nil {
		start(&loops, 2, func() error { return named("file", n.watch.run(ctx)) })
	}
	<-ctx.Done()
	loops.Wait()
	shut()
	doors.Wait()
	return errors.Join(errs...)
}

func named(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Kill cuts a shutdown short: running work is cancelled at once.
func (n *Node) Kill() {
	if n.worker != nil {
		n.worker.Kill()
	}
}

// Reload reads the file of schedules again, as SIGHUP asks for. What is wrong with it is logged.
func (n *Node) Reload(ctx context.Context) {
	if n.watch != nil {
		n.watch.reload(ctx, "reload")
	}
}

// Close closes the store. Run must have returned, or never been called.
func (n *Node) Close() error {
	var err error
	if n.door != nil {
		err = n.door.close()
	}
	return errors.Join(err, n.store.Close())
}

// Address is where the API listens; "" without one.
func (n *Node) Address() string {
	if n.door == nil {
		return ""
	}
	return n.door.address
}

// Identity waits until this process is known to the store as a node, and returns its name; "" for a process without a
// worker, or when ctx ends first.
func (n *Node) Identity(ctx context.Context) string {
	if n.worker == nil {
		return ""
	}
	const pause = 10 * time.Millisecond
	for {
		if name := n.identity(ctx); name != "" {
			return name
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ""
		case <-timer.C:
		}
	}
}

func (n *Node) identity(ctx context.Context) string {
	nodes, err := n.store.Living(ctx)
	if err != nil {
		return ""
	}
	host, newest := hostname(), store.Node{}
	for _, one := range nodes {
		if one.PID == os.Getpid() && one.Host == host && !one.StartedAt.Before(newest.StartedAt) {
			newest = one
		}
	}
	if newest.PID == 0 {
		return ""
	}
	return newest.ID.String()
}

// Planner tells how planning stands.
func (n *Node) Planner() planner.Status {
	if n.planner == nil {
		return planner.Status{Ready: true, Reason: "this node does not plan"}
	}
	return n.planner.Status()
}
