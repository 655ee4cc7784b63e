package storetest

import (
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

var pauseTests = []test{
	{"opens one gap and ends the span", testPauseOpensAGap},
	{"is counted up to now while it lasts", testOpenGapIsCountedUpToNow},
	{"twice is once", testPauseTwice},
	{"ends with its count", testResumeClosesTheGap},
	{"in which nothing was due leaves no gap", testEmptyPauseLeavesNothing},
	{"ends with catch-up as if it had not been", testResumeCatchesUp},
	{"can begin with the schedule", testPausedAtCreation},
	{"goes on over an edit", testEditWhilePaused},
	{"over an edit can be caught up", testCatchUpAfterAnEdit},
	{"ends with the schedule", testRemovalWhilePaused},
	{"is of one known schedule", testPauseOfUnknownSchedule},
}

// pause and resume are what operators do; both return the instant at which it took effect.
func (w *world) pause(id schedule.ID) time.Time {
	w.Helper()
	c, err := w.Pause(w.Context(), id, schedule.Pause{By: "ops", Reason: "repairs", Until: at(9000)})
	w.must(err)
	return c.At
}

func (w *world) resume(id schedule.ID, catchUp bool) time.Time {
	w.Helper()
	c, err := w.Resume(w.Context(), id, "ops", catchUp)
	w.must(err)
	return c.At
}

// oneGap is the only gap of the schedule.
func (w *world) oneGap(id schedule.ID) run.Gap {
	w.Helper()
	gaps := w.allGaps(store.GapQuery{Schedule: id})
	if len(gaps) != 1 {
		w.Fatalf("%d gaps, want 1: %+v", len(gaps), gaps)
	}
	return gaps[0]
}

// stretches lists when a schedule was in force, adjoining spans of one revision as one.
func (w *world) stretches(id schedule.ID) []schedule.Span {
	w.Helper()
	var out []schedule.Span
	for _, s := range w.row(id).Spans {
		s.Spec = nil
		if n := len(out); n > 0 && out[n-1].Revision == s.Revision && out[n-1].To.Equal(s.From) {
			out[n-1].To = s.To
			continue
		}
		out = append(out, s)
	}
	return out
}

// PROTOCOL B10, D11: a pause owes nothing from its instant on, and one record says so at once.
func testPauseOpensAGap(w *world) {
	id := w.declare("minutely")
	before := w.row(id)
	w.clk.Advance(30 * time.Second)
	w.same("instant", at(30), w.pause(id))
	row := w.row(id)
	w.same("spans", []schedule.Span{{Revision: 1, From: start, To: at(30)}}, w.stretches(id))
	w.same("dirty", true, row.Dirty)
	w.same("pin", at(30), row.Pin)
	if row.Change <= before.Change {
		w.Errorf("change went from %d to %d", before.Change, row.Change)
	}
	shown := w.schedule("minutely")
	w.same("pause", &schedule.Pause{At: at(30), By: "ops", Reason: "repairs", Until: at(9000)}, shown.Pause)
	w.same("revision", uint64(1), shown.Revision)
	g := w.oneGap(id)
	w.same("reason", run.Paused, g.Reason)
	w.same("open", true, g.Open)
	w.same("revision of the gap", uint64(1), g.Revision)
	w.same("name in the gap", "minutely", g.ScheduleName)
	w.same("count so far", 0, g.Count)
}

// The numbers of an open gap are as of now: 10:01, 10:02 and 10:03 lie in [10:00:30, 10:03:30).
func testOpenGapIsCountedUpToNow(w *world) {
	id := w.declare("minutely")
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	for _, c := range []struct {
		now, last float64
		count     int
	}{{60, 0, 0}, {60.000001, 60, 1}, {180, 120, 2}, {210, 180, 3}} {
		w.clk.Advance(at(c.now).Sub(w.clk.Now()))
		g := w.oneGap(id)
		w.same("open", true, g.Open)
		w.same("count", c.count, g.Count)
		if c.count > 0 {
			w.same("first", at(60), g.First)
			w.same("last", at(c.last), g.Last)
		}
	}
}

func testPauseTwice(w *world) {
	id := w.declare("minutely")
	w.same("change of resuming what is not paused", time.Time{}, w.resume(id, false))
	w.same("dirty", false, w.row(id).Dirty)
	w.pause(id)
	before, shown := w.row(id), w.schedule("minutely")
	w.clk.Advance(time.Hour)
	c, err := w.Pause(w.Context(), id, schedule.Pause{By: "somebody else"})
	w.must(err)
	w.same("change", store.Change{}, c)
	w.same("row", before, w.row(id))
	w.same("pause", shown.Pause, w.schedule("minutely").Pause)
	w.same("first instant", at(60), w.oneGap(id).First)
}

func testResumeClosesTheGap(w *world) {
	id := w.declare("minutely")
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	w.clk.Advance(3 * time.Minute)
	paused := w.row(id)
	w.same("instant", at(210), w.resume(id, false))
	w.sameGap(at(60), at(180), 3, w.oneGap(id))
	w.same("spans", []schedule.Span{{Revision: 1, From: start, To: at(30)}, {Revision: 1, From: at(210)}}, w.stretches(id))
	row := w.row(id)
	w.same("dirty", true, row.Dirty)
	w.same("pin", at(30), row.Pin)
	if row.Change <= paused.Change {
		w.Errorf("change went from %d to %d", paused.Change, row.Change)
	}
	shown := w.schedule("minutely")
	if shown.Pause != nil || shown.Revision != 1 {
		w.Errorf("after the pause: %+v, revision %d", shown.Pause, shown.Revision)
	}
	w.clk.Advance(time.Hour)
	w.sameGap(at(60), at(180), 3, w.oneGap(id)) // closed for good
	settled, err := w.Settled(w.Context(), id, at(60), at(61))
	w.must(err)
	w.same("gaps that dispose of the pause", 1, len(settled.Gaps))
}

func testEmptyPauseLeavesNothing(w *world) {
	id := w.declare("minutely")
	w.clk.Advance(time.Second)
	w.pause(id)
	w.clk.Advance(59 * time.Second)
	w.resume(id, false) // at 10:01 sharp: that occurrence is the schedule's again
	w.same("gaps", 0, len(w.allGaps(store.GapQuery{})))
	w.same("spans", []schedule.Span{{Revision: 1, From: start, To: at(1)}, {Revision: 1, From: at(60)}}, w.stretches(id))
}

// PROTOCOL B10: catch-up hands the pause to the misfire policy.
func testResumeCatchesUp(w *world) {
	id := w.declare("minutely")
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	p := w.plan(id)
	p.Unpin = true
	w.clk.Advance(3 * time.Minute)
	w.commit(w.window(at(210), p)) // the planner has long gone on
	w.resume(id, true)
	w.same("gaps", 0, len(w.allGaps(store.GapQuery{})))
	// The span before the pause is settled: whether it is listed still is left to the store.
	s := w.stretches(id)
	last := s[len(s)-1]
	if last.Revision != 1 || last.From.After(at(30)) || !last.To.IsZero() {
		w.Errorf("in force: %v, want revision 1 from the pause on", s)
	}
	w.same("pin", at(30), w.row(id).Pin)
	w.same("dirty", true, w.row(id).Dirty)
	w.same("settled until", at(30), w.unsettled(id))
	if w.schedule("minutely").Pause != nil {
		w.Error("still paused")
	}
}

// A schedule that is paused from its beginning owes nothing, and people can see why.
func testPausedAtCreation(w *world) {
	id := w.apply(store.Apply{
		Origin: schedule.OriginFile, Items: []schedule.Schedule{w.item("minutely", time.Minute, paused)}, By: "ops",
	}).Created[0]
	w.same("spans", 0, len(w.row(id).Spans))
	shown := w.schedule("minutely")
	if shown.Pause == nil || !shown.Pause.At.Equal(start) || shown.Pause.By != "ops" {
		w.Errorf("pause: %+v", shown.Pause)
	}
	w.clk.Advance(150 * time.Second)
	g := w.oneGap(id)
	w.same("open", true, g.Open)
	w.same("count", 3, g.Count) // 10:00, 10:01, 10:02
	_, err := w.Revision(w.Context(), id, 1)
	w.must(err)
	w.resume(id, false)
	w.sameGap(at(0), at(120), 3, w.oneGap(id))
	w.same("spans", []schedule.Span{{Revision: 1, From: at(150)}}, w.stretches(id))
}

// Each stretch of a pause is counted by the revision that was paused: 10:01 to 10:03 minutely, then every two minutes.
func testEditWhilePaused(w *world) {
	id := w.declare("s")
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	w.clk.Advance(3 * time.Minute)
	item := w.item("s", 2*time.Minute)
	w.same("updated", []schedule.ID{id}, w.file(item).Updated)
	w.same("spans", []schedule.Span{{Revision: 1, From: start, To: at(30)}}, w.stretches(id))
	shown := w.schedule("s")
	w.same("revision", uint64(2), shown.Revision)
	w.sameSpec(item.Spec, shown.Spec)
	if shown.Pause == nil {
		w.Fatal("the edit resumed the schedule")
	}
	spec, err := w.Revision(w.Context(), id, 2)
	w.must(err)
	w.same("spec of the new revision", string(w.encode(item.Spec)), string(spec))

	w.clk.Advance(5 * time.Minute)
	w.resume(id, false) // at 10:08:30
	gaps := w.allGaps(store.GapQuery{Schedule: id})
	slices.SortFunc(gaps, func(a, b run.Gap) int { return a.First.Compare(b.First) })
	if len(gaps) != 2 {
		w.Fatalf("%d gaps, want one for each revision: %+v", len(gaps), gaps)
	}
	w.sameGap(at(60), at(180), 3, gaps[0])
	w.sameGap(at(240), at(480), 3, gaps[1])
	w.same("revisions of the gaps", []uint64{1, 2}, []uint64{gaps[0].Revision, gaps[1].Revision})
	w.same("spans", []schedule.Span{{Revision: 1, From: start, To: at(30)}, {Revision: 2, From: at(510)}}, w.stretches(id))
}

// Catch-up reaches back as far as the definition that is in force now was paused.
func testCatchUpAfterAnEdit(w *world) {
	id := w.declare("s")
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	w.clk.Advance(3 * time.Minute)
	w.file(w.item("s", 2*time.Minute)) // at 10:03:30
	w.clk.Advance(5 * time.Minute)
	w.resume(id, true)
	w.sameGap(at(60), at(180), 3, w.oneGap(id))
	w.same("spans", []schedule.Span{{Revision: 1, From: start, To: at(30)}, {Revision: 2, From: at(210)}}, w.stretches(id))
	w.same("pin", at(30), w.row(id).Pin)
}

func testRemovalWhilePaused(w *world) {
	id := w.declare("minutely")
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	w.clk.Advance(3 * time.Minute)
	w.same("removed", []schedule.ID{id}, w.file().Removed)
	w.sameGap(at(60), at(180), 3, w.oneGap(id))
	w.same("spans", []schedule.Span{{Revision: 1, From: start, To: at(30)}}, w.stretches(id))
	w.clk.Advance(time.Minute)
	w.file(w.item("minutely", time.Minute))
	if w.schedule("minutely").Pause != nil {
		w.Error("a schedule that was declared anew is paused")
	}
	w.same("spans", []schedule.Span{{Revision: 1, From: start, To: at(30)}, {Revision: 2, From: at(270)}}, w.stretches(id))
	w.sameGap(at(60), at(180), 3, w.oneGap(id))
}

func testPauseOfUnknownSchedule(w *world) {
	_, err := w.Pause(w.Context(), schedule.ID(w.newID()), schedule.Pause{})
	w.mustBe(store.ErrNotFound, err)
	_, err = w.Resume(w.Context(), schedule.ID(w.newID()), "ops", true)
	w.mustBe(store.ErrNotFound, err)
}
