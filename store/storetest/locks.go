package storetest

import (
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

var lockTests = []test{
	{"skip what is ready while the lock is owned", testLockedRunIsSkipped},
	{"leave what is not ready alone", testLockedRunWaitsForItsInstant},
	{"skip within one answer", testLockWithinOneTake},
	{"last through retries", testLockIsKeptThroughRetries},
	{"last through recovery", testLockIsKeptThroughRecovery},
	{"end with the run", testLockEndsWithTheRun},
	{"end with a release of the first claim only", testLockAndRelease},
	{"never skip what runs by hand", testOtherKindsWaitForTheLock},
	{"are apart by tenant and by letter", testLocksAreApart},
	{"do not bind runs without a key", testNoKeyNoLock},
}

func locked(r *run.Run) { r.LockKey, r.Overlap = "sch:report", schedule.OverlapSkip }

// R-OVL-2, R-OVL-6, R-OVL-14, S-048: overlap is decided when the run would start; its row is the record of why it did
// not.
func testLockedRunIsSkipped(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0), locked))
	owner := w.takeOne(node)
	w.begin(owner)
	later := w.insert(id, w.due(id, at(60), locked))[0]
	w.clk.Advance(time.Minute)
	taken := w.take(node, 5)
	w.same("taken", 0, len(taken.Runs))
	w.same("skipped", []run.ID{later}, taken.Skipped)
	r := w.is(later, run.SkippedOverlap)
	if r.Reason == "" || !r.FinishedAt.Equal(at(60)) || r.Deliveries != 0 || r.Attempt != 0 {
		w.Errorf("a skipped run has reason %q, ended %s, %d deliveries, %d attempts", r.Reason, r.FinishedAt, r.Deliveries, r.Attempt)
	}
	w.lastEvent(later, run.Pending, run.SkippedOverlap)
	w.is(owner.Run, run.Running)
}

// Before its instant nothing is decided: the lock may be free by then. That holds for runs that would be skipped and for
// those that would wait.
func testLockedRunWaitsForItsInstant(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0), locked))
	owner := w.takeOne(node)
	manual := w.insert(id, w.due(id, at(0.7), locked, func(r *run.Run) { r.Kind = run.Manual }))[0]
	waits := w.insert(id, w.due(id, at(0.8), locked))[0]
	ask := store.Take{Node: node, Pools: []store.PoolRoom{{Pool: "default", Free: 5}}, Ahead: time.Second}
	taken := w.ask(ask)
	w.same("taken or skipped", 0, len(taken.Runs)+len(taken.Skipped))
	w.same("next", at(0.7), taken.Next)
	w.is(waits, run.Pending)
	w.settle(w.outcome(owner, run.Succeeded))
	w.same("taken once the lock is free", manual, w.ask(ask).Runs[0].ID)
}

// The lock binds inside one answer as well: the oldest gets it.
func testLockWithinOneTake(w *world) {
	id, node := w.declare("minutely"), w.node()
	ids := w.insert(id, w.due(id, at(0), locked), w.due(id, at(1), locked), w.due(id, at(2)))
	w.clk.Advance(time.Minute)
	taken := w.take(node, 5)
	w.same("skipped", []run.ID{ids[1]}, taken.Skipped)
	w.same("taken", 2, len(taken.Runs))
	w.same("first", ids[0], taken.Runs[0].ID)
	w.same("second", ids[2], taken.Runs[1].ID)
}

// PROTOCOL B7, D5: a run that waits for its retry holds no lease and keeps its lock, so that the next one cannot start
// beside it and its own retry is not skipped.
func testLockIsKeptThroughRetries(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0), locked, func(r *run.Run) { r.MaxAttempts = 3 }))
	owner := w.takeOne(node)
	o := w.outcome(owner, run.RetryScheduled)
	o.ReadyAt = at(120)
	w.settle(o)
	next := w.insert(id, w.due(id, at(60), locked))[0]
	w.clk.Advance(time.Minute)
	w.beat(node)
	w.same("skipped", []run.ID{next}, w.take(node, 5).Skipped)
	w.clk.Advance(time.Minute)
	w.beat(node)
	w.same("its retry", owner.Run, w.takeOne(node).Run)
}

