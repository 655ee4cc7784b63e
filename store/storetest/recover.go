package storetest

import (
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

var recoverTests = []test{
	{"waits for the lease and for silence", testRecoverConditions},
	{"delivers again", testRecoverRedelivers},
	{"ends deliveries at their bound", testRecoverDeadLetter},
	{"counts an attempt where asked for at most once", testRecoverAtMostOnce},
	{"gives back what had not started, at most once or not", testRecoverAtMostOnceUnstarted},
	{"waits longer with every attempt", testRecoverBackoff},
	{"leaves other nodes' runs alone", testRecoverTouchesItsOwnOnly},
	{"goes in portions", testRecoverInPortions},
	{"finds a node that was seen in the future", testRecoverOfTheFuture},
	{"twice is harmless", testSecondVerdictIsHarmless},
	{"records what was lost", testRecoverIsRecorded},
}

// PROTOCOL B5: a lease is taken only if it has run out by the store's clock and nobody has heard from the node since
// the sweeper looked.
func testRecoverConditions(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)))
	h := w.running(node)
	untouched := func(why string, node run.NodeID, seenAt time.Time) {
		w.Helper()
		recovered, err := w.Recover(w.Context(), node, seenAt, 10)
		w.must(err)
		w.same(why, 0, len(recovered))
		w.is(h.Run, run.Running)
	}
	w.clk.Advance(lease - time.Microsecond)
	untouched("recovered before the lease ran out", node, start)
	w.clk.Advance(time.Second)
	untouched("recovered though seen at another instant", node, start.Add(time.Microsecond))
	untouched("recovered from a node that never was", run.NodeID(w.newID()), start)
	w.beat(node) // late, but nobody has taken the lease
	untouched("recovered though seen since", node, start)
	untouched("recovered though its new lease runs", node, w.clk.Now())
	w.clk.Advance(lease + time.Microsecond)
	recovered, err := w.Recover(w.Context(), node, w.seen(node), 10)
	w.must(err)
	w.same("recovered", []store.Recovered{{Run: h.Run, Status: run.Pending, Was: run.Running}}, recovered)
	// The node is told whenever it asks for something.
	w.mustBe(store.ErrLost, w.Beat(w.Context(), store.Node{ID: node}, lease))
	_, err = w.Take(w.Context(), store.Take{Node: node, Pools: []store.PoolRoom{{Pool: "default", Free: 1}}})
	w.mustBe(store.ErrLost, err)
	lost, err := w.Lost(w.Context(), []store.Held{h})
	w.must(err)
	w.same("lost", []store.Held{h}, lost)
}

// PROTOCOL A6, R-LSE-3, R-LSE-5, R-KEY-13: a lost lease costs a delivery and no attempt; the run is delivered again under
// the key that it had.
func testRecoverRedelivers(w *world) {
	id, node := w.declare("minutely"), w.node()
	ids := w.insert(id, w.due(id, at(0)), w.due(id, at(-1)))
	claimed := w.takeOne(node)
	running := w.running(node)
	recovered := w.recover(node)
	w.same("recovered", sortedRecovered([]store.Recovered{
		{Run: claimed.Run, Status: run.Pending, Was: run.Claimed}, {Run: running.Run, Status: run.Pending, Was: run.Running},
	}), sortedRecovered(recovered))
	for i, h := range []store.Held{running, claimed} {
		r := w.is(h.Run, run.Pending)
		w.same("run", ids[i], h.Run)
		w.same("deliveries", 1, r.Deliveries)
		w.same("attempts", 0, r.Attempt)
		if r.Fence <= h.Fence {
			w.Errorf("the fence is %d after %d: the old holder would be believed", r.Fence, h.Fence)
		}
		if r.ReadyAt.After(w.clk.Now()) {
			w.Errorf("ready at %s only", r.ReadyAt)
		}
	}
	again := w.take(w.node(), 5).Runs
	w.same("delivered again", 2, len(again))
	for i, r := range again {
		w.same("deliveries", 2, r.Deliveries)
		w.same("due", at(float64(i-1)), r.Due)
		w.same("key", run.NewKey(id, r.Due, ""), r.Key())
	}
}

func sortedRecovered(rs []store.Recovered) []store.Recovered {
	rs = slices.Clone(rs)
	slices.SortFunc(rs, func(a, b store.Recovered) int { return slices.Compare(a.Run[:], b.Run[:]) })
	return rs
}

