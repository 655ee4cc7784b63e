package storetest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

var readerTests = []test{
	{"pages schedules by name", testPagesOfSchedules},
	{"pages runs, newest due first", testPagesOfRuns},
	{"pages gaps, newest first", testPagesOfGaps},
	{"bounds a page", testPageBounds},
	{"filters runs", testRunFilters},
	{"filters gaps", testGapFilters},
	{"finds the last run of each schedule", testLastRuns},
	{"says what it does not find", testNotFound},
	{"lists a schedule that cannot be read", testUnreadableSpec},
}

// walk reads a listing with pages of three; no page may be longer, and rows that come or go meanwhile do not matter.
func walk[T any](w *world, read func(store.Page) ([]T, string, error)) (all []T) {
	w.Helper()
	p := store.Page{Limit: 3}
	for range 100 {
		items, next, err := read(p)
		w.must(err)
		if len(items) > 3 {
			w.Fatalf("a page has %d items, want 3 at most", len(items))
		}
		all = append(all, items...)
		if next == "" {
			return all
		}
		p.After = next
	}
	w.Fatal("the listing does not end")
	return nil
}

func testPagesOfSchedules(w *world) {
	var items []schedule.Schedule
	names := []string{"b", "a", "c-10", "c-1", "c.1", "c_1", "d"}
	for _, name := range names {
		items = append(items, w.item(name, time.Hour))
	}
	w.file(items...)
	var got []string
	for _, s := range walk(w, func(p store.Page) ([]schedule.Schedule, string, error) {
		return w.Schedules(w.Context(), store.ScheduleQuery{Page: p})
	}) {
		got = append(got, s.Name)
	}
	slices.Sort(names) // by bytes
	w.same("names", names, got)
}

func testPagesOfRuns(w *world) {
	a, b := w.declare("a"), w.declare("b")
	for i := range 5 { // two runs for each instant, so that a page ends between equals
		w.insert(a, w.due(a, at(float64(i))))
		w.insert(b, w.due(b, at(float64(i))))
	}
	seen := map[run.ID]bool{}
	var last time.Time
	for i, r := range walk(w, func(p store.Page) ([]run.Run, string, error) { return w.Runs(w.Context(), store.RunQuery{Page: p}) }) {
		if seen[r.ID] || i > 0 && r.Due.After(last) {
			w.Errorf("run %d is due %s, after one due %s; seen before: %v", i, r.Due, last, seen[r.ID])
		}
		seen[r.ID], last = true, r.Due
	}
	w.same("runs", 10, len(seen))
}

func testPagesOfGaps(w *world) {
	id := w.declare("minutely")
	p := w.plan(id)
	for i := range 5 {
		p.Gaps = append(p.Gaps, w.gap(id, run.Missed, at(float64(i)), at(float64(i)), 1), w.gap(id, run.TooOld, at(float64(i)), at(float64(i)), 1))
	}
	w.commit(w.window(at(60), p))
	seen := map[run.GapID]bool{}
	var last time.Time
	for i, g := range walk(w, func(p store.Page) ([]run.Gap, string, error) { return w.Gaps(w.Context(), store.GapQuery{Page: p}) }) {
		if seen[g.ID] || i > 0 && g.First.After(last) {
			w.Errorf("gap %d begins %s, after one that begins %s; seen before: %v", i, g.First, last, seen[g.ID])
		}
		seen[g.ID], last = true, g.First
	}
	w.same("gaps", 10, len(seen))
}

// A page has 50 rows unless asked for, 1000 at most.
func testPageBounds(w *world) {
	id := w.declare("minutely")
	p := w.plan(id)
	for i := range 1001 {
		p.Runs = append(p.Runs, w.due(id, at(float64(i))))
	}
	w.commit(w.window(at(2000), p))
	for limit, want := range map[int]int{0: 50, 7: 7, 1000: 1000, 5000: 1000} {
		items, next, err := w.Runs(w.Context(), store.RunQuery{Page: store.Page{Limit: limit}})
		w.must(err)
		w.same(fmt.Sprintf("page for limit %d", limit), want, len(items))
		if next == "" {
			w.Errorf("limit %d: no way to the next page", limit)
		}
	}
}

