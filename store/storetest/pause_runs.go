package storetest

import (
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// What has a run already when a pause comes is not the pause's (PROTOCOL A10b, P1): each occurrence is one or the other.
var pausedRunTests = []test{
	{"leave out a run that was running already", testGapLeavesOutARunningRun},
	{"are divided by the runs inside", testGapIsDividedByRuns},
	{"that hold nothing but runs leave none", testGapOfRunsOnlyLeavesNone},
	{"leave out only what their own revision counts", testGapIgnoresRunsOffItsGrid},
	{"are divided by an edit and by a removal, too", testEditAndRemovalDivideTheGap},
	{"are divided when they are cut", testCorrectDividesACutGap},
	{"shown open leave runs out", testOpenGapLeavesRunsOut},
	{"caught up leave runs alone", testCatchUpAroundARun},
	{"are counted beyond a counter's limit", testGapBeyondTheCountersLimit},
}

// started commits runs of a schedule and lets a worker begin them before they are due, as one does that takes ahead.
func (w *world) started(id schedule.ID, seconds ...float64) {
	w.Helper()
	node := w.node()
	for _, s := range seconds {
		w.insert(id, w.due(id, at(s), func(r *run.Run) { r.ReadyAt = start }))
		w.begin(w.takeOne(node))
	}
}

// stretch is what a gap says of itself.
type stretch struct {
	First, Last time.Time
	Count       int
	Open        bool
}

// gapsOf lists the gaps of a schedule, the first one first.
func (w *world) gapsOf(id schedule.ID) (out []stretch) {
	w.Helper()
	ids := map[run.GapID]bool{}
	for _, g := range w.allGaps(store.GapQuery{Schedule: id}) {
		w.same("reason", run.Paused, g.Reason)
		out, ids[g.ID] = append(out, stretch{g.First, g.Last, g.Count, g.Open}), true
	}
	w.same("identifiers", len(out), len(ids))
	slices.SortFunc(out, func(a, b stretch) int { return a.First.Compare(b.First) })
	return out
}

// closed is a closed gap between two instants that are due every minute.
func closed(first, last float64) stretch {
	return stretch{First: at(first), Last: at(last), Count: int(last-first)/60 + 1}
}

// The pause comes at 10:00:30 and finds the run of 10:01 running; it held back 10:02 and 10:03.
func testGapLeavesOutARunningRun(w *world) {
	id := w.declare("minutely")
	w.started(id, 60)
	w.clk.Advance(30 * time.Second)
	c, err := w.Pause(w.Context(), id, schedule.Pause{By: "ops"})
	w.must(err)
	w.same("runs that the pause came too late for", 1, len(c.NotRevoked))
	before := w.oneGap(id)
	w.clk.Advance(3 * time.Minute)
	w.resume(id, false)
	w.same("gaps", []stretch{closed(120, 180)}, w.gapsOf(id))
	w.same("identifier", before.ID, w.oneGap(id).ID)
	settled, err := w.Settled(w.Context(), id, at(0), at(210))
	w.must(err)
	w.same("runs that dispose of it", []time.Time{at(60)}, settled.Runs)
}

// 10:01 to 10:06 without 10:03 and 10:05 are three stretches, each made by the same pause.
func testGapIsDividedByRuns(w *world) {
	id := w.declare("minutely")
	w.started(id, 180, 300)
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	w.clk.Advance(6 * time.Minute)
	w.resume(id, false)
	w.same("gaps", []stretch{closed(60, 120), closed(240, 240), closed(360, 360)}, w.gapsOf(id))
	for _, g := range w.allGaps(store.GapQuery{Schedule: id}) {
		w.same("created", at(30), g.CreatedAt)
		w.same("revision", uint64(1), g.Revision)
	}
}

func testGapOfRunsOnlyLeavesNone(w *world) {
	id := w.declare("minutely")
	w.started(id, 60, 120)
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	w.clk.Advance(2 * time.Minute)
	w.same("shown while it lasts", 0, w.oneGap(id).Count)
	w.resume(id, false)
	w.same("gaps", 0, len(w.gapsOf(id)))
}

// A run by hand disposes of no occurrence, and a run of an earlier grid of none that this one owes.
func testGapIgnoresRunsOffItsGrid(w *world) {
	id := w.declare("minutely")
	w.started(id, 90)
	w.insert(id, w.due(id, at(60), func(r *run.Run) { r.Kind = run.Manual }))
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	w.clk.Advance(3 * time.Minute)
	g := w.oneGap(id)
	w.same("shown", stretch{at(60), at(180), 3, true}, stretch{g.First, g.Last, g.Count, g.Open})
	w.resume(id, false)
	w.same("gaps", []stretch{closed(60, 60), closed(120, 180)}, w.gapsOf(id))
}

// The edit at 10:03:30 does not change what is due, so each part of the pause can be told by its instants.
func testEditAndRemovalDivideTheGap(w *world) {
	id := w.declare("minutely")
	w.started(id, 120, 300)
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	w.clk.Advance(3 * time.Minute)
	w.file(w.item("minutely", time.Minute, func(s *schedule.Spec) { s.Pool = "other" }))
	w.same("gaps", []stretch{closed(60, 60), closed(180, 180), {First: at(210), Last: at(210), Open: true}}, w.gapsOf(id))
	w.clk.Advance(3 * time.Minute)
	w.same("removed", []schedule.ID{id}, w.file().Removed)
	gaps := w.allGaps(store.GapQuery{Schedule: id})
	slices.SortFunc(gaps, func(a, b run.Gap) int { return a.First.Compare(b.First) })
	if len(gaps) != 4 {
		w.Fatalf("%d gaps, want 4: %+v", len(gaps), gaps)
	}
	w.sameGap(at(240), at(240), 1, gaps[2])
	w.sameGap(at(360), at(360), 1, gaps[3])
}

// The clock was a day ahead when the pause ended; what is left of it is divided as well.
func testCorrectDividesACutGap(w *world) {
	id := w.declare("minutely")
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	w.ahead(func() { w.resume(id, false) })
	w.insert(id, w.due(id, at(120)))
	w.clk.Advance(4 * time.Minute) // 10:04:30
	w.correct(w.clk.Now())
	w.same("gaps", []stretch{closed(60, 60), closed(180, 240)}, w.gapsOf(id))
}

func testOpenGapLeavesRunsOut(w *world) {
	id := w.declare("minutely")
	w.started(id, 60, 180, 300)
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	for _, c := range []struct {
		now, first, last float64
		count            int
	}{{90, 30, 30, 0}, {121, 120, 120, 1}, {200, 120, 120, 1}, {241, 120, 240, 2}, {310, 120, 240, 2}, {361, 120, 360, 3}} {
		w.clk.Advance(at(c.now).Sub(w.clk.Now()))
		g := w.oneGap(id)
		w.same("open", true, g.Open)
		w.same("count", c.count, g.Count)
		if c.count > 0 {
			w.same("first", at(c.first), g.First)
			w.same("last", at(c.last), g.Last)
		}
	}
}

// Catch-up owes everything from the pause on, also before the first instant that the pause was shown with.
func testCatchUpAroundARun(w *world) {
	id := w.declare("minutely")
	w.started(id, 60)
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	w.clk.Advance(3 * time.Minute)
	w.resume(id, true)
	w.same("gaps", 0, len(w.allGaps(store.GapQuery{})))
	w.same("pin", at(30), w.row(id).Pin)
}

// A trigger that has to be counted one by one is counted in pieces; the pause holds two of them and a half.
func testGapBeyondTheCountersLimit(w *world) {
	const half = store.CountLimit / 2
	stops := func(id schedule.ID, spec []byte, from, to time.Time) (int, time.Time, time.Time) {
		n, first, last := countEvery(id, spec, from, to)
		if n > store.CountLimit {
			n, last = store.CountLimit, first.Add((store.CountLimit-1)*time.Minute)
		}
		return n, first, last
	}
	w.bare = w.h.Open(w.T, w.clk, stops)
	w.Store = w.bare
	id := w.declare("minutely")
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	w.clk.Advance(5 * half * time.Minute)
	g := w.oneGap(id)
	w.same("count so far", 5*half, g.Count)
	w.same("last so far", at(60*5*half), g.Last)
	w.resume(id, false)
	w.sameGap(at(60), at(60*5*half), 5*half, w.oneGap(id))
}
