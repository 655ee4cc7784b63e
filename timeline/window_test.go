package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/belfryhq/belfry/timeline"
)

// R-WIN-7: with no record, nothing older than now is owed; R-WIN-1, R-WIN-2: windows are half open and tile.
func TestFirstWindowStartsAtNow(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{}, row("a", "1", every(10*time.Second)))
	w := r.turn()
	want(t, w)
	if !w.Start.Equal(noon) || !w.End.Equal(noon) {
		t.Errorf("the first window is [%v, %v)", w.Start, w.End)
	}
	r.clock.pass(10 * time.Second)
	want(t, r.turn(), "a 12:00:00") // the boundary of the first window opens the second
	r.clock.pass(10*time.Second + time.Microsecond)
	want(t, r.turn(), "a 12:00:10", "a 12:00:20")
}

// R-WIN-4, R-LOOP-8, R-LOOP-9: what is not committed is selected again, and more with it.
func TestSkippedCommitSelectsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{}, row("a", "1", every(10*time.Second)), row("b", "1", every(20*time.Second)))
	r.turn()
	r.clock.pass(15 * time.Second)
	want(t, r.tick(), "a 12:00:00", "b 12:00:00", "a 12:00:10")
	r.clock.pass(10 * time.Second)
	w := r.tick()
	want(t, w, "a 12:00:00", "b 12:00:00", "a 12:00:10", "a 12:00:20", "b 12:00:20")
	if !w.Start.Equal(noon) {
		t.Errorf("the window opens at %v", w.Start)
	}
	r.commit()
	if ok, err := r.Commit(t.Context()); ok || err != nil {
		t.Errorf("a commit with nothing open: %v, %v", ok, err)
	}
	want(t, r.turn())
}

// R-TST-2, R-TST-3, S-007: 10,000 mixed intervals under ticks that come at any time, commits that are dropped and a clock
// that is set both ways. Division says how often each one must be seen.
func TestWindowsTileUnderJitter(t *testing.T) {
	t.Parallel()
	const n = 10_000
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t, timeline.Options{Recover: -1})
	grids := make(map[string]grid, n)
	for i := range n {
		id := fmt.Sprintf("s%05d", i)
		step := time.Duration(1+rng.IntN(600)) * time.Second
		grids[id] = grid{step: step, phase: time.Duration(rng.Int64N(int64(step)/1000)) * 1000}
		r.src.rows = append(r.src.rows, row(id, "1", grids[id]))
	}
	r.turn()
	counts := make(map[string]int, n)
	last, at := map[string]time.Time{}, noon
	for range 300 {
		r.clock.pass(time.Duration(rng.Int64N(int64(3 * time.Second))))
		if rng.IntN(20) == 0 {
			r.clock.step(time.Duration(rng.Int64N(int64(20*time.Second))) - 10*time.Second)
		}
		r.reconcile()
		w := r.tick()
		if !w.Start.Equal(at) || w.End.Before(w.Start) || w.End.After(later(r.clock.Now(), at)) {
			t.Fatalf("window [%v, %v) after %v at %v", w.Start, w.End, at, r.clock.Now())
		}
		if rng.IntN(4) == 0 {
			continue // the hand-over failed
		}
		r.commit()
		at = w.End
		for _, o := range w.Occurrences() {
			if !o.Due.After(last[o.ID]) {
				t.Fatalf("%s is not after %v", o.Key(), last[o.ID])
			}
			last[o.ID] = o.Due
			counts[o.ID]++
		}
	}
	for id, g := range grids {
		if wanted := g.count(noon, at); counts[id] != wanted {
			t.Errorf("%s (%v): seen %d times in [%v, %v), want %d", id, g, counts[id], noon, at, wanted)
		}
	}
	if len(r.errors) > 0 {
		t.Error(r.errors)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// S-009: progress comes from the watermark, so that a late poll finds everything, whatever the look-back of others.
func TestDelayedPollLosesNothing(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{61 * time.Second, 90 * time.Second, 3600 * time.Second} {
		r := newRig(t, timeline.Options{Recover: -1}, row("minutely", "1", every(time.Minute)))
		r.turn()
		r.clock.pass(late + time.Microsecond)
		want := every(time.Minute).count(noon, noon.Add(late+time.Microsecond))
		if got := len(r.turn().Occurrences()); got != want {
			t.Errorf("%v late: %d occurrences, want %d", late, got, want)
		}
	}
}

// S-033, R-WIN-9: a timer that wakes too early, a thousand times with a drifting clock, finds nothing before its
// instant.
func TestEarlyWakeIsNeverEarly(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{}, row("a", "1", every(time.Second)))
	r.turn()
	seen := 0
	for i := 1; i <= 1000; i++ {
		// Wake 10 ms before second i by true time; the clock runs 3 us a second fast.
		r.clock.pass(noon.Add(time.Duration(i)*time.Second - 10*time.Millisecond).Sub(r.clock.Now()))
		r.clock.step(time.Duration(i) * 3 * time.Microsecond)
		w := r.turn()
		for _, o := range w.Occurrences() {
			seen++
			if o.Due.After(r.clock.Now()) {
				t.Fatalf("%s was selected at %v", o.Key(), r.clock.Now())
			}
		}
		r.clock.step(-time.Duration(i) * 3 * time.Microsecond)
	}
	if seen != 1000 { // 12:00:00 to 12:16:39, each at the wake before the next
		t.Errorf("%d occurrences, want 1000", seen)
	}
}