// D15, R-LSE-7: work that kills its worker does not go on for ever.
func testRecoverDeadLetter(w *world) {
	id := w.declare("minutely")
	planned := w.insert(id, w.due(id, at(0), func(r *run.Run) { r.MaxDeliveries = 3 }))[0]
	for delivery := 1; delivery <= 3; delivery++ {
		node := w.node()
		h := w.takeOne(node)
		if delivery%2 == 1 {
			w.begin(h)
		}
		want := run.Pending
		if delivery == 3 {
			want = run.DeadLetter
		}
		w.same("status", want, w.recover(node)[0].Status)
	}
	r := w.is(planned, run.DeadLetter)
	w.same("deliveries", 3, r.Deliveries)
	w.same("attempts", 0, r.Attempt)
	if r.FinishedAt.IsZero() || r.ErrorCode == "" {
		w.Errorf("a dead letter ended %s with code %q", r.FinishedAt, r.ErrorCode)
	}
	w.lastEvent(planned, run.Running, run.DeadLetter)
	w.same("taken", 0, len(w.take(w.node(), 5).Runs))
}

// R-LSE-4, PROTOCOL A6: at most once, so the lost execution counts, and without an attempt left it has failed.
func testRecoverAtMostOnce(w *world) {
	id, node := w.declare("minutely"), w.node()
	planned := w.insert(id, w.due(id, at(0), func(r *run.Run) { r.OnLost, r.MaxAttempts = schedule.OnLostFail, 1 }))[0]
	h := w.running(node)
	w.same("recovered", []store.Recovered{{Run: planned, Status: run.Failed, Was: run.Running}}, w.recover(node))
	r := w.is(planned, run.Failed)
	w.same("code", "LOST_WORKER", r.ErrorCode)
	w.same("attempts", 1, r.Attempt)
	w.same("finished", w.clk.Now(), r.FinishedAt)
	if r.Error == "" {
		w.Error("the error says nothing")
	}
	w.lastEvent(planned, run.Running, run.Failed)
	w.same("the first copy's outcome", []store.Refused{{Held: h, Status: run.Failed}}, w.send(w.outcome(h, run.Succeeded)))
	w.is(planned, run.Failed)
}

// R-LSE-5: what is durably known not to have started is given back, however often.
func testRecoverAtMostOnceUnstarted(w *world) {
	id := w.declare("minutely")
	planned := w.insert(id, w.due(id, at(0), func(r *run.Run) { r.OnLost = schedule.OnLostFail }))[0]
	for range 3 {
		node := w.node()
		w.takeOne(node)
		w.same("recovered", []store.Recovered{{Run: planned, Status: run.Pending, Was: run.Claimed}}, w.recover(node))
		w.same("attempts", 0, w.run(planned).Attempt)
	}
}

// wait = backoff x 2^(n-1): 60 s, 120 s, 240 s; capped at a day, or at the backoff where that is longer.
func testRecoverBackoff(w *world) {
	id := w.declare("minutely")
	for i, c := range []struct {
		backoff time.Duration
		waits   []time.Duration
	}{
		{time.Minute, []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute}},
		{13 * time.Hour, []time.Duration{13 * time.Hour, 24 * time.Hour, 24 * time.Hour}},
		{36 * time.Hour, []time.Duration{36 * time.Hour, 36 * time.Hour}},
		{0, []time.Duration{0, 0}},
	} {
		planned := w.insert(id, w.due(id, at(float64(-i)), func(r *run.Run) {
			r.OnLost, r.MaxAttempts, r.Backoff, r.MaxDeliveries = schedule.OnLostFail, len(c.waits)+1, c.backoff, 1
		}))[0]
		for n, wait := range c.waits {
			node := w.node()
			w.running(node)
			w.same("recovered", []store.Recovered{{Run: planned, Status: run.RetryScheduled, Was: run.Running}}, w.recover(node))
			r := w.run(planned)
			w.same("ready", w.clk.Now().Add(wait), r.ReadyAt)
			w.same("attempts", n+1, r.Attempt)
			w.lastEvent(planned, run.Running, run.RetryScheduled)
			w.clk.Advance(wait)
		}
		node := w.node()
		w.running(node)
		w.same("recovered", []store.Recovered{{Run: planned, Status: run.Failed, Was: run.Running}}, w.recover(node))
	}
}

