package storetest

import (
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

var takeTests = []test{
	{"hands out the oldest ready runs first", testTakeOldestFirst},
	{"prefers the lower ID among equals", testTakeOrdersEquals},
	{"keeps within the room of each pool", testTakeKeepsToRoom},
	{"reaches ahead, a second at most", testTakeAhead},
	{"tells when to come again", testTakeTellsWhatComesNext},
	{"makes the run this node's", testTakeClaims},
	{"gives every claim a fence of its own, in order", testFencesIncrease},
	{"takes retries when they are ready", testTakeRetries},
	{"does not hand out what has ended or is in hand", testTakeLeavesTheRest},
	{"is refused to a lost or unknown node", testTakeOfALostNode},
	{"does not look at the time of a lease", testTakeWithAnExpiredLease},
	{"may start once", testStart},
	{"may not start what is no longer held", testStartRevoked},
}

// What became ready first goes first, whatever was inserted first or is due first.
func testTakeOldestFirst(w *world) {
	id, node := w.declare("minutely"), w.node()
	ready := func(seconds float64) func(*run.Run) { return func(r *run.Run) { r.ReadyAt = at(seconds) } }
	ids := w.insert(id, w.due(id, at(1), ready(30)), w.due(id, at(2), ready(10)), w.due(id, at(3), ready(20)), w.due(id, at(4), ready(40)))
	w.clk.Advance(35 * time.Second)
	var got []run.ID
	for _, r := range w.take(node, 2).Runs {
		got = append(got, r.ID)
	}
	got = append(got, w.takeOne(node).Run)
	w.same("order", []run.ID{ids[1], ids[2], ids[0]}, got)
	w.same("runs that are not ready", 0, len(w.take(node, 10).Runs))
}

// The order must be the same on every store and on every try, or runs of one instant would change places.
func testTakeOrdersEquals(w *world) {
	id, node := w.declare("minutely"), w.node()
	var runs []run.Run
	for i := range 6 {
		runs = append(runs, w.due(id, at(float64(-i)), func(r *run.Run) { r.ReadyAt = start }))
	}
	slices.Reverse(runs)
	ids := sorted(w.insert(id, runs...))
	for i := range 3 {
		var got []run.ID
		for _, r := range w.take(node, 2).Runs {
			got = append(got, r.ID)
		}
		w.same("taken", ids[2*i:2*i+2], got)
	}
}

func testTakeKeepsToRoom(w *world) {
	id, node := w.declare("minutely"), w.node()
	pool := func(name string) func(*run.Run) { return func(r *run.Run) { r.Pool = name } }
	for i := range 4 {
		w.insert(id, w.due(id, at(float64(i)), pool("a")), w.due(id, at(float64(i)+0.5), pool("A")), w.due(id, at(float64(i)+0.7), pool("b")))
	}
	w.clk.Advance(time.Minute)
	taken := w.ask(store.Take{Node: node, Pools: []store.PoolRoom{{Pool: "a", Free: 3}, {Pool: "b", Free: 1}, {Pool: "A"}}})
	count := map[string]int{}
	for _, r := range taken.Runs {
		count[r.Pool]++
	}
	w.same("taken by pool", map[string]int{"a": 3, "b": 1}, count)
	w.same("taken without a pool", 0, len(w.ask(store.Take{Node: node}).Runs))
	w.same("runs left", 8, len(w.allRuns(store.RunQuery{Statuses: []run.Status{run.Pending}})))
}

// PROTOCOL A2: how early a run may be taken is bounded, because an edit cannot take back what has started.
func testTakeAhead(w *world) {
	id, node := w.declare("minutely"), w.node()
	ids := w.insert(id, w.due(id, at(0.4)), w.due(id, at(1)), w.due(id, at(1.000001)))
	ask := func(ahead time.Duration) (got []run.ID) {
		w.Helper()
		for _, r := range w.ask(store.Take{Node: node, Pools: []store.PoolRoom{{Pool: "default", Free: 9}}, Ahead: ahead}).Runs {
			got = append(got, r.ID)
		}
		return got
	}
	w.same("not ahead", 0, len(ask(0)))
	w.same("less than half a second ahead", ids[:1], ask(400*time.Millisecond))
	w.same("an hour ahead", ids[1:2], ask(time.Hour))
}

func testTakeTellsWhatComesNext(w *world) {
	id, node := w.declare("minutely"), w.node()
	ask := func() store.Taken {
		w.Helper()
		return w.ask(store.Take{Node: node, Pools: []store.PoolRoom{{Pool: "default", Free: 9}}, Ahead: time.Second})
	}
	w.same("nothing is known", time.Time{}, ask().Next)
	w.insert(id, w.due(id, at(90)), w.due(id, at(60)), w.due(id, at(0)))
	taken := ask()
	w.same("taken", 1, len(taken.Runs))
	w.same("next", at(60), taken.Next)
	w.insert(id, w.due(id, at(30), func(r *run.Run) { r.Pool = "another" }))
	w.same("next of these pools", at(60), ask().Next)
	// A retry is something to come back for, too.
	o := w.outcome(held(taken.Runs[0]), run.RetryScheduled)
	o.ReadyAt = at(45)
	w.settle(o)
	w.same("next with a retry", at(45), ask().Next)
}

func testTakeClaims(w *world) {
	id, node := w.declare("minutely"), w.node()
	planned := w.due(id, at(0.000001), func(r *run.Run) {
		r.Misfire, r.MaxAttempts, r.Backoff = &run.Misfire{Policy: schedule.MisfireOnce, Superseded: 1}, 3, time.Minute
	})
	w.insert(id, planned)
	w.clk.Advance(2 * time.Second)
	got := w.take(node, 1).Runs[0]
	want := planned
	want.Status, want.Node, want.Deliveries, want.ClaimedAt, want.CreatedAt = run.Claimed, node, 1, at(2), start
	want.Fence, want.ScheduleName = got.Fence, got.ScheduleName // readers fill the name; Take may
	w.same("taken", want, got)
	if got.Fence == 0 {
		w.Error("the fence is zero")
	}
	want.ScheduleName = "minutely"
	w.same("stored", want, w.run(planned.ID))
}

// PROTOCOL B6: fences come from one sequence of the store, so that a target can order the runs of one lock key.
func testFencesIncrease(w *world) {
	a, b, node := w.declare("a"), w.declare("b"), w.node()
	var last uint64
	newer := func(fence uint64) {
		w.Helper()
		if fence <= last {
			w.Errorf("fence %d after %d", fence, last)
		}
		last = fence
	}
	for i := range 3 {
		w.insert(a, w.due(a, at(float64(i))))
		w.insert(b, w.due(b, at(float64(i))))
		w.clk.Advance(time.Second)
		newer(w.takeOne(node).Fence)
		h := w.takeOne(node)
		newer(h.Fence)
		w.must(w.Release(w.Context(), []store.Held{h}))
		newer(w.takeOne(node).Fence)
	}
	for _, r := range w.recover(node) {
		got := w.run(r.Run)
		if got.Fence <= last {
			w.Errorf("recovered under fence %d, after %d was given out", got.Fence, last)
		}
	}
}

func testTakeRetries(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0), func(r *run.Run) { r.MaxAttempts = 2 }))
	first := w.takeOne(node)
	o := w.outcome(first, run.RetryScheduled)
	o.ReadyAt = at(60)
	w.settle(o)
	w.clk.Advance(59 * time.Second)
	w.beat(node)
	w.same("too early", 0, len(w.take(node, 1).Runs))
	w.clk.Advance(time.Second)
	second := w.take(node, 1).Runs[0]
	w.same("run", first.Run, second.ID)
	w.same("deliveries", 2, second.Deliveries)
	w.same("attempts", 1, second.Attempt)
	w.same("due", at(0), second.Due) // a retry keeps its occurrence
	if second.Fence <= first.Fence {
		w.Errorf("fence %d after %d", second.Fence, first.Fence)
	}
}

