// Package worker is the loop that executes runs: take, hold until due, confirm, run, settle; and recover what other
// workers left behind.
//
// Who is authoritative: the store says whose a run is; every write is conditional on the fence under which it was
// taken. The worker's clock says when its instant has come, and never lets it start before. The target says how it
// ended. A worker is known to the store as a node, and all its runs hang on the node's heartbeat. When that fails for
// two thirds of the lease, the worker ends everything it runs, forgets the node and goes on as a new one.
//
// A run passes through: taken (counted in its pool) -> held (until Confirm before its instant) -> confirmed (the store
// has it running) -> executing -> ended -> settled (its outcome is written or refused). A run that was late when it was
// taken is confirmed while it executes already, unless it is to run at most once.
package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/target"
)

// Store is what a worker needs of the store.
type Store interface {
	store.Queue
	store.Nodes
	store.Waker
	Now(ctx context.Context) (time.Time, error)
	Revision(ctx context.Context, id schedule.ID, revision uint64) ([]byte, error)
	Run(ctx context.Context, id run.ID) (run.Run, error)
	Runs(ctx context.Context, q store.RunQuery) (items []run.Run, next string, err error)
}

// Options says how a worker works. The zero value works: one pool "default" of 16.
type Options struct {
	// Node is written into the node's row: Host, PID, Version, ZoneRelease and Roles. The rest is filled in here.
	Node store.Node
	// Pools is how many runs of each pool execute at once; a pool that is not named is not served.
	Pools map[string]int
	// Lease is how long a silent worker keeps its runs; Renew is the time between its heartbeats.
	Lease, Renew time.Duration
	// Ahead is how long before its instant a run may be taken, at most a second: taken runs are not given to another
	// worker when this one dies, and start late by its lease. Negative: nothing is taken ahead.
	Ahead time.Duration
	// Confirm is how long before its instant a held run becomes irrevocable.
	Confirm time.Duration
	// ShutdownGrace is how long running work may go on once Run's context is cancelled.
	ShutdownGrace time.Duration
	// Poll is how often the store is asked for work when nothing else says that there is some.
	Poll time.Duration
	// Consent says whose schedules may run commands here.
	Consent target.Consent
	Clock   clock.Clock
	Logger  *slog.Logger
}

const (
	defaultConcurrency = 16
	maxAhead           = time.Second
	maxConcurrency     = 100_000
	// stopWait is how long cancelled work may take before Run returns without it (D33).
	stopWait = 5 * time.Second
	// callTimeout bounds a store call that nothing else bounds.
	callTimeout = 5 * time.Second
)

