package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/trigger"
)

// R-REC-1 to R-REC-3, R-LOOP-11: memory converges to the snapshot, removals included, and Make runs for what changed alone.
func TestSnapshotConverges(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{}, row("a", "1", every(time.Second)), row("b", "1", every(time.Second)))
	r.reconcile()
	if r.Count() != 2 || !slices.Equal(r.src.makes, []string{"a 1", "b 1"}) {
		t.Fatalf("%d loaded, made %q", r.Count(), r.src.makes)
	}
	r.turn() // a new leader reads the full set (PROTOCOL A3), and makes nothing again
	r.src.set(row("b", "2", every(2*time.Second)))
	r.src.set(row("c", "1", every(3*time.Second)))
	r.src.delete("a")
	r.clock.pass(9 * time.Second)
	r.reconcile() // not due
	if r.Count() != 2 || len(r.src.reads) != 2 {
		t.Fatalf("%d loaded after %q", r.Count(), r.src.reads)
	}
	r.clock.pass(time.Second)
	r.reconcile()
	if r.Count() != 2 || !slices.Equal(r.src.makes, []string{"a 1", "b 1", "b 2", "c 1"}) {
		t.Errorf("%d loaded, made %q", r.Count(), r.src.makes)
	}
	for _, c := range []struct {
		id, version string
		current     bool
	}{{"a", "1", false}, {"b", "1", false}, {"b", "2", true}, {"c", "1", true}, {"d", "1", false}} {
		if got := r.IsCurrent(timeline.Occurrence{ID: c.id, Version: c.version}); got != c.current {
			t.Errorf("%s %s is current: %v", c.id, c.version, got)
		}
	}
	r.src.rows[0].Inactive = true
	if err := r.ReconcileFull(t.Context()); err != nil || r.Count() != 1 {
		t.Errorf("%d loaded, %v", r.Count(), err)
	}
}

// R-REC-4, R-LOOP-6: a snapshot that ends midway is not a mass removal. It changes nothing, and dispatch goes on.
func TestFailingSnapshotChangesNothing(t *testing.T) {
	t.Parallel()
	var rows []timeline.Row
	for i := range 100 {
		rows = append(rows, row(fmt.Sprintf("s%02d", i), "1", every(time.Second)))
	}
	r := newRig(t, timeline.Options{}, rows...)
	r.reconcile()
	r.turn()
	for i := range r.src.rows {
		r.src.rows[i].Version = "2"
	}
	r.src.failAt = 50
	r.clock.pass(10 * time.Second)
	if err := r.Reconcile(t.Context()); !errors.Is(err, errSource) {
		t.Fatalf("reconcile: %v", err)
	}
	if r.Count() != 100 || len(r.src.makes) != 100 || !r.IsCurrent(timeline.Occurrence{ID: "s07", Version: "1"}) {
		t.Errorf("%d loaded, %d made", r.Count(), len(r.src.makes))
	}
	if n := len(r.turn().Stretches); n != 100 {
		t.Errorf("%d due", n)
	}
	r.src.failAt = 0
	ended, cancel := context.WithCancel(t.Context())
	for i := range r.src.rows {
		r.src.rows[i].Version = "1" // nothing to be made: only removals are at stake
	}
	r.src.onRow, r.src.quiet = cancel, true
	r.clock.pass(10 * time.Second)
	if err := r.Reconcile(ended); !errors.Is(err, context.Canceled) || r.Count() != 100 {
		t.Errorf("reconcile under a context that ended midway: %v, %d loaded", err, r.Count())
	}
}