func testTakeLeavesTheRest(w *world) {
	id, node := w.declare("minutely"), w.node()
	for i, status := range []run.Status{run.Succeeded, run.Failed, run.Cancelled, run.DeadLetter} {
		w.insert(id, w.due(id, at(-float64(i+1))))
		o := w.outcome(w.takeOne(node), status)
		o.Answered = status == run.Succeeded || status == run.Failed
		w.settle(o)
	}
	w.insert(id, w.due(id, at(-10)), w.due(id, at(-11)))
	w.begin(w.takeOne(node))
	w.takeOne(node)
	w.same("taken", 0, len(w.take(w.node(), 100).Runs))
}

// ErrLost tells a node that its lease was taken: it must stop what it runs.
func testTakeOfALostNode(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)))
	ask := store.Take{Node: run.NodeID(w.newID()), Pools: []store.PoolRoom{{Pool: "default", Free: 1}}}
	_, err := w.Take(w.Context(), ask)
	w.mustBe(store.ErrLost, err)
	w.recover(node)
	ask.Node = node
	_, err = w.Take(w.Context(), ask)
	w.mustBe(store.ErrLost, err)
}

// PROTOCOL B4: leases are lost by being taken, not by time.
func testTakeWithAnExpiredLease(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)))
	w.clk.Advance(time.Hour)
	h := w.takeOne(node)
	w.begin(h)
	w.must(w.Store.Output(w.Context(), h, []store.Chunk{{Delivery: 1, Seq: 1, Stream: store.Stdout, Data: []byte("x")}}))
	w.settle(w.outcome(h, run.Succeeded))
}

