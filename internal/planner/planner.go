// Package planner is the loop that turns due occurrences into runs: claim, select, plan, commit, sleep. It is built on
// timeline, which decides who leads and what is due; internal/plan decides what becomes of it; store.Dispatcher writes
// it in one transaction. This package only moves things between the three, and knows what to do when one of them says
// no.
package planner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// Options says how a planner behaves. The zero value works.
type Options struct {
	Shard int // which claim to contend for
	// Lead is how far ahead of its instant an occurrence is committed, so that it starts at its instant and not after
	// a commit. Longer survives slower disks; an edit un-plans what was planned ahead. Default 2 s.
	Lead time.Duration
	// Lease is how long a dead planner blocks its successor at most. Default 5 s.
	Lease time.Duration
	// MaxIdle is the longest sleep when nothing is due. Default 60 s; in practice renewals wake the loop earlier.
	MaxIdle time.Duration
	// Dirty is how often changed definitions are looked for without a hint. Default 1 s.
	Dirty time.Duration
	// Snapshot is how often the full set is read again. Default 300 s.
	Snapshot time.Duration
	// Batch bounds the schedules decided in one commit; what is beyond becomes arrears. Default 5,000.
	Batch int
	// ZoneRelease names the zone data that plans are computed with.
	ZoneRelease string
	Token       string       // this planner's identity; default random
	Clock       clock.Clock  // default the machine's
	Logger      *slog.Logger // default discards
	NewID       func() [16]byte
}

// leastLease is the shortest lease that renewals in time can keep.
const leastLease = 2 * time.Second

func (o Options) withDefaults() (Options, error) {
	set := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	set(&o.Lead, 2*time.Second)
	set(&o.Lease, 5*time.Second)
	set(&o.MaxIdle, time.Minute)
	set(&o.Dirty, time.Second)
	set(&o.Snapshot, 300*time.Second)
	if o.Batch == 0 {
		o.Batch = 5000
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.NewID == nil {
		o.NewID = func() [16]byte { return uuid.Must(uuid.NewV7()) }
	}
	switch {
	case o.Shard < 0:
		return o, errors.New("planner: Shard is negative")
	case o.Batch < 1:
		return o, errors.New("planner: Batch is below 1")
	case o.Lead < 0 || o.Lead > time.Minute:
		return o, fmt.Errorf("planner: Lead is %v; it may be 0 to 1m", o.Lead)
	case o.Lease < leastLease:
		return o, fmt.Errorf("planner: Lease is %v; it may not be under %v, or a busy disk would cost it", o.Lease, leastLease)
	}
	return o, nil
}

// Status is how a planner stands, for readiness and for people.
type Status struct {
	Leading   bool
	Ready     bool   // planning proceeds here, or another planner leads
	Reason    string // why it is not ready
	Watermark time.Time
	Epoch     uint64
	Schedules int
	Arrears   int // schedules whose backlog is still undecided
	Inserted  int64
	Duplicate int64
	Gaps      int64
}

// Planner plans one shard. Run belongs to one goroutine; Status may be called from any.
type Planner struct {
	store   store.Store
	o       Options
	loop    *timeline.Loop
	source  *source
	guard   guard
	backlog backlog
	epoch   uint64 // for which the backlog was loaded
	// opened holds when the backlog of a schedule was found, for those that drain over several commits.
	opened map[schedule.ID]time.Time
	// refused holds the state of schedules whose plan the database would not take: they stay quarantined until they
	// change.
	refused    map[schedule.ID]uint64
	lastCommit time.Time
	// corrected holds what was set back to the clock last, so that nothing is corrected again and again.
	corrected ahead
	// startsDecided is set once the time since the planner before us has been looked at (PROTOCOL A9).
	startsDecided bool
	totals        struct{ inserted, duplicate, gaps int64 }
	status        atomic.Pointer[Status]
}

// New makes a planner. It reads nothing yet.
func New(s store.Store, o Options) (*Planner, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Token == "" {
		o.Token = fmt.Sprintf("%x", o.NewID())
	}
	p := &Planner{store: s, o: o, guard: newGuard()}
	if err := p.renewLoop(); err != nil {
		return nil, err
	}
	p.status.Store(&Status{Reason: "starting"})
	return p, nil
}

// renewLoop begins with a loop that knows nothing: it contends for the claim again, and reads everything.
func (p *Planner) renewLoop() (err error) {
	p.source = &source{
		store: p.store, shard: p.o.Shard, log: p.o.Logger, broken: map[schedule.ID]*plan.Definition{}, ahead: ahead{}, clk: p.o.Clock,
	}
	p.backlog, p.epoch, p.opened = backlog{}, 0, map[schedule.ID]time.Time{}
	p.refused = map[schedule.ID]uint64{}
	p.loop, err = timeline.New(p.source, p.store.For(p.o.Shard), timeline.Options{
		Sync: p.o.Dirty, Snapshot: p.o.Snapshot, Lead: p.o.Lead, Recover: -1, Lease: p.o.Lease, MaxIdle: p.o.MaxIdle,
		Token: p.o.Token, Clock: p.o.Clock, Elapsed: p.o.Clock.Elapsed, Pinned: true, MaxPinned: p.o.Batch, OnError: p.onError,
	})
	if err != nil {
		return fmt.Errorf("planner: %w", err)
	}
	return nil
}

// Status tells how the planner stands.
func (p *Planner) Status() Status { return *p.status.Load() }

func (p *Planner) onError(stage timeline.Stage, id string, err error) {
	p.o.Logger.Warn("planner trouble", "stage", string(stage), "schedule_id", id, "reason", err.Error())
}

// hintPause bounds how often hints wake the loop: every commit of a worker is a hint, and looking costs a statement.
const hintPause = 100 * time.Millisecond

// retryPause is how long the loop waits after an error that may pass by itself.
const retryPause = 250 * time.Millisecond

// Run plans until ctx ends, then gives up the claim so that another planner can go on at once. It returns nil when ctx
// ended, and otherwise an error that no waiting cures.
func (p *Planner) Run(ctx context.Context) error {
	hints := p.store.Wake(ctx)
	defer p.leave(ctx)
	said := "" // what lasts is logged once
	for ctx.Err() == nil {
		wait, err := p.Step(ctx)
		if err == nil {
			said = ""
		} else if ctx.Err() == nil {
			p.report(false, err.Error())
			if err.Error() != said {
				said = err.Error()
				p.o.Logger.Warn("planning step went wrong", "reason", said)
			}
			wait = retryPause
		}
		p.sleep(ctx, wait, hints)
	}
	return nil
}

// leave releases the claim on a clean stop; it has its own bound because ctx has ended.
func (p *Planner) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.o.Lease/2)
	defer cancel()
	if err := p.loop.Release(ctx); err != nil {
		p.o.Logger.Warn("the claim could not be released; it runs out by itself", "reason", err.Error())
	}
	p.report(false, "stopped")
}

// sleep waits for the next thing to do, or for a hint that has let the pause pass.
func (p *Planner) sleep(ctx context.Context, wait time.Duration, hints <-chan struct{}) {
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	pause := time.NewTimer(min(wait, hintPause))
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return
	case <-pause.C:
	}
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-hints:
		p.source.hinted = true
	}
}
