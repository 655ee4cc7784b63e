package storetest

import (
	"context"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

var commitTests = []test{
	{"keeps every field of runs and gaps", testCommitKeepsEveryField},
	{"is all or nothing", testCommitIsAllOrNothing},
	{"is fenced by token, epoch and nonce", testCommitIsFenced},
	{"finds nothing to change when it comes too late", testLateNodeChangesNothing},
	{"does not reach beyond the store's clock", testCommitRefusesTheHorizon},
	{"never moves the watermark back", testCommitNeverRewinds},
	{"counts an occurrence that exists and does nothing", testDuplicateIsCounted},
	{"counts an occurrence that has ended", testEndedRunKeepsItsOccurrence},
	{"gives only scheduled runs an occurrence", testOtherKindsTakeNoOccurrence},
	{"is poisoned by a gap that exists", testGapConflictIsPoison},
	{"is poisoned by a run that stands for something else", testRunConflictIsPoison},
	{"writes nothing when its caller has gone", testCommitOfAGoneCaller},
}

// gap is a closed gap as a planner makes it.
func (w *world) gap(id schedule.ID, reason run.Reason, first, last time.Time, count int) run.Gap {
	return run.Gap{
		ID: run.GapID(w.newID()), Schedule: id, Revision: 1, Reason: reason, First: first, Last: last, Count: count, Epoch: 1,
	}
}

func (w *world) sameGap(first, last time.Time, count int, got run.Gap) {
	w.Helper()
	w.same("first instant of the gap", first, got.First)
	w.same("last instant of the gap", last, got.Last)
	w.same("count of the gap", count, got.Count)
	w.same("gap is open", false, got.Open)
}

func testCommitKeepsEveryField(w *world) {
	id := w.declare("minutely")
	r := w.due(id, at(60.000001), func(r *run.Run) {
		r.Tenant, r.Revision, r.ReadyAt, r.Pool, r.LockKey, r.Overlap = "acme", 3, at(61), "batch", "key", schedule.OverlapSkip
		r.MaxAttempts, r.MaxDeliveries, r.OnLost, r.Backoff = 4, 6, schedule.OnLostFail, 90*time.Second
		r.Misfire = &run.Misfire{Policy: schedule.MisfireOnce, Superseded: 7, Gap: "gap_x"}
	})
	g := w.gap(id, run.Superseded, at(-120), at(-60.000001), 2)
	g.Tenant, g.Revision, g.Policy, g.Run, g.ZoneRelease = "acme", 3, schedule.MisfireOnce, r.ID, "2026a"
	p := w.plan(id, r)
	p.Gaps = []run.Gap{g}
	w.clk.Advance(time.Second)
	w.same("committed", store.Committed{Inserted: 1}, w.commit(w.window(at(120), p)))
	r.CreatedAt, r.ScheduleName = at(1), "minutely"
	w.same("run", r, w.run(r.ID))
	g.CreatedAt, g.ScheduleName = at(1), "minutely"
	w.same("gaps", []run.Gap{g}, w.allGaps(store.GapQuery{}))
	got, _, err := w.For(0).Load(w.Context())
	w.must(err)
	w.same("claim", w.claim, got)
}

// R-TX-1, R-TX-7, R-KEY-2, P5: the last of many things to write cannot be written; the others are not there, either.
func testCommitIsAllOrNothing(w *world) {
	a, b, changed := w.declare("a"), w.declare("b"), w.declare("changed")
	taken := w.plan(b)
	taken.Gaps = []run.Gap{w.gap(b, run.Missed, at(60), at(60), 1)}
	w.commit(w.window(at(60), taken))
	before := w.rows()

	good, stale, bad := w.plan(a, w.due(a, at(120))), w.plan(changed), w.plan(b, w.due(b, at(120)))
	good.Gaps = []run.Gap{w.gap(a, run.Missed, at(60), at(60), 1)}
	good.Pin, good.OpenedAt, good.Quarantine = at(30), at(1), "broken"
	stale.Change++
	bad.Gaps = []run.Gap{w.gap(b, run.Missed, at(60), at(61), 1)} // the key of the one that exists
	c := w.window(at(180), good, stale, bad)
	c.Arrears = []store.Arrears{{From: at(0), To: at(60), OpenedAt: at(1)}}
	_, err := w.Commit(w.Context(), c)
	w.mustBe(store.ErrPoison, err)

	got, _, err := w.For(0).Load(w.Context())
	w.must(err)
	w.same("claim", w.claim, got)
	w.same("runs", 0, len(w.allRuns(store.RunQuery{})))
	w.same("gaps", 1, len(w.allGaps(store.GapQuery{})))
	w.same("rows", before, w.rows())
	arrears, err := w.Arrears(w.Context(), 0)
	w.must(err)
	w.same("arrears", 0, len(arrears))

	// Without the culprit the same commit goes through: that is how it is found (PROTOCOL A8).
	c = w.window(at(180), good, stale)
	w.same("committed", store.Committed{Inserted: 1, LeftOut: []schedule.ID{changed}}, w.commit(c))
}

// R-LEAD-10, S-021, P4: a deposed planner commits late.
func testCommitIsFenced(w *world) {
	id := w.declare("minutely")
	for name, edit := range map[string]func(*timeline.Claim){
		"token": func(c *timeline.Claim) { c.Token = "another" },
		"epoch": func(c *timeline.Claim) { c.Epoch++ },
		"nonce": func(c *timeline.Claim) { c.Nonce = "stale" },
	} {
		p := w.plan(id, w.due(id, at(60)))
		p.Gaps, p.Pin = []run.Gap{w.gap(id, run.Missed, at(1), at(1), 1)}, at(-5)
		c := w.window(at(120), p)
		edit(&c.Old)
		_, err := w.Commit(w.Context(), c)
		w.mustBe(store.ErrFenced, err)
		w.same("runs after a commit with another "+name, 0, len(w.allRuns(store.RunQuery{})))
		w.same("gaps after a commit with another "+name, 0, len(w.allGaps(store.GapQuery{})))
		w.same("pin after a commit with another "+name, time.Time{}, w.row(id).Pin)
	}
	empty := store.Commit{Shard: 1, Old: w.claim, Next: w.next(), Lead: never}
	_, err := w.Commit(w.Context(), empty)
	w.mustBe(store.ErrFenced, err) // nobody has ever claimed that shard
	got, _, err := w.For(0).Load(w.Context())
	w.must(err)
	w.same("claim", w.claim, got)
}

// S-021, P4: one node plans and takes an occurrence and pauses. Meanwhile another one leads, takes the run over, ends an
// attempt, is handed the same run again and ends it; the row looks claimable, claimed and ended in turn. Whatever the
// first one then does by what it knew changes no row.
func testLateNodeChangesNothing(w *world) {
	id, one := w.declare("minutely"), w.node()
	theRun := w.due(id, at(0), func(r *run.Run) { r.MaxAttempts = 3 })
	w.insert(id, theRun)
	stale := w.takeOne(one)
	late := w.window(at(120), w.plan(id, w.due(id, at(0)), w.due(id, at(60))))

	w.recover(one)
	w.commit(w.window(at(0), w.plan(id)))
	two := w.node()
	for _, status := range []run.Status{run.RetryScheduled, run.Succeeded} {
		h := w.takeOne(two)
		w.begin(h)
		w.same("refused meanwhile", []store.Refused{{Held: stale, Status: run.Running}}, w.send(w.outcome(stale, run.Failed)))
		o := w.outcome(h, status)
		o.ReadyAt = w.clk.Now()
		w.settle(o)
	}
	before, attempts, history := w.is(theRun.ID, run.Succeeded), w.attempts(theRun.ID), w.history(theRun.ID)

	_, err := w.Commit(w.Context(), late)
	w.mustBe(store.ErrFenced, err)
	lost, err := w.Start(w.Context(), []store.Started{{Held: stale, At: w.clk.Now()}})
	w.must(err)
	w.same("may not start", []store.Held{stale}, lost)
	w.same("refused", []store.Refused{{Held: stale, Status: run.Succeeded}}, w.send(w.outcome(stale, run.Failed)))
	w.must(w.Release(w.Context(), []store.Held{stale}))
	_, err = w.Take(w.Context(), store.Take{Node: one, Pools: []store.PoolRoom{{Pool: "default", Free: 1}}})
	w.mustBe(store.ErrLost, err)
	w.same("run", before, w.run(theRun.ID))
	w.same("attempts", attempts, w.attempts(theRun.ID))
	w.same("history", history, w.history(theRun.ID))
	w.same("runs", 1, len(w.allRuns(store.RunQuery{Schedule: id})))
	w.same("gaps", 0, len(w.allGaps(store.GapQuery{Schedule: id})))
}

// PROTOCOL A9, R-LEAD-16: a planner whose clock runs ahead cannot settle what has not happened, by the store's clock.
func testCommitRefusesTheHorizon(w *world) {
	id := w.declare("minutely")
	c := w.window(at(3.000001), w.plan(id, w.due(id, at(3))))
	c.Lead = 2 * time.Second
	_, err := w.Commit(w.Context(), c)
	w.mustBe(store.ErrHorizon, err)
	w.same("runs", 0, len(w.allRuns(store.RunQuery{})))
	got, _, err := w.For(0).Load(w.Context())
	w.must(err)
	w.same("claim", w.claim, got)

	c.Next.CoveredUntil = at(3) // the lead and one second
	w.same("committed", 1, w.commit(c).Inserted)
}

// P3
func testCommitNeverRewinds(w *world) {
	id := w.declare("minutely")
	w.commit(w.window(at(60)))
	c := w.window(at(60), w.plan(id, w.due(id, at(1))))
	c.Next.CoveredUntil = at(59.999999)
	if _, err := w.Commit(w.Context(), c); err == nil {
		w.Error("the watermark was moved back without an error")
	}
	w.same("runs", 0, len(w.allRuns(store.RunQuery{})))
	got, _, err := w.For(0).Load(w.Context())
	w.must(err)
	w.same("claim", w.claim, got)
}

// R-KEY-2, R-KEY-3, R-KEY-8, R-KEY-18, R-TX-2, R-TX-8, P2: planning again what exists is a no-op, counted, and no error; the
// rest of the commit goes through.
func testDuplicateIsCounted(w *world) {
	id := w.declare("minutely")
	first := w.due(id, at(60))
	w.insert(id, first)
	again, other := w.due(id, at(60), func(r *run.Run) { r.Pool = "another" }), w.due(id, at(120))
	twin := w.due(id, at(120)) // twice in one commit
	w.same("committed", store.Committed{Inserted: 1, Duplicate: 2}, w.commit(w.window(at(180), w.plan(id, again, other, twin))))
	w.same("pool of the first one", "default", w.run(first.ID).Pool)
	w.gone(again.ID)
	w.gone(twin.ID)
	w.same("runs", 2, len(w.allRuns(store.RunQuery{})))
}

// R-KEY-4, R-KEY-19: a run in any status, ended ones included, keeps its occurrence.
func testEndedRunKeepsItsOccurrence(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)))
	w.settle(w.outcome(w.takeOne(node), run.Failed))
	w.same("committed", store.Committed{Duplicate: 1}, w.commit(w.window(at(60), w.plan(id, w.due(id, at(0))))))
}