func testRunFilters(w *world) {
	a, b, node := w.declare("a"), w.declare("b"), w.node()
	tenant := func(r *run.Run) { r.Tenant = "acme" }
	w.insert(a, w.due(a, at(0)), w.due(a, at(1)), w.due(a, at(2), func(r *run.Run) { r.Kind = run.Manual }), w.due(a, at(0), tenant))
	w.insert(b, w.due(b, at(3)), w.due(b, at(1), tenant))
	w.clk.Advance(500 * time.Millisecond)
	w.same("taken", 2, len(w.take(node, 9).Runs)) // both due at 10:00:00
	for name, c := range map[string]struct {
		q    store.RunQuery
		want int
	}{
		"all":             {store.RunQuery{}, 6},
		"tenant":          {store.RunQuery{Tenant: "acme"}, 2},
		"another tenant":  {store.RunQuery{Tenant: "Acme"}, 0},
		"schedule":        {store.RunQuery{Schedule: b}, 2},
		"unknown":         {store.RunQuery{Schedule: schedule.ID{1}}, 0},
		"status":          {store.RunQuery{Statuses: []run.Status{run.Claimed}}, 2},
		"statuses":        {store.RunQuery{Statuses: []run.Status{run.Claimed, run.Pending, run.Held}}, 6},
		"kind":            {store.RunQuery{Kind: run.Manual}, 1},
		"from":            {store.RunQuery{From: at(1)}, 4},
		"to":              {store.RunQuery{To: at(1)}, 2},
		"half-open":       {store.RunQuery{From: at(1), To: at(2)}, 2},
		"several of them": {store.RunQuery{Schedule: a, From: at(0), To: at(2), Kind: run.Scheduled, Statuses: []run.Status{run.Pending}}, 1},
	} {
		w.same("runs by "+name, c.want, len(w.allRuns(c.q)))
	}
}

func testGapFilters(w *world) {
	a, b := w.declare("a"), w.declare("b")
	p, q := w.plan(a), w.plan(b)
	p.Gaps = []run.Gap{w.gap(a, run.Missed, at(60), at(120), 2), w.gap(a, run.TooOld, at(300), at(300), 1)}
	theirs := w.gap(b, run.Missed, at(120), at(240), 3)
	theirs.Tenant = "acme"
	q.Gaps = []run.Gap{theirs}
	w.commit(w.window(at(600), p, q))
	for name, c := range map[string]struct {
		q    store.GapQuery
		want int
	}{
		"all":            {store.GapQuery{}, 3},
		"tenant":         {store.GapQuery{Tenant: "acme"}, 1},
		"another tenant": {store.GapQuery{Tenant: "acme "}, 0},
		"schedule":       {store.GapQuery{Schedule: a}, 2},
		"reason":         {store.GapQuery{Reason: run.Missed}, 2},
		"from":           {store.GapQuery{From: at(240)}, 2},
		"just after":     {store.GapQuery{From: at(240.000001)}, 1},
		"to":             {store.GapQuery{To: at(120)}, 1},
		"inside":         {store.GapQuery{From: at(61), To: at(119)}, 1},
		"several":        {store.GapQuery{Schedule: b, Reason: run.Missed, From: at(200), To: at(201)}, 1},
	} {
		w.same("gaps by "+name, c.want, len(w.allGaps(c.q)))
	}
	// A pause that goes on touches all that comes.
	w.pause(a)
	w.same("gaps with an open one", 1, len(w.allGaps(store.GapQuery{From: at(9000)})))
	w.same("gaps before it", 0, len(w.allGaps(store.GapQuery{To: start})))
	g := w.allGaps(store.GapQuery{Reason: run.TooOld})[0]
	w.same("name", "a", g.ScheduleName)
}

func testLastRuns(w *world) {
	a, b, none := w.declare("a"), w.declare("b"), w.declare("none")
	last := w.insert(a, w.due(a, at(2)), w.due(a, at(1)))[0]
	lastB := w.insert(b, w.due(b, at(3)))[0]
	w.insert(b, w.due(b, at(3600))) // planned ahead, and so nobody's last run
	w.clk.Advance(10 * time.Second)
	got, err := w.LastRuns(w.Context(), []schedule.ID{a, b, none, {9}})
	w.must(err)
	w.same("schedules with a last run", 2, len(got))
	w.same("last run", w.run(last), got[a])
	w.same("last run", w.run(lastB), got[b])
	got, err = w.LastRuns(w.Context(), []schedule.ID{b})
	w.must(err)
	w.same("schedules asked for", 1, len(got))
	got, err = w.LastRuns(w.Context(), nil)
	w.must(err)
	w.same("of no schedules", 0, len(got))
}