func testRecoverTouchesItsOwnOnly(w *world) {
	id, silent, living := w.declare("minutely"), w.node(), w.node()
	w.insert(id, w.due(id, at(0)), w.due(id, at(-1)), w.due(id, at(-2)))
	first := w.takeOne(silent)
	second := w.takeOne(living)
	ended := w.takeOne(silent)
	w.settle(w.outcome(ended, run.Succeeded))
	w.clk.Advance(lease - time.Second)
	w.beat(living)
	w.clk.Advance(2 * time.Second)
	recovered, err := w.Recover(w.Context(), silent, w.seen(silent), 10)
	w.must(err)
	w.same("recovered", []store.Recovered{{Run: first.Run, Status: run.Pending, Was: run.Claimed}}, recovered)
	w.settle(w.outcome(second, run.Succeeded))
	w.is(ended.Run, run.Succeeded)
}

// A node with many runs is recovered by several calls; it is lost from the first one on, and listed until it is empty.
func testRecoverInPortions(w *world) {
	id, node := w.declare("minutely"), w.node()
	for i := range 5 {
		w.insert(id, w.due(id, at(-float64(i))))
	}
	w.same("taken", 5, len(w.take(node, 9).Runs))
	w.clk.Advance(lease + time.Second)
	var got []int
	for range 4 {
		silent, err := w.Silent(w.Context())
		w.must(err)
		if len(silent) == 0 {
			break
		}
		recovered, err := w.Recover(w.Context(), node, w.seen(node), 2)
		w.must(err)
		got = append(got, len(recovered))
		w.mustBe(store.ErrLost, w.Beat(w.Context(), store.Node{ID: node}, lease))
	}
	w.same("portions", []int{2, 2, 1}, got)
	w.same("pending", 5, len(w.allRuns(store.RunQuery{Statuses: []run.Status{run.Pending}})))
}

// PROTOCOL A9: a node died while the clock was two hours ahead, which was then set right. Its lease must not last for
// these two hours; a node that lives says so by its next heartbeat.
func testRecoverOfTheFuture(w *world) {
	id, dead, living := w.declare("minutely"), w.node(), w.node()
	w.insert(id, w.due(id, at(0)), w.due(id, at(-1)))
	held := w.running(dead)
	kept := w.running(living)
	w.clk.Advance(-2 * time.Hour)
	w.beat(living)
	silent, err := w.Silent(w.Context())
	w.must(err)
	if len(silent) != 1 || silent[0].ID != dead {
		w.Fatalf("silent are %v, want the dead one", silent)
	}
	for node, seenAt := range map[run.NodeID]time.Time{living: at(-7200), dead: silent[0].SeenAt} {
		_, err := w.Recover(w.Context(), node, seenAt, 10)
		w.must(err)
	}
	w.is(held.Run, run.Pending)
	w.is(kept.Run, run.Running)
}

// S-042: the verdict on a dead worker is delivered twice, the second time after the run was delivered again and ended.
func testSecondVerdictIsHarmless(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)), w.due(id, at(-1)))
	w.running(node)
	w.running(node)
	w.clk.Advance(lease + time.Second)
	seen := w.seen(node)
	recovered, err := w.Recover(w.Context(), node, seen, 10)
	w.must(err)
	w.same("recovered", 2, len(recovered))
	other := w.node()
	ended := w.takeOne(other)
	w.settle(w.outcome(ended, run.Succeeded))
	alive := w.running(other)
	before := w.allRuns(store.RunQuery{})
	recovered, err = w.Recover(w.Context(), node, seen, 10)
	w.must(err)
	w.same("recovered the second time", 0, len(recovered))
	w.same("runs", before, w.allRuns(store.RunQuery{}))
	w.settle(w.outcome(alive, run.Succeeded))
}

// D34: each lost delivery is on record, with the node that lost it.
func testRecoverIsRecorded(w *world) {
	id, node := w.declare("minutely"), w.node()
	planned := w.insert(id, w.due(id, at(0)))[0]
	h := w.takeOne(node)
	w.begin(h)
	w.recover(node)
	attempts := w.attempts(planned)
	if len(attempts) != 1 {
		w.Fatalf("%d attempts, want the lost one", len(attempts))
	}
	got := attempts[0]
	w.same("number", 1, got.N)
	w.same("node", node, got.Node)
	w.same("fence", h.Fence, got.Fence)
	w.same("outcome", run.Pending, got.Outcome)
	w.same("started", start, got.StartedAt)
	w.lastEvent(planned, run.Running, run.Pending)
	w.settle(w.outcome(w.takeOne(w.node()), run.Succeeded))
	attempts = w.attempts(planned)
	w.same("attempts", 2, len(attempts))
	w.same("number of the second one", 2, attempts[1].N)
	w.same("outcome of the second one", run.Succeeded, attempts[1].Outcome)
}