// PROTOCOL A10a: a run by hand or by backfill shares schedule and instant with the scheduled one, and settles nothing.
func testOtherKindsTakeNoOccurrence(w *world) {
	id := w.declare("minutely")
	manual := func(r *run.Run) { r.Kind = run.Manual }
	w.insert(id, w.due(id, at(60), manual), w.due(id, at(60)), w.due(id, at(60), manual), w.due(id, at(60), func(r *run.Run) { r.Kind = run.Backfill }))
	settled, err := w.Settled(w.Context(), id, start, at(120))
	w.must(err)
	w.same("settled", store.Settled{Runs: []time.Time{at(60)}}, settled)
}

// PROTOCOL A8: swallowing it would lose the occurrences that the new gap accounts for.
func testGapConflictIsPoison(w *world) {
	a, b := w.declare("a"), w.declare("b")
	put := func(gaps ...run.Gap) error {
		p := w.plan(a)
		p.Gaps = gaps
		c := w.window(time.Time{}, p)
		_, err := w.Commit(w.Context(), c)
		if err == nil {
			w.claim = c.Next
		}
		return err
	}
	first := w.gap(a, run.Missed, at(60), at(120), 2)
	w.must(put(first))
	w.mustBe(store.ErrPoison, put(w.gap(a, run.Missed, at(60), at(180), 3)))
	w.mustBe(store.ErrPoison, put(w.gap(a, run.TooOld, at(240), at(240), 1), w.gap(a, run.TooOld, at(240), at(300), 2)))
	sameID := w.gap(a, run.Missed, at(600), at(600), 1)
	sameID.ID = first.ID
	w.mustBe(store.ErrPoison, put(sameID))
	w.same("gaps", 1, len(w.allGaps(store.GapQuery{})))
	// Another reason, first instant or schedule is another gap.
	w.must(put(w.gap(a, run.Superseded, at(60), at(60), 1), w.gap(a, run.Missed, at(180), at(180), 1), w.gap(b, run.Missed, at(60), at(60), 1)))
}

// A conflict is a no-op only against the same schedule and occurrence (PROTOCOL A10).
func testRunConflictIsPoison(w *world) {
	a, b := w.declare("a"), w.declare("b")
	first := w.due(a, at(60))
	w.insert(a, first)
	for name, edit := range map[string]func(*run.Run){
		"instant":  func(r *run.Run) { r.Due = at(120) },
		"schedule": func(r *run.Run) { r.Schedule = b },
		"kind":     func(r *run.Run) { r.Kind = run.Manual },
	} {
		again := first
		edit(&again)
		_, err := w.Commit(w.Context(), w.window(time.Time{}, w.plan(again.Schedule, again)))
		w.mustBe(store.ErrPoison, err)
		w.same("runs after another "+name, 1, len(w.allRuns(store.RunQuery{})))
	}
}

func testCommitOfAGoneCaller(w *world) {
	id := w.declare("minutely")
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	if _, err := w.Commit(ctx, w.window(at(60), w.plan(id, w.due(id, at(30))))); err == nil {
		w.Error("committed for a caller that had gone")
	}
	w.same("runs", 0, len(w.allRuns(store.RunQuery{})))
}
