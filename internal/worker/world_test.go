package worker

import (
	"bytes"
	"context"
	"encoding/binary"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/memory"
	"github.com/belfryhq/belfry/target"
	"github.com/belfryhq/belfry/timeline"
)

var bubble clock.Clock = clock.Bubble{}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is one test's store with one schedule whose job the test writes, and the workers that the test starts.
type world struct {
	*testing.T
	*hooks
	clk     clock.Clock
	job     target.Handler
	log     *logs
	id      schedule.ID
	change  uint64
	claim   timeline.Claim
	made    uint64
	begin   time.Time
	workers sync.WaitGroup
}

// hooks is a store whose calls a test can watch or break: a hook that is set is called in the place of the method.
type hooks struct {
	store.Store
	beat   func(context.Context, store.Node, time.Duration) error
	take   func(context.Context, store.Take) (store.Taken, error)
	start  func(context.Context, []store.Started) ([]store.Held, error)
	settle func(context.Context, run.NodeID, []store.Outcome) ([]store.Refused, error)
	lost   func(context.Context, []store.Held) ([]store.Held, error)
	output func(context.Context, store.Held, []store.Chunk) error
}

func (h *hooks) Beat(ctx context.Context, n store.Node, lease time.Duration) error {
	if h.beat != nil {
		return h.beat(ctx, n, lease)
	}
	return h.Store.Beat(ctx, n, lease)
}

func (h *hooks) Take(ctx context.Context, t store.Take) (store.Taken, error) {
	if h.take != nil {
		return h.take(ctx, t)
	}
	return h.Store.Take(ctx, t)
}

func (h *hooks) Start(ctx context.Context, s []store.Started) ([]store.Held, error) {
	if h.start != nil {
		return h.start(ctx, s)
	}
	return h.Store.Start(ctx, s)
}

func (h *hooks) Settle(ctx context.Context, n run.NodeID, o []store.Outcome) ([]store.Refused, error) {
	if h.settle != nil {
		return h.settle(ctx, n, o)
	}
	return h.Store.Settle(ctx, n, o)
}

func (h *hooks) Lost(ctx context.Context, held []store.Held) ([]store.Held, error) {
	if h.lost != nil {
		return h.lost(ctx, held)
	}
	return h.Store.Lost(ctx, held)
}

func (h *hooks) Output(ctx context.Context, held store.Held, c []store.Chunk) error {
	if h.output != nil {
		return h.output(ctx, held, c)
	}
	return h.Store.Output(ctx, held, c)
}

// logs collects what a worker logs.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) has(parts ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.SplitSeq(l.b.String(), "\n") {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			return true
		}
	}
	return false
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, f func(w *world)) { inBubbleWith(t, clock.Bubble{}, f) }

func inBubbleWith(t *testing.T, clk clock.Clock, f func(w *world), edits ...func(*schedule.Spec)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		count := func(schedule.ID, []byte, time.Time, time.Time) (int, time.Time, time.Time) {
			return 0, time.Time{}, time.Time{}
		}
		w := &world{T: t, clk: clk, log: &logs{}, hooks: &hooks{Store: memory.New(clk, count)}}
		w.begin = clk.Now()
		w.job = func(context.Context, target.Delivery) error { return nil }
		w.declare(edits...)
		f(w)
		w.workers.Wait()
	})
}

// declare makes the one schedule.
func (w *world) declare(edits ...func(*schedule.Spec)) {
	w.Helper()
	spec := schedule.Spec{
		Trigger: schedule.Trigger{Every: schedule.Duration(time.Hour)},
		Target:  schedule.Target{Job: &schedule.Job{Name: "work"}},
		Overlap: schedule.OverlapAllow,
	}
	for _, edit := range edits {
		edit(&spec)
	}
	spec, err := spec.Complete(schedule.Defaults{})
	w.must(err)
	_, err = w.Apply(w.Context(), store.Apply{Origin: schedule.OriginFile, By: "test", Items: []schedule.Schedule{{Name: "nightly", Spec: spec}}})
	w.must(err)
	w.id = schedule.DeclaredID(schedule.OriginFile, "", "nightly")
	w.refresh()
	w.claim = timeline.Claim{Token: "planner", Epoch: 1, Nonce: "a", ExpiresAt: w.begin.Add(1000 * time.Hour), CoveredUntil: w.begin}
	_, err = w.For(0).Swap(w.Context(), nil, w.claim)
	w.must(err)
}

// refresh reads the schedule's count of changes, which a plan must name.
func (w *world) refresh() {
	w.Helper()
	for row, err := range w.Snapshot(w.Context(), 0) {
		w.must(err)
		w.change = row.Change
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// plan inserts runs that are due so long after now, as a planner would; edits change them.
func (w *world) plan(after []time.Duration, edits ...func(*run.Run)) []run.ID {
	w.Helper()
	var runs []run.Run
	var ids []run.ID
	for _, d := range after {
		w.made++
		r := run.Run{Schedule: w.id, Revision: 1, Kind: run.Scheduled, Status: run.Pending, Due: w.clk.Now().Add(d), Pool: "default",
			Overlap: schedule.OverlapAllow, MaxAttempts: 1, MaxDeliveries: 5, OnLost: schedule.OnLostRedeliver, CreatedAt: w.clk.Now()}
		binary.BigEndian.PutUint64(r.ID[8:], w.made)
		r.ReadyAt = r.Due
		for _, edit := range edits {
			edit(&r)
		}
		runs, ids = append(runs, r), append(ids, r.ID)
	}
	next := w.claim
	next.Nonce += "a"
	done, err := w.Commit(w.Context(), store.Commit{Old: w.claim, Next: next, Lead: time.Hour,
		Plans: []store.Plan{{Schedule: w.id, Change: w.change, Runs: runs}}})
	w.must(err)
	if done.Inserted != len(after) {
		w.Fatalf("%d of %d runs were inserted: %+v", done.Inserted, len(after), done)
	}
	w.claim = next
	return ids
}

func spaced(n int, first, step time.Duration) []time.Duration {
	var list []time.Duration
	for i := range n {
		list = append(list, first+time.Duration(i)*step)
	}
	return list
}

// work starts a worker. It returns the worker, and a function that stops it and waits for its end.
func (w *world) work(edit ...func(*Options)) (*Worker, func()) {
	w.Helper()
	o := Options{Clock: w.clk, Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, e := range edit {
		e(&o)
	}
	var jobs target.Jobs
	w.must(jobs.Register("work", func(ctx context.Context, d target.Delivery) error { return w.job(ctx, d) }))
	var registry target.Registry
	w.must(registry.Register(target.KindJob, &jobs))
	x, err := New(w.hooks, &registry, o)
	w.must(err)
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan struct{})
	w.workers.Go(func() {
		defer close(ended)
		if err := x.Run(ctx); err != nil {
			w.Error(err)
		}
	})
	return x, func() { cancel(); <-ended }
}

func (w *world) row(id run.ID) run.Run {
	w.Helper()
	r, err := w.Store.Run(w.Context(), id)
	w.must(err)
	return r
}

// expect checks the status of runs.
func (w *world) expect(want run.Status, ids ...run.ID) {
	w.Helper()
	for _, id := range ids {
		if r, err := w.Store.Run(w.Context(), id); err != nil || r.Status != want {
			w.Errorf("%s is %s (%s %s), want %s; %v", id, r.Status, r.ErrorCode, r.Error, want, err)
		}
	}
}