func testLockIsKeptThroughRecovery(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0), locked))
	owner := w.takeOne(node)
	w.begin(owner)
	w.recover(node) // 11 s
	w.is(owner.Run, run.Pending)
	next := w.insert(id, w.due(id, at(-1), locked))[0] // ready before it
	other := w.node()
	taken := w.take(other, 5)
	w.same("skipped", []run.ID{next}, taken.Skipped)
	w.same("taken", 1, len(taken.Runs))
	w.same("delivered again", owner.Run, taken.Runs[0].ID)
}

// R-OVL-9: well or badly.
func testLockEndsWithTheRun(w *world) {
	id, node := w.declare("minutely"), w.node()
	for i, status := range []run.Status{run.Succeeded, run.Failed, run.Cancelled, run.DeadLetter} {
		w.insert(id, w.due(id, at(-float64(i)-1), locked))
		o := w.outcome(w.takeOne(node), status) // taken, not skipped: the one before freed the lock
		o.Answered = status == run.Succeeded || status == run.Failed
		w.settle(o)
	}
	// A recovery that makes the holder final frees it, too.
	w.insert(id, w.due(id, at(-10), locked, func(r *run.Run) { r.MaxDeliveries = 1 }))
	last := w.takeOne(node)
	w.recover(node)
	w.is(last.Run, run.DeadLetter)
	free := w.insert(id, w.due(id, at(-11), locked))[0]
	w.same("taken", free, w.takeOne(w.node()).Run)
}

// A claim that is given back leaves things as they were: the lock is free if that claim took it, and kept if an earlier
// one did.
func testLockAndRelease(w *world) {
	id, node := w.declare("minutely"), w.node()
	first := w.insert(id, w.due(id, at(0), locked, func(r *run.Run) { r.MaxAttempts = 3 }))[0]
	w.must(w.Release(w.Context(), []store.Held{w.takeOne(node)}))
	older := w.insert(id, w.due(id, at(-1), locked))[0]
	h := w.takeOne(node)
	w.same("taken after the release", older, h.Run)
	w.settle(w.outcome(h, run.Succeeded))

	o := w.outcome(w.takeOne(node), run.RetryScheduled)
	w.same("run", first, o.Run)
	o.ReadyAt = at(1)
	w.settle(o)
	w.clk.Advance(time.Second)
	w.must(w.Release(w.Context(), []store.Held{w.takeOne(node)}))
	w.is(first, run.Pending)
	next := w.insert(id, w.due(id, at(-2), locked))[0]
	taken := w.take(node, 5)
	w.same("skipped", []run.ID{next}, taken.Skipped)
	w.same("its retry", first, taken.Runs[0].ID)
}

// PROTOCOL B7: a backfill of a hundred under skip would otherwise give ninety-nine skips.
func testOtherKindsWaitForTheLock(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0), locked))
	owner := w.takeOne(node)
	manual := w.insert(id, w.due(id, at(-1), locked, func(r *run.Run) { r.Kind = run.Manual }))[0]
	taken := w.take(node, 5)
	w.same("taken or skipped", 0, len(taken.Runs)+len(taken.Skipped))
	w.is(manual, run.Pending)
	w.settle(w.outcome(owner, run.Succeeded))
	w.same("taken once the lock is free", manual, w.takeOne(node).Run)
}

// PROTOCOL B7, A10e, P9
func testLocksAreApart(w *world) {
	id, node := w.declare("minutely"), w.node()
	tenant := func(t, key string) func(*run.Run) {
		return func(r *run.Run) { r.Tenant, r.LockKey, r.Overlap = t, key, schedule.OverlapSkip }
	}
	w.insert(id, w.due(id, at(0), tenant("acme", "k")), w.due(id, at(-1), tenant("ACME", "k")), w.due(id, at(-2), tenant("acme ", "k")),
		w.due(id, at(-3), tenant("", "k")), w.due(id, at(-4), tenant("acme", "K")), w.due(id, at(-5), tenant("acme", "k ")))
	taken := w.take(node, 9)
	w.same("taken", 6, len(taken.Runs))
	w.same("skipped", 0, len(taken.Skipped))
}

// R-OVL-1
func testNoKeyNoLock(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)), w.due(id, at(-1)), w.due(id, at(-2)))
	w.same("taken", 3, len(w.take(node, 5).Runs))
}