func (o *Options) validate() error {
	defaults := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	defaults(&o.Lease, 10*time.Second)
	defaults(&o.Renew, time.Second)
	defaults(&o.Ahead, maxAhead)
	defaults(&o.Confirm, 250*time.Millisecond)
	defaults(&o.ShutdownGrace, 30*time.Second)
	defaults(&o.Poll, time.Second)
	if o.Pools == nil {
		o.Pools = map[string]int{"default": defaultConcurrency}
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Ahead = max(o.Ahead, 0)
	switch {
	case o.Renew < 0 || o.Lease < 3*o.Renew:
		return fmt.Errorf("worker: lease is %v and renew %v; a lease takes at least three renewals", o.Lease, o.Renew)
	case o.Ahead > maxAhead:
		return fmt.Errorf("worker: ahead is %v; at most %v", o.Ahead, maxAhead)
	case o.Confirm < 0 || o.ShutdownGrace < 0 || o.Poll < 0:
		return errors.New("worker: confirm, shutdown grace and poll cannot be negative")
	case len(o.Pools) == 0:
		return errors.New("worker: no pool to serve")
	}
	for pool, n := range o.Pools {
		if n < 1 || n > maxConcurrency {
			return fmt.Errorf("worker: pool %q has concurrency %d; 1 to %d are possible", pool, n, maxConcurrency)
		}
	}
	return nil
}

// Worker executes runs. New makes one; Run runs it, once.
type Worker struct {
	s       Store
	targets *target.Registry
	o       Options
	log     *slog.Logger

	rooms   *rooms
	specs   *specs
	settler *settler
	skew    atomic.Int64 // of the store's clock against ours, in nanoseconds, cut towards late
	killed  chan struct{}
	kill    sync.Once
}

// New checks the options and returns a worker that does nothing until Run.
func New(s Store, targets *target.Registry, o Options) (*Worker, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	w := &Worker{s: s, targets: targets, o: o, log: o.Logger, killed: make(chan struct{})}
	w.rooms = newRooms(o.Pools)
	w.specs = newSpecs(s)
	w.settler = newSettler(s, o.Logger, w.rooms.total(), w.rooms.poke)
	return w, nil
}

// Kill makes a Run that is shutting down stop waiting for running work: everything is cancelled at once. It is the
// second signal of D33.
func (w *Worker) Kill() { w.kill.Do(func() { close(w.killed) }) }

// Run works until ctx is cancelled, and then returns what has not started, lets running work end within the grace,
// cancels the rest, and writes the outcomes that are still unwritten. What it had to leave behind is recovered by
// others. It returns an error only if it could not work at all.
func (w *Worker) Run(ctx context.Context) error {
	var helpers sync.WaitGroup
	helpers.Go(w.settler.run)
	helpers.Go(func() { w.sweep(ctx) })
	defer helpers.Wait()
	defer w.settler.close()
	for ctx.Err() == nil {
		w.newLife(ctx).live(ctx)
	}
	return nil
}

// now is the store's time, as far as it is known, and never ahead of it.
func (w *Worker) now() time.Time { return w.o.Clock.Now().Add(time.Duration(w.skew.Load())) }

// observe compares the store's clock with ours. The answer was read between the two readings here; counting it as read
// at the first keeps what we believe behind the store's clock: a run may be late, it never starts early (PROTOCOL A9).
func (w *Worker) observe(ctx context.Context) {
	before := w.o.Clock.Elapsed()
	theirs, err := w.s.Now(ctx)
	took := w.o.Clock.Elapsed() - before
	if err != nil || took > maxSample {
		return // says nothing precise; the next heartbeat asks again
	}
	w.skew.Store(int64(theirs.Sub(w.o.Clock.Now())))
}

// maxSample is the longest answer that the clock is set by.
const maxSample = 50 * time.Millisecond

// sleepUntil waits until t by the store's clock. It looks again when the timer fires, because a timer knows nothing of
// a clock that was set back meanwhile (S-033), and now and then on the way, for one that was set forward.
func (w *Worker) sleepUntil(t time.Time, done ...<-chan struct{}) bool {
	for {
		wait := t.Sub(w.now())
		if wait <= 0 {
			return true
		}
		if !sleep(min(wait, 500*time.Millisecond), done...) {
			return false
		}
	}
}

// sleep waits, and reports false as soon as one of the (at most two) channels is closed.
func sleep(d time.Duration, done ...<-chan struct{}) bool {
	var first, second <-chan struct{}
	if len(done) > 0 {
		first = done[0]
	}
	if len(done) > 1 {
		second = done[1]
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-first:
		return false
	case <-second:
		return false
	}
}

// detached is a context that outlives the cancellation of ctx, for a call that must be finished.
func detached(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}

// trouble tells one that has just begun, or is another now, from one that goes on: what lasts is logged once.
type trouble struct{ last string }

// begins takes the outcome of each try, and reports whether its error is to be logged.
func (t *trouble) begins(err error) bool {
	before := t.last
	t.last = ""
	if err != nil {
		t.last = err.Error()
	}
	return err != nil && t.last != before
}

func newNodeID() run.NodeID {
	var id run.NodeID
	_, _ = rand.Read(id[:]) // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

func poolNames(pools map[string]int) []string { return slices.Sorted(maps.Keys(pools)) }
