package timeline_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/trigger"
)

// engine is how the planner sets a loop up.
var engine = timeline.Options{Pinned: true, Recover: -1, Sync: time.Second, Lease: 5 * time.Second}

func pinned(r timeline.Row, at time.Time) timeline.Row {
	r.Pin = at
	return r
}

// commitWith settles the open window with a verdict, as the planner's transaction would.
func (r *rig) commitWith(v timeline.Verdict) {
	r.t.Helper()
	ok, err := r.CommitIn(r.t.Context(), func(ctx ctx, old, next timeline.Claim) (timeline.Verdict, error) {
		swapped, err := r.store.Swap(ctx, &old, next)
		v.Swapped = swapped
		return v, err
	})
	if !ok || err != nil {
		r.t.Fatalf("commit: %v, %v", ok, err)
	}
}

// stretches lists a window's as "id from next", with a star for a pinned one.
func stretches(w timeline.Window) []string {
	var all []string
	for _, s := range w.Stretches {
		next, star := "-", ""
		if !s.Next.IsZero() {
			next = s.Next.Format("04:05")
		}
		if s.Pinned {
			star = "*"
		}
		all = append(all, fmt.Sprintf("%s%s %s %s", s.ID, star, s.From.Format("04:05"), next))
	}
	return all
}

func wantStretches(t *testing.T, w timeline.Window, wanted ...string) {
	t.Helper()
	if got := stretches(w); !slices.Equal(got, wanted) {
		t.Fatalf("window [%v, %v) has %q, want %q", w.Start, w.End, got, wanted)
	}
}

// R-WIN-14, PROTOCOL A3: a pinned entry is selected from its pin, due or not, until a commit unpins it.
func TestPinnedIsSelectedUntilUnpinned(t *testing.T) {
	t.Parallel()
	r := newRig(t, engine,
		row("riding", "1", every(10*time.Second)),
		pinned(row("backlog", "1", every(10*time.Second)), noon.Add(-30*time.Second)),
		pinned(row("idle", "1", every(time.Hour)), noon.Add(-10*time.Second)),
		pinned(row("ahead", "1", every(time.Hour)), noon.Add(10*time.Second)))
	r.clock.pass(time.Second)
	w := r.tick() // the watermark starts at 12:00:01
	wantStretches(t, w, "backlog* 59:30 59:30", "idle* 59:50 00:00", "ahead* 00:01 -")
	r.commitWith(timeline.Verdict{Pinned: map[string]time.Time{
		"backlog": noon.Add(-10 * time.Second), "ahead": noon.Add(time.Second),
	}})
	if wake := r.NextWake(); !wake.Equal(r.clock.Now()) {
		t.Errorf("the backlog waits until %v", wake) // PROTOCOL C4
	}
	wantStretches(t, r.tick(), "backlog* 59:50 59:50", "ahead* 00:01 -")
	r.commitWith(timeline.Verdict{})
	r.clock.pass(10 * time.Second)
	wantStretches(t, r.tick(), "backlog 00:01 00:10", "riding 00:01 00:10")
	r.commitWith(timeline.Verdict{Pinned: map[string]time.Time{"riding": noon.Add(10 * time.Second)}})
	r.clock.pass(10 * time.Second)
	wantStretches(t, r.tick(), "backlog 00:11 00:20", "riding* 00:10 00:10")
}

// PROTOCOL A8, C6: what is held back without getting on is looked at again, and not in a busy loop.
func TestStuckPinDoesNotSpin(t *testing.T) {
	t.Parallel()
	r := newRig(t, engine, pinned(row("stuck", "1", every(time.Minute)), noon.Add(-time.Hour)))
	r.reconcile()
	stuck := timeline.Verdict{Pinned: map[string]time.Time{"stuck": noon.Add(-time.Hour)}}
	for range 3 {
		wantStretches(t, r.tick(), "stuck* 00:00 00:00")
		r.commitWith(stuck)
		if wake := r.NextWake(); wake.Before(r.clock.Now().Add(time.Second)) {
			t.Fatalf("wakes %v after a commit that changed nothing", wake.Sub(r.clock.Now()))
		}
		r.clock.pass(time.Second)
		r.reconcile()
	}
}

