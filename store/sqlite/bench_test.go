package sqlite_test

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/sqlite"
	"github.com/belfryhq/belfry/store/storetest"
	"github.com/belfryhq/belfry/timeline"
)

// ledger is a store with schedules, a planner's claim and a living node.
type ledger struct {
	testing.TB
	*sqlite.Store
	path    string
	clk     clock.Clock
	claim   timeline.Claim
	node    run.NodeID
	ids     []schedule.ID
	changes map[schedule.ID]uint64
	made    uint64
	round   int
}

func noCount(schedule.ID, []byte, time.Time, time.Time) (n int, first, last time.Time) {
	return 0, first, last
}

func newLedger(tb testing.TB, schedules int) *ledger {
	tb.Helper()
	return newLedgerAt(tb, filepath.Join(tb.TempDir(), "belfry.db"), schedules)
}

func newLedgerAt(tb testing.TB, path string, schedules int) *ledger {
	tb.Helper()
	return newLedgerWith(tb, path, schedules, sqlite.Options{Clock: storetest.NewClock(start), Count: noCount, Poll: -1})
}

func newLedgerWith(tb testing.TB, path string, schedules int, o sqlite.Options) *ledger {
	tb.Helper()
	if o.Clock == nil {
		o.Clock = storetest.NewClock(start)
	}
	l := &ledger{TB: tb, path: path, clk: o.Clock, changes: map[schedule.ID]uint64{}}
	s, err := sqlite.Open(tb.Context(), path, o)
	l.must(err)
	tb.Cleanup(func() { l.must(s.Close()) })
	l.Store = s
	l.declare(schedules)
	l.claim = timeline.Claim{Token: "planner", Epoch: 1, Nonce: "0", ExpiresAt: l.clk.Now().Add(time.Hour), CoveredUntil: l.clk.Now()}
	_, err = s.For(0).Swap(tb.Context(), nil, l.claim)
	l.must(err)
	l.node = run.NodeID(l.newID())
	l.must(s.Beat(tb.Context(), store.Node{ID: l.node}, time.Hour))
	return l
}

func (l *ledger) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// newID makes ascending identifiers, as version 7 UUIDs are.
func (l *ledger) newID() (id [16]byte) {
	l.made++
	id[0] = 1
	binary.BigEndian.PutUint64(id[8:], l.made)
	return id
}

func (l *ledger) declare(n int) {
	l.Helper()
	spec, err := schedule.Spec{Trigger: schedule.Trigger{Every: schedule.Duration(time.Minute)},
		Target: schedule.Target{Command: &schedule.Command{Argv: []string{"true"}}}}.Complete(schedule.Defaults{})
	l.must(err)
	a := store.Apply{Origin: schedule.OriginFile, By: "test"}
	for i := range n {
		a.Items = append(a.Items, schedule.Schedule{Name: fmt.Sprintf("s%05d", i), Spec: spec})
	}
	done, err := l.Apply(l.Context(), a)
	l.must(err)
	l.ids = done.Created
	for row, err := range l.Snapshot(l.Context(), 0) {
		l.must(err)
		l.changes[row.ID] = row.Change
	}
}

// commit plans n runs that are due now, one for each of the next schedules.
func (l *ledger) commit(n int) {
	l.Helper()
	next := l.claim
	next.Nonce = fmt.Sprint(l.made)
	c := store.Commit{Old: l.claim, Next: next, Plans: make([]store.Plan, n)}
	for i := range n {
		id := l.ids[(l.round+i)%len(l.ids)]
		due := l.clk.Now().Add(time.Duration((l.round+i)/len(l.ids)) * time.Microsecond)
		c.Plans[i] = store.Plan{Schedule: id, Change: l.changes[id], From: due, Unpin: true, Runs: []run.Run{{
			ID: run.ID(l.newID()), Schedule: id, Revision: 1, Kind: run.Scheduled, Status: run.Pending, Due: due, ReadyAt: due, Pool: "default",
			Overlap: schedule.OverlapAllow, MaxAttempts: 1, MaxDeliveries: 5, OnLost: schedule.OnLostRedeliver,
		}}}
	}
	l.round += n
	done, err := l.Commit(l.Context(), c)
	l.must(err)
	if done.Inserted != n {
		l.Fatalf("inserted %d of %d", done.Inserted, n)
	}
	l.claim = next
}

func (l *ledger) take(n int) []run.Run {
	l.Helper()
	taken, err := l.Take(l.Context(), store.Take{Node: l.node, Pools: []store.PoolRoom{{Pool: "default", Free: n}}, Ahead: time.Second})
	l.must(err)
	return taken.Runs
}

func (l *ledger) settle(runs []run.Run) {
	l.Helper()
	out := make([]store.Outcome, len(runs))
	zero := 0
	for i, r := range runs {
		out[i] = store.Outcome{Held: store.Held{Run: r.ID, Fence: r.Fence}, Status: run.Succeeded, Answered: true,
			StartedAt: l.clk.Now(), FinishedAt: l.clk.Now(), ExitCode: &zero}
	}
	refused, err := l.Settle(l.Context(), l.node, out)
	l.must(err)
	if len(refused) > 0 {
		l.Fatalf("refused %v", refused[0])
	}
}

// BenchmarkEndToEnd is the whole way of a run: inserted, claimed and settled, all durable, in batches of 1,000 by one
// goroutine.
func BenchmarkEndToEnd(b *testing.B) {
	l := newLedger(b, 5000)
	l.step(1000) // the first round clears the marks of new schedules
	b.ResetTimer()
	var spent [3]time.Duration
	for range b.N {
		d := l.step(1000)
		for i := range d {
			spent[i] += d[i]
		}
	}
	report(b, spent)
}

// report gives the rate, and the processor time of each third: on a shared machine that is the steadier figure.
func report(b *testing.B, spent [3]time.Duration) {
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "runs/s")
	var sum time.Duration
	for i, name := range []string{"insert-cpu-µs", "claim-cpu-µs", "settle-cpu-µs"} {
		b.ReportMetric(float64(spent[i].Microseconds())/float64(b.N)/1000, name)
		sum += spent[i]
	}
	b.ReportMetric(float64(sum.Microseconds())/float64(b.N)/1000, "cpu-µs/run")
}

// processor is the processor time that this process has used.
func processor() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (l *ledger) step(n int) (spent [3]time.Duration) {
	l.Helper()
	t0 := processor()
	l.commit(n)
	t1 := processor()
	runs := l.take(n)
	t2 := processor()
	if len(runs) != n {
		l.Fatalf("took %d runs of %d", len(runs), n)
	}
	l.settle(runs)
	return [3]time.Duration{t1 - t0, t2 - t1, processor() - t2}
}
