package cli

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/memory"
	"github.com/belfryhq/belfry/timeline"
)

// stopped is a clock that a test sets.
type stopped struct{ now time.Time }

func (s *stopped) Now() time.Time         { return s.now }
func (s *stopped) Elapsed() time.Duration { return s.now.Sub(start) }

// start is when the schedules of a world are declared; its ledger is looked at ten minutes later.
var start = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

// A world is a memory store with a known ledger: of "minutely", minute 1 succeeded with output, minute 2
// failed with code 3, 3 to 5 are one gap, minute 6 is pending; "daily" is due at 02:30 in Berlin; "quiet" is paused.
type world struct {
	*testing.T
	store   store.Store
	clock   *stopped
	control *control.Control
	ids     map[string]schedule.ID
	node    run.NodeID
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, clock: &stopped{start}, ids: map[string]schedule.ID{}, node: run.NodeID{15: 9}}
	w.store = memory.New(w.clock, plan.Count)
	w.control = control.New(w.store, control.Options{Clock: w.clock})
	w.declare()
	w.ledger()
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) declare() {
	w.Helper()
	var items []schedule.Schedule
	for name, s := range map[string]schedule.Spec{
		"minutely": {Trigger: schedule.Trigger{Cron: []string{"* * * * *"}}},
		"daily":    {Trigger: schedule.Trigger{Cron: []string{"30 2 * * *"}}, TimeZone: "Europe/Berlin"},
		"quiet":    {Trigger: schedule.Trigger{Every: schedule.Duration(time.Hour)}, Paused: true},
	} {
		s.Target.Command = &schedule.Command{Argv: []string{"true"}}
		complete, err := s.Complete(schedule.Defaults{})
		w.must(err)
		items = append(items, schedule.Schedule{Name: name, Spec: complete})
		w.ids[name] = schedule.DeclaredID(schedule.OriginFile, "", name)
	}
	_, err := w.control.ApplyFile(w.Context(), items, "test")
	w.must(err)
}

func (w *world) ledger() {
	w.Helper()
	ctx, id := w.Context(), w.ids["minutely"]
	w.clock.now = minute(10)
	claim := timeline.Claim{Token: "t", Epoch: 1, Nonce: "a", ExpiresAt: minute(60), CoveredUntil: start}
	_, err := w.store.For(0).Swap(ctx, nil, claim)
	w.must(err)
	next := claim
	next.Nonce, next.CoveredUntil = "b", minute(7)
	var runs []run.Run
	for _, n := range []int{1, 2, 6} {
		runs = append(runs, run.Run{ID: run.ID{15: byte(n)}, Schedule: id, Revision: 1, Kind: run.Scheduled, Status: run.Pending,
			Due: minute(n), ReadyAt: minute(n), Pool: "default", Overlap: schedule.OverlapAllow, MaxAttempts: 1, MaxDeliveries: 5,
			OnLost: schedule.OnLostRedeliver, CreatedAt: minute(n)})
	}
	gap := run.Gap{ID: run.GapID{15: 1}, Schedule: id, Revision: 1, Reason: run.Missed, Policy: schedule.MisfireSkip, First: minute(3), Last: minute(5),
		Count: 3, Epoch: 1, CreatedAt: minute(7)}
	_, err = w.store.Commit(ctx, store.Commit{Old: claim, Next: next, Plans: []store.Plan{
		{Schedule: id, Change: w.change(id), From: start, Runs: runs, Gaps: []run.Gap{gap}, Unpin: true}}})
	w.must(err)
	w.must(w.store.Beat(ctx, store.Node{ID: w.node, Host: "here", PID: 7}, time.Minute))
	taken, err := w.store.Take(ctx, store.Take{Node: w.node, Pools: []store.PoolRoom{{Pool: "default", Free: 2}}})
	w.must(err)
	for i, r := range taken.Runs {
		h := store.Held{Run: r.ID, Fence: r.Fence}
		_, err = w.store.Start(ctx, []store.Started{{Held: h, At: r.Due.Add(1500 * time.Microsecond)}})
		w.must(err)
		code := 3 * i
		o := store.Outcome{Held: h, Status: run.Succeeded, Answered: true, StartedAt: r.Due.Add(1500 * time.Microsecond), FinishedAt: r.Due.Add(time.Second),
			ExitCode: &code, Output: []store.Chunk{{Delivery: 1, Stream: store.Stdout, Data: fmt.Appendf(nil, "hello %d\n", i+1)}}, OutputBytes: 8}
		if i == 1 {
			o.Status, o.ErrorCode, o.Error = run.Failed, "EXIT_CODE", "exit status 3"
		}
		_, err = w.store.Settle(ctx, w.node, []store.Outcome{o})
		w.must(err)
	}
}

func (w *world) change(id schedule.ID) uint64 {
	w.Helper()
	for row, err := range w.store.Snapshot(w.Context(), 0) {
		w.must(err)
		if row.ID == id {
			return row.Change
		}
	}
	w.Fatalf("no row of %s", id)
	return 0
}

func runID(n byte) string { return run.ID{15: n}.String() }
