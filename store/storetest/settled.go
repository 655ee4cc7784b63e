package storetest

import (
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

var settledTests = []test{
	{"lists runs and gaps that dispose of a stretch", testSettledReadsRunsAndGaps},
	{"is up to the watermark, the pin and the backlogs", testUnsettledIsTheEarliest},
	{"is nothing before a planner has led", testNothingIsSettledWithoutAPlanner},
	{"backlogs are opened, moved on and closed", testArrears},
}

// PROTOCOL A10b: a stretch that is covered again is disposed of but for what is disposed of already.
func testSettledReadsRunsAndGaps(w *world) {
	id, other := w.declare("minutely"), w.declare("other")
	manual := w.due(id, at(180), func(r *run.Run) { r.Kind = run.Manual })
	p := w.plan(id, w.due(id, at(240)), w.due(id, at(60)), w.due(id, at(120)), w.due(id, at(300)), manual)
	early, late := w.gap(id, run.Missed, at(-120), at(60), 4), w.gap(id, run.TooOld, at(299.999999), at(420), 2)
	p.Gaps = []run.Gap{late, w.gap(id, run.Missed, at(300), at(300), 1), early, w.gap(id, run.Missed, at(0), at(59.999999), 1)}
	q := w.plan(other, w.due(other, at(120)))
	q.Gaps = []run.Gap{w.gap(other, run.Missed, at(60), at(300), 5)}
	w.commit(w.window(at(600), p, q))

	got, err := w.Settled(w.Context(), id, at(60), at(300))
	w.must(err)
	w.same("runs", []time.Time{at(60), at(120), at(240)}, got.Runs)
	slices.SortFunc(got.Gaps, func(a, b run.Gap) int { return a.First.Compare(b.First) })
	if len(got.Gaps) != 2 {
		w.Fatalf("%d gaps, want the two that reach into the stretch: %v", len(got.Gaps), got.Gaps)
	}
	for i, want := range []run.Gap{early, late} {
		w.same("gap", want.ID, got.Gaps[i].ID)
		w.same("reason", want.Reason, got.Gaps[i].Reason)
		w.sameGap(want.First, want.Last, want.Count, got.Gaps[i])
	}
}

// D9, PROTOCOL A3, A4: settled(s, t) means t < min(W, pin(s), arrears over s).
func testUnsettledIsTheEarliest(w *world) {
	a, b := w.declare("a"), w.declare("b")
	low, high := sorted([]schedule.ID{a, b})[0], sorted([]schedule.ID{a, b})[1]
	c := w.window(at(600))
	c.Arrears = []store.Arrears{{From: at(60), To: at(300), OpenedAt: at(600), Cursor: low}}
	w.commit(c)
	w.same("behind the cursor", at(600), w.unsettled(low))
	w.same("before the cursor", at(60), w.unsettled(high))

	for _, pin := range []float64{30, 90, 700} {
		p, q := w.plan(low), w.plan(high)
		p.Pin, q.Pin = at(pin), at(pin)
		w.commit(w.window(at(600), p, q))
		w.same("watermark and pin", at(min(600, pin)), w.unsettled(low))
		w.same("backlog and pin", at(min(60, pin)), w.unsettled(high))
	}
	_, err := w.Unsettled(w.Context(), schedule.ID(w.newID()))
	w.mustBe(store.ErrNotFound, err)
}

func testNothingIsSettledWithoutAPlanner(w *world) {
	id := w.file(w.item("minutely", time.Minute)).Created[0]
	w.same("settled until", time.Time{}, w.unsettled(id))
	_, led, err := w.Planner(w.Context(), 0)
	w.must(err)
	w.same("led", false, led)
}

// PROTOCOL A4: a backlog is cut by schedule; its record moves with the commits that work it off.
func testArrears(w *world) {
	arrears := func() []store.Arrears {
		w.Helper()
		got, err := w.Arrears(w.Context(), 0)
		w.must(err)
		return got
	}
	id := w.declare("minutely")
	older := store.Arrears{From: at(-600), To: at(-300.000001), OpenedAt: at(1)}
	newer := store.Arrears{From: at(-300.000001), To: at(0), OpenedAt: at(2), Cursor: schedule.ID{15: 9}}
	c := w.window(at(60))
	c.Arrears = []store.Arrears{newer, older}
	w.commit(c)
	w.same("opened", []store.Arrears{older, newer}, arrears())
	got, err := w.Arrears(w.Context(), 1)
	w.must(err)
	w.same("of another shard", 0, len(got))
	w.same("settled until", at(-600), w.unsettled(id))

	older.Cursor = id
	c = w.window(at(60))
	c.Arrears = []store.Arrears{older}
	w.commit(c)
	w.same("moved on", []store.Arrears{older, newer}, arrears())
	w.same("settled until, behind one cursor", at(-300.000001), w.unsettled(id))

	older.Done = true
	c = w.window(at(60))
	c.Arrears = []store.Arrears{older}
	w.commit(c)
	w.same("done", []store.Arrears{newer}, arrears())
}