// R-REC-5, R-LOOP-19: one row that cannot be built leaves the entry before it in force, and the others alone.
func TestFailingRowKeepsTheEntryBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{}, row("a", "1", every(10*time.Second)), row("b", "1", every(10*time.Second)))
	r.turn()
	r.src.broken = map[string]error{"a": errors.New("no such zone")}
	r.src.set(row("a", "2", every(time.Second)))
	r.src.set(row("b", "2", every(5*time.Second)))
	r.src.set(row("", "1", every(time.Second)))
	r.src.set(row("empty", "1", nil))
	for range 2 { // R-REC-27: it is reported each time
		r.clock.pass(10 * time.Second)
		r.reconcile()
	}
	failed := []string{"make a: no such zone", "make : timeline: a row needs an id, and its entry a trigger",
		"make empty: timeline: a row needs an id, and its entry a trigger"}
	if !slices.Equal(r.errors, slices.Concat(failed, failed)) {
		t.Errorf("errors: %q", r.errors)
	}
	want(t, r.turn(), "a 12:00:00", "b 12:00:00", "b 12:00:05", "a 12:00:10", "b 12:00:10", "b 12:00:15")
	r.src.broken = nil
	r.clock.pass(10 * time.Second)
	r.reconcile()
	if n := len(r.turn().Occurrences()); n != 10+2 || r.Count() != 2 {
		t.Errorf("%d due from %d", n, r.Count())
	}
	// In the next epoch the entry before is in force, too, although its row fails while the set is read.
	r.src.broken = map[string]error{"a": errors.New("no such zone")}
	r.src.set(row("a", "3", every(time.Minute)))
	if err := r.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.clock.pass(10 * time.Second)
	if n := len(r.turn().Occurrences()); n != 10+2 {
		t.Errorf("%d due after the failing row", n)
	}
}

// R-REC-7 to R-REC-10, R-REC-26: changes between snapshots; the full set when it is due.
func TestChangesBetweenSnapshots(t *testing.T) {
	t.Parallel()
	f := &feed{}
	f.rows = []timeline.Row{row("a", "1", every(time.Second)), row("b", "1", every(time.Second)), row("c", "1", every(time.Second))}
	r := newRig(t, timeline.Options{})
	r.join(f, timeline.Options{Sync: 10 * time.Second, Snapshot: time.Minute})
	r.turn()
	gone := row("a", "2", nil)
	gone.Inactive = true
	f.delete("b") // hard: the feed cannot show it
	added := row("d", "1", every(time.Second))
	f.changed = []timeline.Row{gone, row("c", "1", every(time.Second)), added, added}
	f.set(added)
	f.delete("a")
	r.clock.pass(10 * time.Second)
	r.reconcile()
	if r.Count() != 3 || !slices.Equal(f.makes, []string{"a 1", "b 1", "c 1", "d 1"}) {
		t.Fatalf("%d loaded, made %q", r.Count(), f.makes)
	}
	for range 5 {
		r.clock.pass(10 * time.Second)
		r.reconcile()
	}
	if r.Count() != 2 || strings.Join(f.reads, " ") != "snapshot since since since since since snapshot" {
		t.Errorf("%d loaded after %q", r.Count(), f.reads)
	}
	for i, at := range f.since { // each asks for all since the read before it, and more
		if before := noon.Add(time.Duration(i) * 10 * time.Second); at.After(before) {
			t.Errorf("question %d is since %v, after %v", i, at, before)
		}
	}
}

// A clock that is set back must not put off the next read by as much.
func TestSyncGoesOnWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{}, row("a", "1", every(time.Second)))
	r.turn()
	r.clock.step(-time.Hour)
	r.reconcile()
	if len(r.src.reads) != 2 {
		t.Errorf("reads: %q", r.src.reads)
	}
}

func active(r timeline.Row, at time.Time) timeline.Row {
	r.ActiveFrom = at
	return r
}

// R-REC-11: a one-shot that falls due before the next sync is late, never lost; R-REC-17, R-REC-18: it is delivered
// once, and again only under a new version.
func TestOneShotCreatedBetweenSyncsIsLateNotLost(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{}, row("a", "1", every(time.Second)))
	r.turn()
	for range 9 {
		r.clock.pass(time.Second)
		r.turn()
	}
	due := noon.Add(5 * time.Second)
	r.src.set(active(row("once", "1", trigger.At(due)), noon.Add(3*time.Second)))
	r.clock.pass(time.Second)
	r.reconcile()
	want(t, r.turn(), "once 12:00:05", "a 12:00:09")
	if r.Count() != 1 {
		t.Errorf("%d loaded after the delivery", r.Count())
	}
	for range 3 {
		r.clock.pass(10 * time.Second)
		r.reconcile()
		r.turn()
	}
	if n := len(r.src.makes); n != 2 {
		t.Errorf("made %q", r.src.makes)
	}
	r.src.set(active(row("once", "2", trigger.At(noon.Add(42*time.Second))), noon.Add(40*time.Second)))
	r.clock.pass(10 * time.Second)
	r.reconcile()
	if got := keys(r.turn()); !slices.Contains(got, "once 12:00:42") || r.Count() != 1 {
		t.Errorf("window has %q", got)
	}
}

