package storetest

import (
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

var unplanTests = []test{
	{"edit takes back what is planned ahead", testEditUnplans},
	{"pause and removal take back, too", testPauseAndRemovalUnplan},
	{"frees the occurrence and the lock", testUnplannedOccurrenceCanBePlannedAgain},
	{"revokes a claimed run", testUnplanRevokesAClaimedRun},
	{"leaves alone what runs by hand or belongs to others", testUnplanLeavesOthersAlone},
	{"keeps an earlier pin", testChangeKeepsTheEarlierPin},
	{"removal cancels what was due already", testRemovalCancelsQueuedRuns},
}

// S-072, S-073, PROTOCOL A2: the planner has committed ahead of the clock when the schedule changes. What has not
// started goes, without a trace that could block it; what runs goes on, and the change says so.
func testEditUnplans(w *world) {
	id, node := w.declare("minutely"), w.node()
	dues := w.insert(id, w.due(id, at(10)), w.due(id, at(11)), w.due(id, at(12)), w.due(id, at(13)))
	w.clk.Advance(11*time.Second + 500*time.Millisecond)
	before := w.takeOne(node)             // due 10:00:10, claimed
	running := w.takeOne(node)            // due 10:00:11
	ahead := w.ask(store.Take{Node: node, // due 10:00:12, taken half a second early
		Pools: []store.PoolRoom{{Pool: "default", Free: 1}}, Ahead: time.Second}).Runs[0]
	w.begin(running)
	done := w.file(w.item("minutely", time.Hour))
	w.same("instant", at(11.5), done.At)
	w.same("unplanned", 2, done.Unplanned)
	w.same("not revoked", 0, len(done.NotRevoked)) // what runs was due before
	w.same("cancelled", 0, len(done.Cancelled))
	w.same("pin", at(11.5), w.row(id).Pin)
	w.is(dues[0], run.Claimed)
	w.is(dues[1], run.Running)
	w.gone(dues[2])
	w.gone(dues[3])
	w.begin(before)
	lost, err := w.Start(w.Context(), []store.Started{{Held: held(ahead), At: at(12)}})
	w.must(err)
	w.same("may not start", []store.Held{held(ahead)}, lost)
}

func testPauseAndRemovalUnplan(w *world) {
	a, b, node := w.declare("a"), w.declare("b"), w.node()
	early := func(r *run.Run) { r.ReadyAt = start } // so that it can run although it is due later
	started := w.insert(a, w.due(a, at(60), early))[0]
	h := w.takeOne(node)
	w.begin(h)
	planned := []run.ID{w.insert(a, w.due(a, at(30)))[0], w.insert(b, w.due(b, at(30)))[0]}
	c, err := w.Pause(w.Context(), a, schedule.Pause{})
	w.must(err)
	w.same("unplanned by the pause", 1, c.Unplanned)
	w.same("not revoked by the pause", []run.ID{started}, c.NotRevoked)
	w.gone(planned[0])
	w.is(started, run.Running)
	w.clk.Advance(time.Second)
	done := w.file(w.item("a", time.Minute))
	w.same("removed", []schedule.ID{b}, done.Removed)
	w.same("unplanned by the removal", 1, done.Unplanned)
	w.gone(planned[1])
	w.settle(w.outcome(h, run.Succeeded))
}

// PROTOCOL A2: an edit there and back again must not find its occurrence "already dispatched".
func testUnplannedOccurrenceCanBePlannedAgain(w *world) {
	id, node := w.declare("minutely"), w.node()
	locked := func(r *run.Run) { r.LockKey, r.ReadyAt = "key", start }
	w.insert(id, w.due(id, at(60), locked))
	w.takeOne(node)
	w.file(w.item("minutely", time.Hour))
	w.clk.Advance(time.Second)
	w.file(w.item("minutely", time.Minute))
	again := w.due(id, at(60), locked, func(r *run.Run) { r.Revision = 3 })
	w.insert(id, again)
	w.same("taken again", again.ID, w.takeOne(node).Run)
}

func testUnplanRevokesAClaimedRun(w *world) {
	id, node := w.declare("minutely"), w.node()
	planned := w.insert(id, w.due(id, at(60), func(r *run.Run) { r.ReadyAt = start }))[0]
	h := w.takeOne(node)
	lost, err := w.Lost(w.Context(), []store.Held{h})
	w.must(err)
	w.same("lost before the change", 0, len(lost))
	_, err = w.Pause(w.Context(), id, schedule.Pause{})
	w.must(err)
	lost, err = w.Lost(w.Context(), []store.Held{h})
	w.must(err)
	w.same("lost after the change", []store.Held{h}, lost)
	w.same("refused", []store.Refused{{Held: h}}, w.send(w.outcome(h, run.Succeeded)))
	w.gone(planned)
}

func testUnplanLeavesOthersAlone(w *world) {
	id, other := w.declare("minutely"), w.declare("other")
	manual := w.insert(id, w.due(id, at(60), func(r *run.Run) { r.Kind = run.Manual }))[0]
	theirs := w.insert(other, w.due(other, at(60)))[0]
	past := w.insert(id, w.due(id, at(-1)))[0]
	same := w.insert(id, w.due(id, at(1)))[0]
	w.clk.Advance(time.Second) // the change takes effect at the very instant that this one is due
	c, err := w.Pause(w.Context(), id, schedule.Pause{})
	w.must(err)
	w.same("unplanned", 1, c.Unplanned)
	w.gone(same)
	for _, id := range []run.ID{manual, theirs, past} {
		w.is(id, run.Pending)
	}
}

func testChangeKeepsTheEarlierPin(w *world) {
	id := w.declare("minutely")
	p := w.plan(id)
	p.Pin, p.OpenedAt = at(-600), at(-1)
	w.commit(w.window(at(1), p))
	w.clk.Advance(time.Minute)
	w.file(w.item("minutely", time.Hour))
	w.same("pin after the edit", at(-600), w.row(id).Pin)
	_, err := w.Pause(w.Context(), id, schedule.Pause{})
	w.must(err)
	w.same("pin after the pause", at(-600), w.row(id).Pin)
	w.file()
	w.same("pin after the removal", at(-600), w.row(id).Pin)
}

// S-075: one run is queued and one running. The queued one ends with a reason, the running one by its own rule; both
// stay in the record.
func testRemovalCancelsQueuedRuns(w *world) {
	id, node := w.declare("minutely"), w.node()
	locked := func(r *run.Run) { r.LockKey = "key" }
	running := w.insert(id, w.due(id, at(0), locked))[0]
	h := w.takeOne(node)
	w.begin(h)
	o := w.outcome(w.retried(id, node), run.RetryScheduled) // it failed once and waits for its retry
	o.ReadyAt = at(3600)
	w.settle(o)
	queued := w.insert(id, w.due(id, at(1)))[0]
	w.clk.Advance(2 * time.Second)
	done := w.file()
	w.same("cancelled", sorted([]run.ID{queued, o.Run}), sorted(done.Cancelled))
	w.lastEvent(o.Run, run.RetryScheduled, run.Cancelled)
	r := w.is(queued, run.Cancelled)
	if r.Reason == "" || r.FinishedAt.IsZero() {
		w.Errorf("a cancelled run has reason %q and ended %s", r.Reason, r.FinishedAt)
	}
	w.lastEvent(queued, run.Pending, run.Cancelled)
	w.is(running, run.Running)
	w.settle(w.outcome(h, run.Succeeded))
	w.is(running, run.Succeeded)
	w.same("runs in the record", 3, len(w.allRuns(store.RunQuery{Schedule: id})))
}

// retried is a run in hand that may be tried again.
func (w *world) retried(id schedule.ID, node run.NodeID) store.Held {
	w.Helper()
	w.insert(id, w.due(id, at(-1), func(r *run.Run) { r.MaxAttempts = 2 }))
	return w.takeOne(node)
}

// lastEvent fails the test unless the run's history ends with the transition.
func (w *world) lastEvent(id run.ID, from, to run.Status) run.Event {
	w.Helper()
	events := w.history(id)
	if len(events) == 0 {
		w.Fatalf("history does not tell of %s to %s", from, to)
	}
	last := events[len(events)-1]
	if last.From != from || last.To != to || last.Run != id || last.At.IsZero() {
		w.Errorf("the last event is %+v, want %s to %s", last, from, to)
	}
	return last
}