func testNotFound(w *world) {
	id := w.declare("minutely")
	w.gone(run.ID(w.newID()))
	_, err := w.Revision(w.Context(), schedule.ID(w.newID()), 1)
	w.mustBe(store.ErrNotFound, err)
	_, err = w.Revision(w.Context(), id, 2)
	w.mustBe(store.ErrNotFound, err)
	for _, name := range []string{"Minutely", "minutel", "minutely "} {
		items, _, err := w.Schedules(w.Context(), store.ScheduleQuery{Name: name})
		w.must(err)
		w.same("schedules by another name", 0, len(items))
	}
	if attempts, err := w.Attempts(w.Context(), run.ID(w.newID())); len(attempts) > 0 || err != nil && !errors.Is(err, store.ErrNotFound) {
		w.Errorf("attempts of an unknown run: %v, %v", attempts, err)
	}
	if events, err := w.History(w.Context(), run.ID(w.newID())); len(events) > 0 || err != nil && !errors.Is(err, store.ErrNotFound) {
		w.Errorf("history of an unknown run: %v, %v", events, err)
	}
}

// P6: one broken row hides neither itself nor the others, and can be mended, paused and removed. A spec that nobody
// validated stands for one that was edited by hand.
func testUnreadableSpec(w *world) {
	broken := w.item("broken", time.Minute)
	broken.Spec.TimeZone = "Nowhere/City"
	w.file(broken, w.item("sound", time.Minute))
	items, _, err := w.Schedules(w.Context(), store.ScheduleQuery{})
	w.must(err)
	w.same("listed", 2, len(items))
	w.same("rows", 2, len(w.rows()))
	id := items[0].ID
	w.pause(id)
	w.clk.Advance(time.Hour)
	w.allGaps(store.GapQuery{}) // whatever it counts
	w.resume(id, false)
	w.same("mended", []schedule.ID{id}, w.file(w.item("broken", time.Minute), w.item("sound", time.Minute)).Updated)
	w.sameSpec(w.item("broken", time.Minute).Spec, w.schedule("broken").Spec)
	w.file(broken)
	w.same("removed", []schedule.ID{id}, w.file().Removed)
}

var tenantTests = []test{
	{"have schedules of their own", testTenantsHaveTheirOwnSchedules},
	{"have occurrences of their own", testTenantsHaveTheirOwnOccurrences},
}

// alike are tenants that a careless collation takes for one (PROTOCOL A10e). A store keeps words as they are; which of
// them are allowed is decided elsewhere.
var alike = []string{"", "acme", "ACME", "Acme", "acme ", " acme", "acmé", "acme\u0301"}

// P9
func testTenantsHaveTheirOwnSchedules(w *world) {
	var items []schedule.Schedule
	for _, tenant := range alike {
		item := w.item("report", time.Minute)
		item.Tenant = tenant
		items = append(items, item)
	}
	w.same("created", len(alike), len(w.file(items...).Created))
	w.same("unchanged", len(alike), w.file(items...).Unchanged)
	for _, tenant := range alike {
		got, _, err := w.Schedules(w.Context(), store.ScheduleQuery{Tenant: tenant})
		w.must(err)
		if len(got) != 1 || got[0].Tenant != tenant {
			w.Errorf("tenant %q: %d schedules", tenant, len(got))
		}
	}
	removed := w.file(items[:1]...)
	w.same("removed", len(alike)-1, len(removed.Removed))
}

// R-KEY-3
func testTenantsHaveTheirOwnOccurrences(w *world) {
	id := w.declare("report")
	var runs []run.Run
	for _, tenant := range alike {
		runs = append(runs, w.due(id, at(60), func(r *run.Run) { r.Tenant = tenant }))
	}
	w.insert(id, runs...)
	for _, r := range runs {
		w.same("tenant", r.Tenant, w.run(r.ID).Tenant)
		if r.Tenant != "" {
			w.same("runs of a tenant", 1, len(w.allRuns(store.RunQuery{Tenant: r.Tenant})))
		}
	}
}