// R-REC-12, R-REC-13, D10: nothing runs from before it existed, and loading a large set does not run its past again.
func TestOwnCoverageIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{},
		active(row("old", "1", every(time.Second)), noon.Add(-time.Hour)),
		active(row("fresh", "1", every(time.Second)), noon.Add(-time.Second)), // before the first claim: nobody owes it
		active(row("later", "1", every(time.Second)), noon.Add(8*time.Second)))
	r.turn()
	r.clock.pass(9*time.Second + time.Microsecond)
	got := map[string]int{}
	for _, o := range r.turn().Occurrences() {
		got[o.ID]++
	}
	if got["old"] != 10 || got["fresh"] != 10 || got["later"] != 2 {
		t.Errorf("due: %v", got)
	}
	// An edit is in force from its own start, at the earliest; what took effect before the last sync that was committed
	// follows the watermark.
	r.src.set(active(row("old", "2", every(2*time.Second)), noon.Add(time.Second)))
	r.src.set(active(row("fresh", "2", every(2*time.Second)), noon.Add(-time.Second)))
	r.clock.pass(2 * time.Second)
	r.reconcile()
	w := r.turn()
	want(t, w, "old 12:00:02", "old 12:00:04", "old 12:00:06", "old 12:00:08",
		"fresh 12:00:10", "later 12:00:10", "old 12:00:10", "later 12:00:11")
	want(t, r.turn())
}

// R-REC-14: own coverage is bounded by Recover, aloud.
func TestOwnCoverageReachesBackByRecover(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{Recover: 20 * time.Second, Sync: time.Minute}, row("a", "1", every(time.Hour)))
	r.turn()
	for range 59 {
		r.clock.pass(time.Second)
		r.turn()
	}
	r.src.set(active(row("b", "1", every(10*time.Second)), noon.Add(time.Second)))
	r.clock.pass(time.Second)
	r.reconcile()
	want(t, r.turn(), "b 12:00:40", "b 12:00:50")
	said := "dispatch b: timeline: 3 occurrences from 2026-05-04T12:00:10Z to 2026-05-04T12:00:30Z"
	if len(r.errors) != 1 || !strings.HasPrefix(r.errors[0], said) {
		t.Errorf("errors: %q", r.errors)
	}
}

// R-REC-15, R-LEAD-9: a successor asks whether whoever committed could have known a definition.
func TestSuccessorCoversWhatTheLeaderCouldNotKnow(t *testing.T) {
	t.Parallel()
	o := timeline.Options{Lease: 6 * time.Second}
	a := newRig(t, o, active(row("known", "1", every(time.Second)), noon.Add(-time.Hour)))
	b := a.beside(o)
	a.turn()
	for range 5 {
		a.clock.pass(time.Second)
		a.turn()
	}
	// At 12:00:02 and at 12:00:07 two were created; the leader read at 12:00:00 and committed up to 12:00:05.
	b.src.set(active(row("unknown", "1", every(time.Second)), noon.Add(2*time.Second)))
	b.src.set(active(row("after", "1", every(time.Second)), noon.Add(7*time.Second)))
	a.clock.pass(6*time.Second + time.Microsecond)
	got := map[string]string{}
	for _, o := range b.turn().Occurrences() {
		if got[o.ID] == "" {
			got[o.ID] = o.Due.Format("15:04:05")
		}
	}
	for id, first := range map[string]string{"known": "12:00:05", "unknown": "12:00:02", "after": "12:00:07"} {
		if got[id] != first {
			t.Errorf("%s begins at %s, want %s", id, got[id], first)
		}
	}
}

// R-REC-16: what changes while a window is in flight is not settled by that window's commit.
func TestChangeInFlightIsNotSettledByTheCommit(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{}, row("a", "1", every(10*time.Second)), row("gone", "1", every(10*time.Second)))
	r.turn()
	r.clock.pass(11 * time.Second)
	want(t, r.tick(), "a 12:00:00", "gone 12:00:00", "a 12:00:10", "gone 12:00:10")
	r.src.set(active(row("a", "2", every(5*time.Second)), noon.Add(4*time.Second)))
	r.src.set(row("b", "1", every(10*time.Second)))
	r.src.delete("gone")
	r.reconcile()
	r.commit()
	r.clock.pass(time.Second)
	want(t, r.turn(), "b 12:00:00", "a 12:00:05", "a 12:00:10", "b 12:00:10")
	want(t, r.turn())
}

