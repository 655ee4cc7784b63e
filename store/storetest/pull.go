package storetest

import (
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// Definitions that were written by a clock 26 hours ahead, which was then put right (PROTOCOL A9, P1, P8).
var pullTests = []test{
	{"brings new and edited schedules to the clock", testCorrectPullsDefinitionsBack},
	{"leaves a watermark behind the clock alone", testCorrectLeavesAnEarlierWatermark},
	{"leaves alone what did not change later", testCorrectLeavesThePastAlone},
	{"keeps what never was in force readable", testCorrectKeepsSpecsThatNeverApplied},
	{"finds its instant taken", testCorrectAtTheBeginOfASpan},
	{"brings a pause to the clock", testCorrectPullsAPauseBack},
	{"takes back the count of a pause that ended ahead", testCorrectPullsAResumeBack},
	{"brings a removal to the clock", testCorrectPullsARemovalBack},
	{"takes back what was planned from it", testCorrectUnplans},
	{"has nothing more to do the second time", testCorrectTwiceIsOnce},
	{"comes first when a schedule of the future changes", testChangePullsBackFirst},
	{"comes first when a schedule of the future is paused or resumed", testPausePullsBackFirst},
	{"does not come for a small step of the clock", testChangeFollowsASmallStep},
}

const wrong = 26 * time.Hour

// ahead lets a clock run far ahead while something happens.
func (w *world) ahead(f func()) {
	w.Helper()
	w.clk.Step(wrong)
	f()
	w.clk.Step(-wrong)
}

// correct corrects to an instant as a planner does that found the ledger ahead of it.
func (w *world) correct(to time.Time) {
	w.Helper()
	w.lead()
	next := w.next()
	next.Epoch++
	next.CoveredUntil = to
	w.must(w.Correct(w.Context(), 0, w.claim, next, to))
	stored, _, err := w.For(0).Load(w.Context())
	w.must(err)
	w.same("epoch", next.Epoch, stored.Epoch)
	w.same("nonce", next.Nonce, stored.Nonce)
	w.claim = stored
}

// uncovered adds or edits schedules while nobody plans.
func (w *world) uncovered(items ...schedule.Schedule) store.Applied {
	w.Helper()
	return w.apply(store.Apply{Origin: schedule.OriginFile, Keep: true, Items: items, By: "tester"})
}

func testCorrectPullsDefinitionsBack(w *world) {
	old := w.declare("old")
	w.clk.Advance(time.Minute)
	before := w.row(old)
	var fresh schedule.ID
	w.ahead(func() {
		fresh = w.uncovered(w.item("old", time.Hour), w.item("new", time.Minute)).Created[0]
	})
	w.correct(at(60))
	w.same("spans of the edited one", []schedule.Span{{Revision: 1, From: at(0), To: at(60)}, {Revision: 2, From: at(60)}}, w.stretches(old))
	w.same("spans of the new one", []schedule.Span{{Revision: 1, From: at(60)}}, w.stretches(fresh))
	for _, id := range []schedule.ID{old, fresh} {
		row := w.row(id)
		w.same("pin", at(60), row.Pin)
		w.same("dirty", true, row.Dirty)
		w.same("settled until", at(0), w.unsettled(id)) // the watermark's
	}
	if row := w.row(old); row.Change < before.Change+2 {
		w.Errorf("change went from %d to %d by an edit and a correction", before.Change, row.Change)
	}
	shown := w.schedule("new")
	w.same("created", at(60), shown.CreatedAt)
	w.same("updated", at(60), shown.UpdatedAt)
	w.same("in force since", at(60), shown.ValidFrom)
	w.same("created long ago", at(0), w.schedule("old").CreatedAt)
	w.clk.Advance(time.Second)
	done := w.file(w.item("old", 2*time.Hour), w.item("new", time.Minute))
	w.same("instant of the next edit", at(61), done.At)
	w.same("in force now", []schedule.Span{{Revision: 3, From: at(61)}}, openSpans(w.stretches(old)))
}

func testCorrectLeavesAnEarlierWatermark(w *world) {
	id := w.declare("minutely")
	w.commit(w.window(at(60)))
	w.clk.Advance(time.Hour)
	w.ahead(func() { w.uncovered(w.item("minutely", time.Hour)) })
	w.correct(at(3600))
	w.same("watermark", at(60), w.claim.CoveredUntil)
	w.same("settled until", at(60), w.unsettled(id))
	w.same("spans", []schedule.Span{{Revision: 1, From: at(0), To: at(3600)}, {Revision: 2, From: at(3600)}}, w.stretches(id))
}

func testCorrectLeavesThePastAlone(w *world) {
	id := w.declare("past")
	w.clk.Advance(time.Second)
	w.pause(w.declare("paused"))
	w.clk.Advance(time.Second)
	ahead := w.insert(id, w.due(id, at(60)))[0]
	before := w.rows()
	w.correct(w.clk.Now())
	after := w.rows()
	w.same("rows", before, after)
	w.is(ahead, run.Pending)
}

// Two edits and a pause of the future: the revision between never applies, but runs may tell of it.
func testCorrectKeepsSpecsThatNeverApplied(w *world) {
	id := w.declare("s")
	w.clk.Advance(time.Minute)
	between, last := w.item("s", 2*time.Minute), w.item("s", 3*time.Minute)
	w.ahead(func() {
		w.uncovered(between)
		w.clk.Advance(time.Second)
		w.pause(id)
		w.clk.Advance(time.Second)
		w.resume(id, false)
		w.clk.Advance(time.Second)
		w.uncovered(last)
	})
	w.correct(at(63))
	w.same("spans", []schedule.Span{{Revision: 1, From: at(0), To: at(63)}, {Revision: 3, From: at(63)}}, w.stretches(id))
	for revision, item := range map[uint64]schedule.Schedule{2: between, 3: last} {
		spec, err := w.Revision(w.Context(), id, revision)
		w.must(err)
		w.same("spec", string(w.encode(item.Spec)), string(spec))
	}
	w.sameSpec(last.Spec, w.schedule("s").Spec)
	w.clk.Advance(wrong) // the instants of the wrong clock come, and are as good as any
	w.same("instant", at(63).Add(wrong), w.file(w.item("s", 4*time.Minute)).At)
}

func testCorrectAtTheBeginOfASpan(w *world) {
	id := w.declare("s")
	w.ahead(func() { w.uncovered(w.item("s", 2*time.Minute)) })
	w.correct(at(0))
	w.same("spans", []schedule.Span{{Revision: 1, From: at(0), To: at(0.000001)}, {Revision: 2, From: at(0.000001)}}, w.stretches(id))
	w.same("pin", at(0), w.row(id).Pin)
	w.ahead(func() { w.uncovered(w.item("s", 3*time.Minute)) })
	w.correct(at(0.000001))
	w.same("in force", []schedule.Span{{Revision: 3, From: at(0.000002)}}, openSpans(w.stretches(id)))
}

func testCorrectPullsAPauseBack(w *world) {
	id, edited := w.declare("minutely"), w.declare("edited")
	w.clk.Advance(30 * time.Second)
	w.pause(edited)
	w.clk.Advance(30 * time.Second)
	var born schedule.ID
	w.ahead(func() {
		w.pause(id)
		born = w.uncovered(w.item("born", time.Minute, paused)).Created[0]
		w.uncovered(w.item("edited", 2*time.Minute)) // which begins its gap anew
	})
	w.correct(at(60))
	w.same("spans", []schedule.Span{{Revision: 1, From: at(0), To: at(60)}}, w.stretches(id))
	w.same("spans of one born paused", 0, len(w.stretches(born)))
	w.same("paused since", at(60), w.schedule("minutely").Pause.At)
	w.same("born paused since", at(60), w.schedule("born").Pause.At)
	w.same("paused before", at(30), w.schedule("edited").Pause.At)
	w.clk.Advance(2 * time.Minute) // 10:01 and 10:02 are held back
	for _, id := range []schedule.ID{id, born} {
		g := w.oneGap(id)
		w.same("open", true, g.Open)
		w.same("count", 2, g.Count)
	}
	w.same("counted by the new revision", 1, w.oneGap(edited).Count) // 10:02
	w.same("instant", at(180), w.resume(id, true))
	w.same("resumed", []schedule.Span{{Revision: 1, From: at(0)}}, w.stretches(id))
	w.same("pin", at(60), w.row(id).Pin)
	w.same("instant", at(180), w.resume(edited, true))
	w.same("resumed by the edit", []schedule.Span{{Revision: 1, From: at(0), To: at(30)}, {Revision: 2, From: at(60)}}, w.stretches(edited))
}

func testCorrectPullsAResumeBack(w *world) {
	id := w.declare("minutely")
	w.clk.Advance(30 * time.Second)
	w.pause(id)
	w.clk.Advance(2 * time.Minute)
	w.ahead(func() { w.resume(id, false) })
	w.correct(at(150))
	w.sameGap(at(60), at(120), 2, w.oneGap(id))
	w.same("spans", []schedule.Span{{Revision: 1, From: at(0), To: at(30)}, {Revision: 1, From: at(150)}}, w.stretches(id))
}

func testCorrectPullsARemovalBack(w *world) {
	id := w.declare("minutely")
	w.clk.Advance(time.Minute)
	w.ahead(func() { w.file() })
	w.correct(at(60))
	row := w.row(id)
	w.same("removed", true, row.Deleted)
	w.same("spans", []schedule.Span{{Revision: 1, From: at(0), To: at(60)}}, w.stretches(id))
	w.same("pin", at(60), row.Pin)
	w.clk.Advance(time.Second)
	w.same("declared again", []schedule.ID{id}, w.file(w.item("minutely", time.Minute)).Created)
	w.same("spans", []schedule.Span{{Revision: 1, From: at(0), To: at(60)}, {Revision: 2, From: at(61)}}, w.stretches(id))
}

// What the old revision had planned beyond the clock goes with it; what has started, or was due before, stays.
func testCorrectUnplans(w *world) {
	id, other, node := w.declare("minutely"), w.declare("other"), w.node()
	theirs := w.insert(other, w.due(other, at(120)))[0]
	early := func(r *run.Run) { r.ReadyAt = start }
	running := w.insert(id, w.due(id, at(180), early))[0]
	w.begin(w.takeOne(node))
	claimed := w.insert(id, w.due(id, at(120), early))[0]
	w.takeOne(node)
	before, pending := w.insert(id, w.due(id, at(59)))[0], w.insert(id, w.due(id, at(60)))[0]
	manual := w.insert(id, w.due(id, at(120), func(r *run.Run) { r.Kind = run.Manual }))[0]
	w.clk.Advance(time.Minute)
	w.ahead(func() { w.same("unplanned by the edit", 0, w.uncovered(w.item("minutely", time.Hour)).Unplanned) })
	w.correct(at(60))
	w.gone(pending)
	w.gone(claimed)
	w.is(running, run.Running)
	for _, id := range []run.ID{theirs, before, manual} {
		w.is(id, run.Pending)
	}
}

func testCorrectTwiceIsOnce(w *world) {
	w.declare("minutely")
	w.clk.Advance(time.Minute)
	w.ahead(func() { w.uncovered(w.item("minutely", time.Hour), w.item("new", time.Hour)) })
	w.correct(at(60))
	rows := w.rows()
	w.correct(at(60.5))
	w.same("rows", rows, w.rows())
}

// An edit after the clock was put right takes effect now and not behind one of the future.
func testChangePullsBackFirst(w *world) {
	old, gone := w.declare("old"), w.declare("gone")
	pending := w.insert(old, w.due(old, at(120)))[0]
	w.clk.Advance(time.Minute)
	w.ahead(func() {
		w.uncovered(w.item("old", time.Hour), w.item("new", time.Hour))
		w.file(w.item("old", time.Hour), w.item("new", time.Hour))
	})
	done := w.uncovered(w.item("old", 2*time.Minute), w.item("gone", time.Minute))
	w.same("instant", at(60.000001), done.At)
	w.same("unplanned", 1, done.Unplanned)
	w.gone(pending)
	w.same("in force", []schedule.Span{{Revision: 3, From: at(60.000001)}}, openSpans(w.stretches(old)))
	w.same("in force again", []schedule.Span{{Revision: 2, From: at(60.000001)}}, openSpans(w.stretches(gone)))
	for _, id := range []schedule.ID{old, gone} {
		w.same("pin", at(60), w.row(id).Pin)
	}
	w.clk.Advance(time.Second)
	done = w.file(w.item("old", 2*time.Minute), w.item("gone", time.Minute)) // removes the one of the future
	w.same("instant", at(61.000001), done.At)
	w.same("removed", 1, len(done.Removed))
}

func testPausePullsBackFirst(w *world) {
	id := w.declare("minutely")
	w.clk.Advance(time.Minute)
	w.ahead(func() { w.uncovered(w.item("minutely", time.Hour)) })
	w.same("instant of the pause", at(60.000001), w.pause(id))
	w.clk.Advance(time.Minute)
	w.ahead(func() { w.resume(id, false) })
	w.same("instant of the pause", at(120.000001), w.pause(id))
	w.ahead(func() {
		w.resume(id, false)
		w.clk.Advance(time.Second)
		w.pause(id)
	})
	w.same("instant of the resumption", at(121.000001), w.resume(id, true))
	w.same("in force", 1, len(openSpans(w.stretches(id))))
	w.same("pause", (*schedule.Pause)(nil), w.schedule("minutely").Pause)
}

func testChangeFollowsASmallStep(w *world) {
	id := w.declare("minutely")
	w.clk.Advance(time.Minute)
	w.clk.Step(store.FarAhead)
	w.uncovered(w.item("minutely", time.Hour))
	w.clk.Step(-store.FarAhead)
	w.same("instant", at(65.000001), w.uncovered(w.item("minutely", 2*time.Minute)).At)
	w.same("spans", []schedule.Span{{Revision: 1, From: at(0), To: at(65)}, {Revision: 2, From: at(65), To: at(65.000001)},
		{Revision: 3, From: at(65.000001)}}, w.stretches(id))
}