// MaxPinned bounds a window; what is due soonest comes first, and the rest follows at once.
func TestPinnedAreDeferredAboveTheBound(t *testing.T) {
	t.Parallel()
	o := engine
	o.MaxPinned = 10
	var rows []timeline.Row
	for i := range 25 {
		once := trigger.At(noon.Add(-time.Duration(i) * time.Minute))
		rows = append(rows, pinned(row(fmt.Sprintf("s%02d", i), "1", once), noon.Add(-time.Hour)))
	}
	rows = append(rows, pinned(row("never", "1", trigger.At()), noon.Add(-time.Hour)))
	r := newRig(t, o, rows...)
	r.reconcile()
	r.clock.pass(time.Microsecond)
	deferred := 26
	var seen []string
	for _, n := range []int{10, 10, 6} {
		w := r.tick()
		deferred -= n
		if len(w.Stretches) != n || w.Deferred != deferred {
			t.Fatalf("%d selected, %d deferred", len(w.Stretches), w.Deferred)
		}
		for _, s := range w.Stretches {
			seen = append(seen, s.ID)
		}
		r.commitWith(timeline.Verdict{})
		if wake := r.NextWake(); deferred > 0 != wake.Equal(r.clock.Now()) {
			t.Errorf("%d deferred, and it wakes at %v", deferred, wake)
		}
	}
	if seen[0] != "s24" || seen[24] != "s00" || seen[25] != "never" {
		t.Errorf("in the order %q", seen)
	}
	if w := r.tick(); len(w.Stretches) > 0 {
		t.Errorf("still selected: %q", stretches(w))
	}
}

// PROTOCOL A3: a definition that changes after it was selected. The commit leaves the version it knew out, and what the
// writer pinned stays pinned, from the earlier of both.
func TestEditInFlightStaysPinned(t *testing.T) {
	t.Parallel()
	r := newRig(t, engine, row("a", "1", every(10*time.Second)), row("b", "1", every(10*time.Second)))
	r.turn()
	r.clock.pass(11 * time.Second)
	wantStretches(t, r.tick(), "a 00:00 00:00", "b 00:00 00:00")
	r.src.set(pinned(row("a", "2", every(5*time.Second)), noon.Add(7*time.Second)))
	r.src.set(pinned(row("b", "2", every(5*time.Second)), noon.Add(7*time.Second)))
	r.src.set(row("c", "1", every(10*time.Second)))
	r.reconcile()
	r.commitWith(timeline.Verdict{Pinned: map[string]time.Time{"a": noon.Add(-10 * time.Second)}})
	// b and c are owed from where the window began: their old revisions may be unsettled from there.
	wantStretches(t, r.tick(), "a* 59:50 59:50", "b* 00:00 00:00", "c* 00:00 00:00")
}

// The source is asked again and again about a row that is dirty; only what it says anew moves the pin, and only back.
func TestRepeatedRowMovesThePinOnlyBack(t *testing.T) {
	t.Parallel()
	f := &feed{}
	f.rows = []timeline.Row{pinned(row("a", "1", every(10*time.Second)), noon.Add(-time.Minute))}
	r := newRig(t, engine)
	r.join(f, engine)
	wantStretches(t, r.tick(), "a* 59:00 59:00")
	r.commitWith(timeline.Verdict{Pinned: map[string]time.Time{"a": noon.Add(-30 * time.Second)}})
	for _, c := range []struct{ row, pin int }{{-10, -30}, {-40, -40}} {
		f.changed = []timeline.Row{pinned(f.rows[0], noon.Add(time.Duration(c.row)*time.Second))}
		r.clock.pass(time.Second)
		r.reconcile()
		if w := r.tick(); !w.Stretches[0].From.Equal(noon.Add(time.Duration(c.pin) * time.Second)) {
			t.Errorf("pinned at %v", w.Stretches[0].From)
		}
	}
	r.commitWith(timeline.Verdict{})
	r.clock.pass(time.Second)
	r.reconcile() // the row says so still: it is selected until the source has it unpinned
	if w := r.tick(); !w.Stretches[0].Pinned || len(f.makes) != 1 {
		t.Errorf("window has %q, made %q", stretches(w), f.makes)
	}
}

// PROTOCOL B2, A3: the answer to a commit is lost, and with it the verdict: the pins are read from the source again
// before anything is selected.
func TestLostVerdictIsReadAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, engine, row("a", "1", every(10*time.Second)),
		pinned(row("b", "1", every(10*time.Second)), noon.Add(-time.Minute)))
	r.turn()
	r.clock.pass(time.Second)
	wantStretches(t, r.tick(), "a 00:00 00:00", "b 00:00 00:00")
	_, err := r.CommitIn(t.Context(), func(ctx ctx, old, next timeline.Claim) (timeline.Verdict, error) {
		if ok, err := r.store.Swap(ctx, &old, next); !ok || err != nil {
			t.Error(ok, err)
		}
		return timeline.Verdict{}, errStore
	})
	if !errors.Is(err, errStore) {
		t.Fatal(err)
	}
	r.src.set(pinned(row("a", "1", every(10*time.Second)), noon)) // what the transaction did, nobody was told
	r.src.set(row("b", "1", every(10*time.Second)))
	r.src.failAt = 1
	if _, ok, err := r.Tick(t.Context()); ok || !errors.Is(err, errSource) {
		t.Fatalf("tick without knowing the pins: %v, %v", ok, err)
	}
	r.src.failAt = 0
	wantStretches(t, r.tick(), "a* 00:00 00:00")
	if c := r.store.record(t); c.Epoch != 1 {
		t.Errorf("epoch %d", c.Epoch)
	}
}