// A follower keeps no queue, and a leader whose claim is in doubt keeps its own: what it reads meanwhile counts.
func TestRowReadWhileTheClaimIsInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, lease6, row("a", "1", every(10*time.Second)))
		r.turn()
		r.clock.pass(5 * time.Second)
		r.store.plan(nil, []fault{hangs})
		if _, ok, err := r.Tick(t.Context()); ok || !errors.Is(err, timeline.ErrStoreTimeout) {
			t.Fatal(ok, err)
		}
		r.src.set(row("b", "1", every(10*time.Second)))
		if err := r.ReconcileFull(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, r.turn(), "a 12:00:00", "b 12:00:00")
	})
}

// PROTOCOL A3: without a full read a new leader selects nothing.
func TestNewLeaderReadsTheFullSetFirst(t *testing.T) {
	t.Parallel()
	f := &feed{}
	f.rows = []timeline.Row{row("a", "1", every(time.Second))}
	r := newRig(t, timeline.Options{})
	r.join(f, timeline.Options{Lease: 10 * time.Second})
	r.reconcile()
	f.failAt = 1
	f.rows = append(f.rows, row("b", "1", every(time.Second)))
	for range 2 {
		if _, ok, err := r.Tick(t.Context()); ok || !errors.Is(err, errSource) {
			t.Fatalf("tick: %v, %v", ok, err)
		}
	}
	f.failAt = 0
	r.clock.pass(time.Second)
	want(t, r.turn(), "a 12:00:00", "b 12:00:00")
	if strings.Join(f.reads, " ") != "snapshot snapshot snapshot snapshot" {
		t.Errorf("reads: %q", f.reads)
	}
}

// Reading a large set must not cost a new leader what it has just won.
func TestLeaseIsKeptWhileALargeSetIsRead(t *testing.T) {
	t.Parallel()
	var rows []timeline.Row
	for i := range 5000 {
		rows = append(rows, row(fmt.Sprintf("s%04d", i), "1", every(time.Hour)))
	}
	a := newRig(t, lease6, rows...)
	b := a.beside(lease6)
	read := 0
	a.src.onRow = func() { // 10 s in all
		a.clock.pass(2 * time.Millisecond)
		if read++; read%500 == 0 {
			b.follows()
		}
	}
	a.tick()
	b.follows()
	a.commit()
	if c := a.store.record(t); c.Epoch != 1 {
		t.Errorf("epoch %d", c.Epoch)
	}
}

// S-003: an interval is anchored, so that a process that starts anew every six hours moves nothing.
func TestRestartsMoveNothing(t *testing.T) {
	t.Parallel()
	weekly, err := trigger.Interval(7*24*time.Hour, noon)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, timeline.Options{Recover: -1}, row("weekly", "1", weekly))
	var due []time.Time
	for range 30 * 4 {
		again := r.beside(timeline.Options{Recover: -1})
		for _, o := range again.turn().Occurrences() {
			due = append(due, o.Due)
		}
		if err := again.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.clock.pass(6 * time.Hour)
	}
	wanted := []time.Time{noon, noon.AddDate(0, 0, 7), noon.AddDate(0, 0, 14), noon.AddDate(0, 0, 21), noon.AddDate(0, 0, 28)}
	if !slices.EqualFunc(due, wanted, time.Time.Equal) {
		t.Errorf("due %v", due)
	}
}

// S-004: a first occurrence that fell into a stop is owed by the watermark, not by when the process started.
// S-005: there is no cliff: 99, 100, 101 and 10,000 minutes of outage lose nothing.
func TestOutageOfAnyLengthIsOwed(t *testing.T) {
	t.Parallel()
	for _, minutes := range []int{15, 99, 100, 101, 10_000} {
		r := newRig(t, timeline.Options{Recover: -1}, row("yearly", "1", trigger.At(noon.Add(10*time.Minute), noon.AddDate(1, 0, 0))),
			row("minutely", "1", every(time.Minute)))
		r.clock.pass(time.Microsecond)
		r.turn()
		if err := r.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.clock.pass(time.Duration(minutes) * time.Minute)
		got := map[string]int{}
		for _, o := range r.beside(timeline.Options{Recover: -1}).turn().Occurrences() {
			got[o.ID]++
		}
		if got["minutely"] != minutes || got["yearly"] != 1 {
			t.Errorf("%d minutes: %v", minutes, got)
		}
	}
}
