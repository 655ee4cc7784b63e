package timeline_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/belfryhq/belfry/timeline"
)

// What the old definition owed from before it was rewritten is still handed over, under its version, and the new one
// takes over from its own start. Both are selected until a commit.
func TestEditLeavesWhatTheOldDefinitionOwed(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{Sync: time.Second}, row("a", "1", every(10*time.Second)))
	r.turn()
	r.clock.pass(35 * time.Second)
	r.src.set(active(row("a", "2", every(5*time.Second)), noon.Add(21*time.Second)))
	r.reconcile()
	for range 2 {
		w := r.tick()
		want(t, w, "a 12:00:00", "a 12:00:10", "a 12:00:20", "a 12:00:25", "a 12:00:30")
		var versions []string
		for _, o := range w.Occurrences() {
			versions = append(versions, o.Version)
			if !r.IsCurrent(o) {
				t.Errorf("%s of version %s is not current", o.Key(), o.Version)
			}
		}
		if !slices.Equal(versions, []string{"1", "1", "1", "2", "2"}) {
			t.Errorf("versions %q", versions)
		}
	}
	r.commit()
	r.clock.pass(time.Second)
	want(t, r.turn(), "a 12:00:35")
	if r.IsCurrent(timeline.Occurrence{ID: "a", Version: "1", Due: noon.Add(20 * time.Second)}) {
		t.Error("what was settled is still current")
	}
}

// An edit that is not read before its predecessor's window opened changes what of the window is current, and the commit
// settles the old definition's part.
func TestEditInFlightKeepsTheOldUntilItsInstant(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{Lead: 30 * time.Second}, row("a", "1", every(10*time.Second)))
	w := r.tick()
	want(t, w, "a 12:00:00", "a 12:00:10", "a 12:00:20")
	r.src.set(active(row("a", "2", every(4*time.Second)), noon.Add(11*time.Second)))
	r.clock.pass(12 * time.Second)
	r.reconcile()
	var current []bool
	for _, o := range w.Occurrences() {
		current = append(current, r.IsCurrent(o))
	}
	if !slices.Equal(current, []bool{true, true, false}) {
		t.Errorf("current: %v", current)
	}
	r.commit()
	want(t, r.turn(), "a 12:00:12", "a 12:00:16", "a 12:00:20", "a 12:00:24", "a 12:00:28", "a 12:00:32", "a 12:00:36", "a 12:00:40")
}

// A chain of edits within one window owes each definition's own part: also of one that no window had before.
func TestChainOfEditsOwesEachPart(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		r := newRig(t, timeline.Options{Sync: time.Second}, row("a", "1", every(10*time.Second)))
		r.turn()
		r.clock.pass(25 * time.Second)
		if open {
			want(t, r.tick(), "a 12:00:00", "a 12:00:10", "a 12:00:20")
		}
		for i, from := range []int{5, 12, 18} {
			r.src.set(active(row("a", fmt.Sprint(i+2), every(time.Duration(i+2)*time.Second)), noon.Add(time.Duration(from)*time.Second)))
			r.clock.pass(time.Second)
			r.reconcile()
		}
		parts := []string{"a 12:00:06", "a 12:00:08", "a 12:00:10", "a 12:00:12", "a 12:00:15", "a 12:00:20", "a 12:00:24"}
		if open {
			r.commit() // it settles the first definition's part, and no other
		} else {
			parts = append([]string{"a 12:00:00"}, parts...)
		}
		want(t, r.turn(), parts...)
		want(t, r.turn())
	}
}

// Deleting or pausing forgives what was owed, and so does a rewrite that does not say since when it holds.
func TestDebtsAreForgiven(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*source){
		"deleted": func(s *source) { s.delete("a") },
		"paused":  func(s *source) { s.rows[0].Inactive = true },
		"undated": func(s *source) { s.set(row("a", "3", every(time.Hour))) },
		"earlier": func(s *source) { s.set(active(row("a", "3", every(time.Hour)), noon.Add(10*time.Second))) },
	} {
		r := newRig(t, timeline.Options{Sync: time.Second}, row("a", "1", grid{step: 10 * time.Second, phase: time.Second}))
		r.turn()
		r.clock.pass(35 * time.Second)
		r.src.set(active(row("a", "2", every(time.Hour)), noon.Add(30*time.Second)))
		r.reconcile()
		change(r.src)
		r.clock.pass(time.Second)
		r.reconcile()
		got := keys(r.turn())
		wanted := map[string][]string{"undated": {"a 12:00:00"}, "earlier": {"a 12:00:01"}}[name]
		if !slices.Equal(got, wanted) {
			t.Errorf("%s: %q is due, want %q", name, got, wanted)
		}
	}
}

// R-WIN-5, PROTOCOL C11: what is owed reaches no further back than Recover either, and is told to Dropped.
func TestDebtsReachBackByRecover(t *testing.T) {
	t.Parallel()
	var dropped []string
	o := timeline.Options{Sync: time.Second, Recover: 20 * time.Second}
	o.Dropped = func(id string, first, last time.Time, n int) {
		dropped = append(dropped, fmt.Sprintf("%s %d %s %s", id, n, first.Format("05"), last.Format("05")))
	}
	r := newRig(t, o, row("a", "1", every(10*time.Second)))
	r.turn()
	r.clock.pass(45 * time.Second)
	r.src.set(active(row("a", "2", every(time.Hour)), noon.Add(44*time.Second)))
	r.reconcile()
	want(t, r.tick(), "a 12:00:30", "a 12:00:40")
	if next := r.NextWake(); !next.Equal(r.clock.Now()) {
		t.Errorf("with a debt the next wake is at %v", next)
	}
	r.commit()
	if next := r.NextWake(); !next.After(r.clock.Now()) {
		t.Errorf("with none it is at %v", next)
	}
	if !slices.Equal(dropped, []string{"a 3 00 20"}) {
		t.Errorf("dropped %q", dropped)
	}
}

// Edits that take effect later and later do not pile up.
func TestDebtsOfOneDefinitionAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{Sync: time.Second}, row("a", "0", every(time.Second)))
	r.turn()
	for i := range 20 {
		r.src.set(active(row("a", fmt.Sprint(i+1), every(time.Second)), noon.Add(time.Duration(i+1)*time.Hour)))
		r.clock.pass(time.Second)
		r.reconcile()
	}
	if len(r.errors) != 4 {
		t.Errorf("errors: %q", r.errors)
	}
}