// What the planner declares gone leaves memory and is not built again, until the source has something new to say.
func TestGoneIsForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t, engine, row("once", "1", trigger.At(noon)), row("a", "1", every(time.Hour)))
	r.turn()
	r.clock.pass(time.Second)
	wantStretches(t, r.tick(), "a 00:00 00:00", "once 00:00 00:00")
	r.commitWith(timeline.Verdict{Gone: []string{"once", "unknown"}})
	r.clock.pass(time.Second)
	r.reconcile()
	if r.Count() != 1 || len(r.src.makes) != 2 || len(r.tick().Stretches) != 0 {
		t.Errorf("%d loaded, made %q", r.Count(), r.src.makes)
	}
	r.src.set(pinned(row("once", "1", trigger.At(noon)), noon)) // a catch-up of what was settled
	r.clock.pass(time.Second)
	r.reconcile()
	wantStretches(t, r.tick(), "once* 00:00 00:00")
	if r.Count() != 2 {
		t.Errorf("%d loaded", r.Count())
	}
}

// A clock behind the watermark selects no pinned entry either: what it owes up to the watermark may be still to come.
func TestClockBehindSelectsNoPinned(t *testing.T) {
	t.Parallel()
	r := newRig(t, engine, row("a", "1", every(time.Second)))
	r.turn()
	r.clock.step(-time.Minute)
	r.src.set(pinned(row("b", "1", every(10*time.Second)), noon.Add(-time.Minute)))
	r.reconcile()
	wantStretches(t, r.tick())
	if wake := r.NextWake(); !wake.Equal(r.clock.Now().Add(time.Second)) { // the next sync
		t.Errorf("wakes at %v", wake)
	}
	r.clock.pass(time.Minute)
	wantStretches(t, r.tick(), "b* 59:00 59:00")
}

// A release whose answer is lost and that was not written: the loop leads on, and what it read meanwhile counts.
func TestFailedReleaseLeadsOnWithWhatWasReadMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, engine, row("a", "1", every(10*time.Second)))
	r.turn()
	r.store.plan(nil, []fault{fails})
	if err := r.Release(t.Context()); !errors.Is(err, errStore) {
		t.Fatal(err)
	}
	r.src.set(row("b", "1", every(10*time.Second)))
	r.clock.pass(time.Second)
	r.reconcile()
	want(t, r.tick(), "a 12:00:00", "b 12:00:00")
}

// A commit that moved pins and not the watermark lands late: what it pinned is read again, although nothing of the
// claim but the nonce tells of it.
func TestLateCommitOfPinsAloneIsNoticed(t *testing.T) {
	t.Parallel()
	r := newRig(t, engine, pinned(row("a", "1", every(10*time.Second)), noon.Add(-time.Minute)))
	wantStretches(t, r.tick(), "a* 59:00 59:00")
	var land func()
	_, err := r.CommitIn(t.Context(), func(_ ctx, old, next timeline.Claim) (timeline.Verdict, error) {
		land = func() {
			if ok, err := r.store.Swap(t.Context(), &old, next); !ok || err != nil {
				t.Error(ok, err)
			}
			r.src.set(pinned(row("a", "1", every(10*time.Second)), noon.Add(-20*time.Second)))
		}
		return timeline.Verdict{}, errStore
	})
	if !errors.Is(err, errStore) {
		t.Fatal(err)
	}
	wantStretches(t, r.tick(), "a* 59:00 59:00")
	land()
	if ok, err := r.Commit(t.Context()); ok || err != nil {
		t.Fatal(ok, err)
	}
	wantStretches(t, r.tick(), "a* 59:40 59:40")
}

// PROTOCOL A4, C4: what a commit left unsettled of an entry outside the window, whose backlog it settled in part, is in
// the next window.
func TestABacklogSettledInPartIsPinned(t *testing.T) {
	t.Parallel()
	r := newRig(t, engine, row("a", "1", every(time.Minute)), row("b", "1", every(time.Second)))
	r.turn()
	r.clock.pass(time.Second)
	r.turn()
	r.clock.pass(time.Second)
	wantStretches(t, r.tick(), "b 00:01 00:01")
	r.commitWith(timeline.Verdict{Pinned: map[string]time.Time{"a": noon.Add(-3 * time.Minute)}})
	if wake := r.NextWake(); wake.After(r.clock.Now()) {
		t.Errorf("the loop sleeps until %v", wake)
	}
	wantStretches(t, r.tick(), "a* 57:00 57:00")
}