func testStart(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)), w.due(id, at(-1)))
	taken := w.take(node, 2).Runs
	w.clk.Advance(time.Second)
	lost, err := w.Start(w.Context(), []store.Started{{Held: held(taken[0]), At: at(0.25)}, {Held: held(taken[1]), At: at(0.5)}})
	w.must(err)
	w.same("lost", 0, len(lost))
	w.same("start, as given", at(0.25), w.is(taken[0].ID, run.Running).StartedAt)
	w.same("start, as given", at(0.5), w.is(taken[1].ID, run.Running).StartedAt)
	// The reply was lost and the worker asks again: the run still is its own.
	lost, err = w.Start(w.Context(), []store.Started{{Held: held(taken[0]), At: at(0.25)}})
	w.must(err)
	w.same("lost when asked again", 0, len(lost))
	w.is(taken[0].ID, run.Running)
}

func testStartRevoked(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)), w.due(id, at(-1)), w.due(id, at(-2)), w.due(id, at(-3)))
	taken := w.take(node, 4).Runs
	mine, released, ended, stale := held(taken[0]), held(taken[1]), held(taken[2]), held(taken[3])
	w.must(w.Release(w.Context(), []store.Held{released}))
	w.settle(w.outcome(ended, run.Succeeded))
	stale.Fence--
	unknown := store.Held{Run: run.ID(w.newID()), Fence: 1}
	ask := []store.Started{{Held: released}, {Held: mine}, {Held: ended}, {Held: stale}, {Held: unknown}}
	for i := range ask {
		ask[i].At = at(1)
	}
	lost, err := w.Start(w.Context(), ask)
	w.must(err)
	w.same("lost", sortedHeld([]store.Held{released, ended, stale, unknown}), sortedHeld(lost))
	w.is(mine.Run, run.Running)
	w.is(released.Run, run.Pending)
	w.is(ended.Run, run.Succeeded)
	w.is(stale.Run, run.Claimed)
	lost, err = w.Lost(w.Context(), []store.Held{released, mine, stale, unknown})
	w.must(err)
	w.same("no longer held", sortedHeld([]store.Held{released, stale, unknown}), sortedHeld(lost))
}