// S-025: 59 schedules on one instant, the clock set back 3 s right after it: 59 occurrences.
func TestClockSetBackRepeatsNothing(t *testing.T) {
	t.Parallel()
	var rows []timeline.Row
	for i := range 59 {
		rows = append(rows, row(fmt.Sprintf("s%02d", i), "1", every(time.Hour)))
	}
	r := newRig(t, timeline.Options{}, rows...)
	r.clock.step(-2 * time.Second)
	r.turn()
	seen := 0
	for i := range 10 {
		r.clock.pass(time.Second)
		if i == 3 {
			r.clock.step(-3 * time.Second)
		}
		w := r.turn()
		seen += len(w.Occurrences())
		if i == 3 && (!w.Start.Equal(w.End) || len(w.Stretches) > 0) {
			t.Errorf("the clock went back, and the window is [%v, %v)", w.Start, w.End)
		}
	}
	if seen != 59 {
		t.Errorf("%d occurrences, want 59", seen)
	}
}

// R-WIN-9, R-LOOP-10: a lead reaches into the future, and tiles like everything else.
func TestLeadReachesAhead(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{Lead: 5 * time.Second}, row("a", "1", every(10*time.Second)))
	want(t, r.turn(), "a 12:00:00")
	r.clock.pass(5 * time.Second)
	want(t, r.turn()) // the horizon, 12:00:10, is not in the window
	if wake := r.NextWake(); !wake.Equal(noon.Add(5*time.Second + time.Microsecond)) {
		t.Errorf("wakes at %v", wake)
	}
	r.clock.pass(time.Microsecond)
	want(t, r.turn(), "a 12:00:10")
}

// R-WIN-5, R-WIN-15, PROTOCOL C11: what is older than Recover is given up, and said.
func TestOldWatermarkIsClampedAloud(t *testing.T) {
	t.Parallel()
	type drop struct {
		id          string
		first, last time.Time
		count       int
	}
	var drops []drop
	o := timeline.Options{Recover: 5 * time.Minute}
	o.Dropped = func(id string, first, last time.Time, count int) {
		drops = append(drops, drop{id, first, last, count})
	}
	r := newRig(t, o, row("a", "1", every(time.Minute)))
	r.turn()
	r.clock.pass(time.Hour)
	w := r.turn()
	if !w.Start.Equal(noon.Add(55*time.Minute)) || len(w.Occurrences()) != 5 {
		t.Errorf("the window is [%v, %v) with %d", w.Start, w.End, len(w.Occurrences()))
	}
	if len(drops) != 1 || drops[0] != (drop{"a", noon, noon.Add(54 * time.Minute), 55}) {
		t.Errorf("dropped: %v", drops)
	}
	r.clock.pass(time.Minute)
	if r.turn(); len(drops) != 1 {
		t.Errorf("dropped again: %v", drops)
	}
}

// R-WIN-6: catch-up is oldest first, whoever it belongs to.
func TestOccurrencesAreOrderedByDueThenID(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{},
		row("c", "1", every(20*time.Second)), row("a", "1", every(30*time.Second)), row("b", "1", every(30*time.Second)))
	r.turn()
	r.clock.pass(time.Minute + time.Microsecond)
	want(t, r.turn(), "a 12:00:00", "b 12:00:00", "c 12:00:00", "c 12:00:20", "a 12:00:30", "b 12:00:30",
		"c 12:00:40", "a 12:01:00", "b 12:01:00", "c 12:01:00")
}
