package storetest

import (
	"errors"
	"time"

	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

var rowTests = []test{
	{"list every live schedule", testSnapshotListsLiveSchedules},
	{"keep a span as long as it may owe something", testSpansAreKeptWhileUnsettled},
	{"keep a removed schedule that a backlog has not come to", testRemovedScheduleInArrears},
	{"show a change that came late by its mark", testLateChangeIsFoundByItsMark},
	{"can be left at any row", testRowsCanBeLeft},
}

func testSnapshotListsLiveSchedules(w *world) {
	ids := w.file(w.item("a", time.Minute), w.item("b", time.Hour)).Created
	api := w.apply(store.Apply{Origin: schedule.OriginAPI, Items: []schedule.Schedule{w.item("c", time.Hour)}}).Created
	rows := w.rows()
	w.same("rows", 3, len(rows))
	w.same("dirty rows", sorted(append(ids, api...)), w.dirty())
	w.cover(ids[1])
	w.same("rows", 3, len(w.rows()))
	w.same("dirty rows", sorted([]schedule.ID{ids[0], api[0]}), w.dirty())
	for row, err := range w.Dirty(w.Context(), 0) {
		w.must(err)
		w.same("the same row in both forms", rows[row.ID], row)
	}
}

// PROTOCOL A1: a planner that starts after an outage needs every revision that was in force in it; and no others, or
// the list would grow for ever.
func testSpansAreKeptWhileUnsettled(w *world) {
	id := w.declare("s")
	w.clk.Advance(time.Minute)
	w.file(w.item("s", 2*time.Minute))
	w.clk.Advance(time.Minute)
	w.file(w.item("s", 3*time.Minute))
	revisions := func() (out []uint64) {
		w.Helper()
		for _, s := range w.row(id).Spans {
			out = append(out, s.Revision)
		}
		return out
	}
	w.same("watermark 10:00", []uint64{1, 2, 3}, revisions())
	p := w.plan(id)
	p.Unpin = true
	w.commit(w.window(at(59.999999), p))
	w.same("watermark just before the first edit", []uint64{1, 2, 3}, revisions())
	w.commit(w.window(at(60)))
	w.same("watermark at the first edit", []uint64{2, 3}, revisions())
	w.commit(w.window(at(600)))
	w.same("watermark behind both", []uint64{3}, revisions())
	p.Pin = at(119)
	w.commit(w.window(at(600), p))
	w.same("pin in the second one", []uint64{2, 3}, revisions())
	c := w.window(at(600))
	c.Arrears = []store.Arrears{{From: at(30), To: at(60), OpenedAt: at(60)}}
	w.commit(c)
	w.same("backlog in the first one", []uint64{1, 2, 3}, revisions())
}

// PROTOCOL A1, A4: what a removed schedule owed in a backlog is still to be decided, by whoever leads then.
func testRemovedScheduleInArrears(w *world) {
	id := w.declare("minutely")
	w.clk.Advance(time.Hour)
	backlog := store.Arrears{From: at(0), To: at(3600), OpenedAt: at(3600)}
	c := w.window(at(3600))
	c.Arrears = []store.Arrears{backlog}
	w.commit(c)
	w.clk.Advance(time.Second)
	w.file()
	p := w.plan(id)
	p.Unpin = true
	w.commit(w.window(at(3700), p))
	row := w.row(id)
	w.same("deleted", true, row.Deleted)
	w.same("spans", 1, len(row.Spans))
	backlog.Done = true
	c = w.window(at(3700))
	c.Arrears = []store.Arrears{backlog}
	w.commit(c)
	w.same("rows once the backlog is gone", 0, len(w.rows()))
}

// PROTOCOL A3: the transaction of a change may commit long after its instant, when planners have synced and covered
// beyond it. "Changed since" would pass it over; the mark does not, and the pin has it covered from its instant on.
func testLateChangeIsFoundByItsMark(w *world) {
	id := w.declare("s")
	c := w.window(at(600))
	c.Next.SyncedUntil = at(600)
	w.commit(c)
	w.clk.Advance(time.Second)
	other := w.file(w.item("s", time.Hour), w.item("new", time.Minute)).Created[0]
	w.same("dirty rows", sorted([]schedule.ID{id, other}), w.dirty())
	for _, changed := range []schedule.ID{id, other} {
		w.same("pin", at(1), w.row(changed).Pin)
		w.same("settled until", at(1), w.unsettled(changed))
	}
	w.same("spans of the edited one", []schedule.Span{{Revision: 2, From: at(1)}}, openSpans(w.stretches(id)))
}

func openSpans(spans []schedule.Span) (out []schedule.Span) {
	for _, s := range spans {
		if s.To.IsZero() {
			out = append(out, s)
		}
	}
	return out
}

// Whoever stops reading leaves nothing behind that would block a writer.
func testRowsCanBeLeft(w *world) {
	w.file(w.item("a", time.Minute), w.item("b", time.Minute))
	for _, err := range w.Snapshot(w.Context(), 0) {
		w.must(err)
		break
	}
	for _, err := range w.Dirty(w.Context(), 0) {
		w.must(err)
		if _, err := w.Now(w.Context()); err != nil { // other calls may be made meanwhile
			w.Error(err)
		}
	}
	w.same("unchanged", 2, w.file(w.item("a", time.Minute), w.item("b", time.Minute)).Unchanged)
	_, err := w.Store.Run(w.Context(), [16]byte{1})
	if !errors.Is(err, store.ErrNotFound) {
		w.Error(err)
	}
}
