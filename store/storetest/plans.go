package storetest

import (
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

var planTests = []test{
	{"of a changed schedule is left out and pins it", testStalePlanIsLeftOut},
	{"left out keeps an earlier pin", testLeftOutKeepsTheEarlierPin},
	{"of an unknown schedule is left out", testPlanOfUnknownSchedule},
	{"clears pin and mark when it covers", testUnpinClears},
	{"pins and says when the backlog was found", testPlanPins},
	{"pins rather than unpins", testPinWinsOverUnpin},
	{"quarantines by the schedule's ID", testQuarantine},
	{"of a removed schedule covers it for good", testRemovedScheduleIsCovered},
}

// PROTOCOL A3: a pause committed after the planner selected stops what it planned, for this schedule and no other.
func testStalePlanIsLeftOut(w *world) {
	a, b := w.declare("a"), w.declare("b")
	stale := w.plan(a, w.due(a, at(60)))
	stale.From, stale.Unpin, stale.Quarantine = at(-30), true, "broken"
	stale.Gaps = []run.Gap{w.gap(a, run.Missed, at(1), at(1), 1)}
	w.clk.Advance(time.Second)
	_, err := w.Pause(w.Context(), a, schedule.Pause{By: "tester"})
	w.must(err)
	done := w.commit(w.window(at(60), stale, w.plan(b, w.due(b, at(60)))))
	w.same("committed", store.Committed{Inserted: 1, LeftOut: []schedule.ID{a}}, done)
	w.same("runs of the paused one", 0, len(w.allRuns(store.RunQuery{Schedule: a})))
	row := w.row(a)
	w.same("pin", at(-30), row.Pin)
	w.same("dirty", true, row.Dirty)
	w.same("quarantine", "", row.Quarantine)
	w.same("pin of the other one", time.Time{}, w.row(b).Pin)
	w.same("settled until", at(-30), w.unsettled(a))
	w.same("settled until, the other one", at(60), w.unsettled(b))
}

func testLeftOutKeepsTheEarlierPin(w *world) {
	id := w.declare("minutely")
	pinned := w.plan(id)
	pinned.Pin, pinned.OpenedAt = at(-300), at(-1)
	w.commit(w.window(at(1), pinned))
	stale := w.plan(id)
	stale.From = at(-30)
	stale.Change--
	w.commit(w.window(at(2), stale))
	w.same("pin", at(-300), w.row(id).Pin)
	w.same("backlog found at", at(-1), w.row(id).OpenedAt)
}

func testPlanOfUnknownSchedule(w *world) {
	id := w.declare("minutely")
	unknown := schedule.ID(w.newID())
	p := store.Plan{Schedule: unknown, Change: 1, From: start, Runs: []run.Run{w.due(unknown, at(60))}}
	done := w.commit(w.window(at(60), p, w.plan(id, w.due(id, at(60)))))
	w.same("committed", store.Committed{Inserted: 1, LeftOut: []schedule.ID{unknown}}, done)
}

// Only a commit that covered a definition clears its mark, conditional on what was covered (PROTOCOL A3).
func testUnpinClears(w *world) {
	id := w.file(w.item("minutely", time.Minute)).Created[0]
	row := w.row(id)
	w.same("new: dirty", true, row.Dirty)
	w.same("new: pin", start, row.Pin)
	w.commit(w.window(at(1), w.plan(id, w.due(id, at(60))))) // says nothing about coverage
	w.same("after another commit: dirty", true, w.row(id).Dirty)
	w.same("after another commit: pin", start, w.row(id).Pin)

	p := w.plan(id)
	p.Unpin = true
	w.commit(w.window(at(120), p))
	row = w.row(id)
	w.same("covered: dirty", false, row.Dirty)
	w.same("covered: pin", time.Time{}, row.Pin)
	w.same("covered: backlog", time.Time{}, row.OpenedAt)
	w.same("dirty rows", 0, len(w.dirty()))
	w.same("settled until", at(120), w.unsettled(id))
}

func testPlanPins(w *world) {
	id := w.declare("minutely")
	p := w.plan(id)
	p.Pin, p.OpenedAt, p.PinReason = at(-600.000001), at(-0.5), "draining"
	w.commit(w.window(at(60), p))
	row := w.row(id)
	w.same("pin", at(-600.000001), row.Pin)
	w.same("backlog found at", at(-0.5), row.OpenedAt)
	w.same("settled until", at(-600.000001), w.unsettled(id))
	w.same("change", p.Change, row.Change) // a pin is no change of the definition
	w.same("pin as people see it", at(-600.000001), w.schedule("minutely").Pin)
	// The backlog drains: the pin moves on.
	p.Pin = at(-300)
	w.commit(w.window(at(61), p))
	w.same("pin after draining", at(-300), w.row(id).Pin)
}

func testPinWinsOverUnpin(w *world) {
	id := w.file(w.item("minutely", time.Minute)).Created[0]
	p := w.plan(id)
	p.Unpin, p.Pin, p.OpenedAt = true, at(-10), at(1)
	w.commit(w.window(at(60), p))
	w.same("pin", at(-10), w.row(id).Pin)
	w.same("backlog found at", at(1), w.row(id).OpenedAt)
}

// P6, PROTOCOL C6: what cannot be planned is marked, with the reason, in the commit that moves the watermark past it.
func testQuarantine(w *world) {
	id, other := w.declare("broken"), w.declare("other")
	p := w.plan(id)
	p.Pin, p.Quarantine = start, "time_zone: no such zone"
	w.commit(w.window(at(60), p, w.plan(other, w.due(other, at(60)))))
	w.same("quarantine", "time_zone: no such zone", w.row(id).Quarantine)
	w.same("quarantine as people see it", "time_zone: no such zone", w.schedule("broken").Quarantine)
	w.same("quarantine of the other one", "", w.row(other).Quarantine)
	w.same("settled until", start, w.unsettled(id))
	// A commit that does not cover it does not mend it.
	w.commit(w.window(at(120), w.plan(id)))
	w.same("quarantine", "time_zone: no such zone", w.row(id).Quarantine)
	p = w.plan(id)
	p.Unpin = true
	w.commit(w.window(at(180), p))
	w.same("quarantine after a commit that covered it", "", w.row(id).Quarantine)
	w.same("settled until", at(180), w.unsettled(id))
}

// PROTOCOL A1: a removed schedule is listed until what it owed is settled, and never again.
func testRemovedScheduleIsCovered(w *world) {
	id := w.declare("minutely")
	w.clk.Advance(time.Minute)
	w.file()
	row := w.row(id)
	w.same("deleted", true, row.Deleted)
	w.same("dirty", true, row.Dirty)
	p := w.plan(id)
	p.Gaps, p.Unpin = []run.Gap{w.gap(id, run.Removed, at(0), at(0), 1)}, true
	w.commit(w.window(at(60), p))
	w.same("rows", 0, len(w.rows()))
	w.same("dirty rows", 0, len(w.dirty()))
}
