package storetest

import (
	"bytes"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

var applyTests = []test{
	{"creates", testApplyCreates},
	{"edits by a new revision and span", testApplyEdits},
	{"writes nothing for an equal definition", testEqualDefinitionWritesNothing},
	{"writes labels without a revision", testLabelsAreNoRevision},
	{"ignores a change of paused alone", testPausedIsReadOnlyOnce},
	{"removes what is named no more", testApplyRemoves},
	{"keeps the others when told so", testApplyKeeps},
	{"revives under the same ID", testApplyRevives},
	{"gives another ID to what people make again", testAPIScheduleIsAnotherOne},
	{"refuses a name of another origin", testNameOfAnotherOrigin},
	{"leaves other origins alone", testOriginsAreApart},
	{"gives every change a later instant", testChangesAreMonotone},
}

// D10, PROTOCOL A3: a schedule is covered from the instant it took effect.
func testApplyCreates(w *world) {
	w.clk.Advance(1500 * time.Microsecond)
	item := w.item("report", 90*time.Second, func(s *schedule.Spec) { s.Description = "d & <e>"; s.Pool = "batch" })
	item.Tenant, item.Labels, item.Annotations = "acme", map[string]string{"team": "ops"}, map[string]string{"note": "ü\n"}
	done := w.apply(store.Apply{Origin: schedule.OriginFile, Items: []schedule.Schedule{item}, By: "ops", Why: "first"})
	id := schedule.DeclaredID(schedule.OriginFile, "acme", "report")
	w.same("created", []schedule.ID{id}, done.Created)
	w.same("else", 0, len(done.Updated)+len(done.Removed)+done.Unchanged+done.Unplanned)
	w.same("instant", at(0.0015), done.At)

	items, _, err := w.Schedules(w.Context(), store.ScheduleQuery{Tenant: "acme"})
	w.must(err)
	if len(items) != 1 {
		w.Fatalf("%d schedules, want 1", len(items))
	}
	got := items[0]
	w.sameSpec(item.Spec, got.Spec)
	got.Spec = schedule.Spec{}
	w.same("schedule", schedule.Schedule{
		ID: id, Tenant: "acme", Name: "report", Origin: schedule.OriginFile, Revision: 1, Labels: item.Labels, Annotations: item.Annotations,
		ValidFrom: at(0.0015), Pin: at(0.0015), CreatedAt: at(0.0015), CreatedBy: "ops", UpdatedAt: at(0.0015), UpdatedBy: "ops",
	}, got)
	row := w.row(id)
	w.same("tenant of the row", "acme", row.Tenant)
	w.same("dirty", true, row.Dirty)
	w.same("pin", at(0.0015), row.Pin)
	w.same("spans", []schedule.Span{{Revision: 1, From: at(0.0015), Spec: w.encode(item.Spec)}}, row.Spans)
	w.same("dirty rows", []schedule.ID{id}, w.dirty())
	spec, err := w.Revision(w.Context(), id, 1)
	w.must(err)
	w.same("stored spec", string(w.encode(item.Spec)), string(spec))
}

func (w *world) encode(s schedule.Spec) []byte {
	w.Helper()
	text, err := schedule.EncodeSpec(s)
	w.must(err)
	return text
}

func (w *world) sameSpec(want, got schedule.Spec) {
	w.Helper()
	if a, b := w.encode(want), w.encode(got); !bytes.Equal(a, b) {
		w.Errorf("spec:\nwant %s\ngot  %s", a, b)
	}
}

// PROTOCOL A1: a definition is a list of revisions, each in force in its span.
func testApplyEdits(w *world) {
	id := w.declare("minutely")
	first := w.row(id)
	w.clk.Advance(time.Minute)
	item := w.item("minutely", 2*time.Minute)
	done := w.file(item)
	w.same("updated", []schedule.ID{id}, done.Updated)
	w.same("instant", at(60), done.At)
	row := w.row(id)
	if row.Change <= first.Change {
		w.Errorf("change went from %d to %d", first.Change, row.Change)
	}
	w.same("dirty", true, row.Dirty)
	w.same("pin", at(60), row.Pin)
	w.same("spans", []schedule.Span{
		{Revision: 1, From: start, To: at(60), Spec: first.Spans[0].Spec}, {Revision: 2, From: at(60), Spec: w.encode(item.Spec)},
	}, row.Spans)
	got := w.schedule("minutely")
	w.same("revision", uint64(2), got.Revision)
	w.same("in force from", at(60), got.ValidFrom)
	w.same("created", start, got.CreatedAt)
	w.same("updated", at(60), got.UpdatedAt)
	w.sameSpec(item.Spec, got.Spec)
	for revision, want := range [][]byte{first.Spans[0].Spec, w.encode(item.Spec)} {
		spec, err := w.Revision(w.Context(), id, uint64(revision+1))
		w.must(err)
		w.same("spec of a revision", string(want), string(spec))
	}
	_, err := w.Revision(w.Context(), id, 3)
	w.mustBe(store.ErrNotFound, err)
}

// S-074, D32, S-028: saving an unchanged schedule is no revision and takes nothing back.
func testEqualDefinitionWritesNothing(w *world) {
	id := w.declare("minutely")
	r := w.due(id, at(60))
	w.insert(id, r)
	before, shown := w.row(id), w.schedule("minutely")
	for range 20 {
		w.clk.Advance(time.Second)
		done := w.file(w.item("minutely", time.Minute))
		w.same("unchanged", 1, done.Unchanged)
		w.same("changed", 0, len(done.Created)+len(done.Updated)+len(done.Removed)+done.Unplanned)
	}
	w.same("row", before, w.row(id))
	got := w.schedule("minutely")
	w.sameSpec(shown.Spec, got.Spec)
	got.Spec, shown.Spec = schedule.Spec{}, schedule.Spec{}
	w.same("schedule", shown, got)
	w.is(r.ID, run.Pending)
}

func testLabelsAreNoRevision(w *world) {
	id := w.declare("minutely")
	r := w.due(id, at(60))
	w.insert(id, r)
	before := w.row(id)
	w.clk.Advance(time.Second)
	item := w.item("minutely", time.Minute)
	item.Labels, item.Annotations = map[string]string{"team": "ops"}, map[string]string{"note": "n"}
	w.file(item)
	got := w.schedule("minutely")
	w.same("labels", item.Labels, got.Labels)
	w.same("annotations", item.Annotations, got.Annotations)
	w.same("revision", uint64(1), got.Revision)
	w.same("row", before, w.row(id))
	w.is(r.ID, run.Pending)
	w.same("unchanged", 1, w.file(item).Unchanged)
}

// D20: whether a schedule of a file is paused belongs to the operators once it exists.
func testPausedIsReadOnlyOnce(w *world) {
	id := w.declare("minutely")
	before := w.row(id)
	w.clk.Advance(time.Second)
	w.same("unchanged", 1, w.file(w.item("minutely", time.Minute, paused)).Unchanged)
	w.same("row", before, w.row(id))
	if w.schedule("minutely").Pause != nil {
		w.Error("a file paused a schedule that exists")
	}
}

func paused(s *schedule.Spec) { s.Paused = true }

// PROTOCOL A1: removing ends the last span; what was owed until then still is.
func testApplyRemoves(w *world) {
	a, b := w.declare("a"), w.declare("b")
	w.clk.Advance(time.Minute)
	done := w.file(w.item("b", time.Minute))
	w.same("removed", []schedule.ID{a}, done.Removed)
	w.same("unchanged", 1, done.Unchanged)
	row := w.row(a)
	w.same("deleted", true, row.Deleted)
	w.same("dirty", true, row.Dirty)
	w.same("pin", at(60), row.Pin)
	w.same("spans", 1, len(row.Spans))
	w.same("end of the span", at(60), row.Spans[0].To)
	items, _, err := w.Schedules(w.Context(), store.ScheduleQuery{})
	w.must(err)
	w.same("live schedules", 1, len(items))
	w.same("which", b, items[0].ID)
	_, err = w.Pause(w.Context(), a, schedule.Pause{})
	w.mustBe(store.ErrNotFound, err)
	_, err = w.Resume(w.Context(), a, "tester", false)
	w.mustBe(store.ErrNotFound, err)
	// An emptied file removes all that it declared.
	w.same("removed", []schedule.ID{b}, w.file().Removed)
	w.same("removed again", 0, len(w.file().Removed))
}

func testApplyKeeps(w *world) {
	a, b := w.declare("a"), w.declare("b")
	done := w.apply(store.Apply{Origin: schedule.OriginFile, Keep: true, Items: []schedule.Schedule{w.item("b", time.Hour)}})
	w.same("updated", []schedule.ID{b}, done.Updated)
	w.same("removed", 0, len(done.Removed))
	w.same("revision of the one not named", uint64(1), w.schedule("a").Revision)
	w.same("dirty", false, w.row(a).Dirty)
}

// S-029, PROTOCOL A10d: deleted and declared again within 10 ms it lives, under the same ID and a new revision, and its
// runs of before keep their occurrences.
func testApplyRevives(w *world) {
	id := w.declare("minutely")
	ran := w.due(id, start)
	w.insert(id, ran)
	w.settle(w.outcome(w.takeOne(w.node()), run.Succeeded))
	w.clk.Advance(5 * time.Millisecond)
	w.file()
	w.clk.Advance(5 * time.Millisecond)
	done := w.file(w.item("minutely", time.Minute))
	w.same("revived", []schedule.ID{id}, append(done.Created, done.Updated...))
	got := w.schedule("minutely")
	w.same("ID", id, got.ID)
	w.same("revision", uint64(2), got.Revision)
	w.same("in force from", at(0.010), got.ValidFrom)
	w.same("deleted", time.Time{}, got.DeletedAt)
	row := w.row(id)
	w.same("deleted", false, row.Deleted)
	w.same("pin", at(0.005), row.Pin) // nobody has covered the removal
	w.same("dirty", true, row.Dirty)
	w.same("spans", 2, len(row.Spans))
	w.same("end of the first span", at(0.005), row.Spans[0].To)
	w.same("second span", schedule.Span{Revision: 2, From: at(0.010), Spec: row.Spans[0].Spec}, row.Spans[1])
	w.is(ran.ID, run.Succeeded)
	// It has a future: a planner that covers it may plan its next occurrence, and only once that of before.
	w.same("committed", store.Committed{Inserted: 1, Duplicate: 1},
		w.commit(w.window(at(60), w.plan(id, w.due(id, start), w.due(id, at(60))))))
}

// PROTOCOL A10: an ID never comes to mean another schedule.
func testAPIScheduleIsAnotherOne(w *world) {
	put := func(items ...schedule.Schedule) store.Applied {
		w.Helper()
		return w.apply(store.Apply{Origin: schedule.OriginAPI, Items: items})
	}
	first := put(w.item("report", time.Minute))
	w.same("created", 1, len(first.Created))
	w.clk.Advance(time.Second)
	w.same("updated", first.Created, put(w.item("report", time.Hour)).Updated)
	w.clk.Advance(time.Second)
	w.same("removed", first.Created, put().Removed)
	w.clk.Advance(time.Second)
	second := put(w.item("report", time.Minute))
	w.same("created", 1, len(second.Created))
	if first.Created[0] == second.Created[0] {
		w.Error("the ID of a removed schedule was given to another one")
	}
	w.same("revision", uint64(1), w.schedule("report").Revision)
}

func testNameOfAnotherOrigin(w *world) {
	w.apply(store.Apply{Origin: schedule.OriginAPI, Items: []schedule.Schedule{w.item("taken", time.Minute)}})
	w.declare("mine")
	before := w.rows()
	_, err := w.Apply(w.Context(), store.Apply{
		Origin: schedule.OriginFile, Items: []schedule.Schedule{w.item("new", time.Minute), w.item("taken", time.Hour)},
	})
	w.mustBe(store.ErrExists, err)
	w.same("rows", before, w.rows())
	w.same("origin", schedule.OriginAPI, w.schedule("taken").Origin)
	_, err = w.Apply(w.Context(), store.Apply{
		Origin: schedule.OriginFile, Items: []schedule.Schedule{w.item("twice", time.Minute), w.item("twice", time.Hour)},
	})
	w.mustBe(store.ErrExists, err)
	w.same("rows", before, w.rows())
	// In another tenant it is another name, and once it is free anybody may have it.
	item := w.item("taken", time.Minute)
	item.Tenant = "acme"
	w.same("created", 1, len(w.file(w.item("mine", time.Minute), item).Created))
	w.apply(store.Apply{Origin: schedule.OriginAPI})
	w.same("created", 1, len(w.file(w.item("mine", time.Minute), item, w.item("taken", time.Minute)).Created))
}

func testOriginsAreApart(w *world) {
	w.apply(store.Apply{Origin: schedule.OriginAPI, Items: []schedule.Schedule{w.item("theirs", time.Minute)}})
	w.file(w.item("mine", time.Minute))
	w.same("removed", 1, len(w.file().Removed))
	items, _, err := w.Schedules(w.Context(), store.ScheduleQuery{Origin: schedule.OriginAPI})
	w.must(err)
	w.same("schedules of the other origin", 1, len(items))
	items, _, err = w.Schedules(w.Context(), store.ScheduleQuery{Origin: schedule.OriginFile})
	w.must(err)
	w.same("schedules of this origin", 0, len(items))
}

// PROTOCOL A1: valid_from is monotone per schedule although the clock is not; spans never overlap. What a clock far ahead
// has written is the one exception, and pulled back (PROTOCOL A9).
func testChangesAreMonotone(w *world) {
	id := w.declare("minutely")
	var last time.Time
	for i, step := range []time.Duration{0, time.Second, 0, -4 * time.Second, 0, 2 * time.Hour} {
		w.clk.Step(step)
		done := w.file(w.item("minutely", time.Duration(i+2)*time.Minute))
		if !done.At.After(last) {
			w.Errorf("change %d took effect at %s, the one before at %s", i, done.At, last)
		}
		last = done.At
	}
	c, err := w.Pause(w.Context(), id, schedule.Pause{})
	w.must(err)
	r, err := w.Resume(w.Context(), id, "tester", false)
	w.must(err)
	removed := w.file()
	if !c.At.After(last) || !r.At.After(c.At) || !removed.At.After(r.At) {
		w.Errorf("edit, pause, resume, removal took effect at %s, %s, %s, %s", last, c.At, r.At, removed.At)
	}
	spans := w.row(id).Spans
	for i, s := range spans {
		if !s.From.Before(s.To) || i > 0 && s.From.Before(spans[i-1].To) {
			w.Errorf("span %d [%s, %s) overlaps the one before or is empty", i, s.From, s.To)
		}
	}
}
