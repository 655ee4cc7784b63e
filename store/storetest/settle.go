package storetest

import (
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

var settleTests = []test{
	{"writes every field of an outcome", testOutcomeKeepsEveryField},
	{"is refused under another fence", testSettleIsFenced},
	{"of a stale holder changes nothing", testStaleHolderIsRefused},
	{"again is a success", testResentOutcomeIsASuccess},
	{"again with another outcome is refused", testAnotherOutcomeIsRefused},
	{"late but not taken is accepted", testLateOutcomeIsAccepted},
	{"of one in a batch does not stop the others", testRefusedOutcomeStopsNoOther},
	{"without a start is accepted", testShortRunSettlesUnstarted},
	{"schedules a retry", testRetryIsScheduled},
	{"counts answers only", testAttemptsCountAnswers},
	{"records attempts", testAttemptsAreRecorded},
	{"tells of what leaves the plain path", testHistoryOfOutcomes},
}

func testOutcomeKeepsEveryField(w *world) {
	id, node := w.declare("minutely"), w.node()
	planned := w.insert(id, w.due(id, at(0)))[0]
	h := w.takeOne(node)
	w.begin(h)
	w.clk.Advance(time.Minute)
	code := -1
	w.settle(store.Outcome{
		Held: h, Status: run.Failed, Reason: "gave_up", Answered: true, StartedAt: at(1.000001), FinishedAt: at(2.5), ErrorCode: "EXIT_CODE",
		Error: "exit code -1: naïve \"quotes\"\n", ExitCode: &code, OutputBytes: 1 << 40, Truncated: true,
	})
	code = 7 // the store must not share memory with its caller
	r := w.is(planned, run.Failed)
	minus := -1
	w.same("reason", "gave_up", r.Reason)
	w.same("attempts", 1, r.Attempt)
	w.same("deliveries", 1, r.Deliveries)
	w.same("node", node, r.Node)
	w.same("started", at(1.000001), r.StartedAt)
	w.same("finished", at(2.5), r.FinishedAt)
	w.same("code", "EXIT_CODE", r.ErrorCode)
	w.same("error", "exit code -1: naïve \"quotes\"\n", r.Error)
	w.same("exit code", &minus, r.ExitCode)
	w.same("bytes", int64(1<<40), r.OutputBytes)
	w.same("truncated", true, r.OutputTruncated)
}

// P4, S-021, R-STA-7
func testSettleIsFenced(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)))
	h := w.takeOne(node)
	w.begin(h)
	before := w.run(h.Run)
	for _, fence := range []uint64{h.Fence - 1, h.Fence + 1} {
		stale := store.Held{Run: h.Run, Fence: fence}
		o := w.outcome(stale, run.Failed)
		o.Error, o.Output = "stale", []store.Chunk{{Delivery: 1, Seq: 1, Stream: store.Stdout, Data: []byte("stale")}}
		w.same("refused", []store.Refused{{Held: stale, Status: run.Running}}, w.send(o))
	}
	w.same("run", before, w.run(h.Run))
	w.same("attempts", 0, len(w.attempts(h.Run)))
	w.same("history", 0, len(w.history(h.Run)))
	w.same("output", "", w.output(h.Run, 1))
	unknown := store.Held{Run: run.ID(w.newID()), Fence: h.Fence}
	w.same("of an unknown run", []store.Refused{{Held: unknown}}, w.send(w.outcome(unknown, run.Succeeded)))
}

// S-037, R-LSE-4, R-STA-7: a worker is stopped past its lease, another one finishes the run, the first one wakes up.
func testStaleHolderIsRefused(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)))
	stale := w.takeOne(node)
	w.begin(stale)
	w.recover(node)
	w.same("while it waits", []store.Refused{{Held: stale, Status: run.Pending}}, w.send(w.outcome(stale, run.Failed)))
	second := w.node()
	h := w.takeOne(second)
	w.same("while it is claimed", []store.Refused{{Held: stale, Status: run.Claimed}}, w.send(w.outcome(stale, run.Failed)))
	w.begin(h)
	w.mustBe(store.ErrLost, w.Store.Output(w.Context(), stale, []store.Chunk{{Delivery: 1, Seq: 9, Stream: store.Stdout, Data: []byte("x")}}))
	w.settle(w.outcome(h, run.Succeeded))
	before := w.run(h.Run)
	for _, status := range []run.Status{run.Failed, run.Succeeded} { // also when it would say the same
		w.same("after its end", []store.Refused{{Held: stale, Status: run.Succeeded}}, w.send(w.outcome(stale, status)))
	}
	w.same("run", before, w.run(h.Run))
	w.same("settled by", second, before.Node)
}

// PROTOCOL B2: the reply was lost, the worker sends again.
func testResentOutcomeIsASuccess(w *world) {
	id, node := w.declare("minutely"), w.node()
	for i, status := range []run.Status{run.Succeeded, run.Failed, run.RetryScheduled, run.Cancelled, run.DeadLetter} {
		w.insert(id, w.due(id, at(-float64(i+1)), func(r *run.Run) { r.MaxAttempts = 3 }))
		h := w.takeOne(node)
		o := w.outcome(h, status)
		o.ReadyAt, o.Answered = at(3600), status != run.Cancelled && status != run.DeadLetter
		o.Output = []store.Chunk{{Delivery: 1, Seq: 0, Stream: store.Stdout, Data: []byte("once")}}
		w.settle(o)
		before, attempts, history := w.run(h.Run), w.attempts(h.Run), w.history(h.Run)
		w.clk.Advance(time.Millisecond)
		w.settle(o)
		w.same("run", before, w.run(h.Run))
		w.same("attempts", attempts, w.attempts(h.Run))
		w.same("history", history, w.history(h.Run))
		w.same("output", "once", w.output(h.Run, 1))
	}
}

func testAnotherOutcomeIsRefused(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)))
	h := w.takeOne(node)
	w.settle(w.outcome(h, run.Succeeded))
	before := w.run(h.Run)
	w.same("refused", []store.Refused{{Held: h, Status: run.Succeeded}}, w.send(w.outcome(h, run.Failed)))
	w.same("run", before, w.run(h.Run))
}

// PROTOCOL B4: the job ended at 9.98 s, the batch lands when the lease has passed, and nobody has taken it.
func testLateOutcomeIsAccepted(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)))
	h := w.takeOne(node)
	w.begin(h)
	w.clk.Advance(lease + time.Hour)
	w.settle(w.outcome(h, run.Succeeded))
	w.is(h.Run, run.Succeeded)
}

func testRefusedOutcomeStopsNoOther(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)), w.due(id, at(-1)), w.due(id, at(-2)))
	taken := w.take(node, 3).Runs
	stale := held(taken[1])
	stale.Fence--
	refused, err := w.Settle(w.Context(), node, []store.Outcome{
		w.outcome(held(taken[0]), run.Succeeded), w.outcome(stale, run.Failed), w.outcome(held(taken[2]), run.Failed),
	})
	w.must(err)
	w.same("refused", []store.Refused{{Held: stale, Status: run.Claimed}}, refused)
	w.is(taken[0].ID, run.Succeeded)
	w.is(taken[1].ID, run.Claimed)
	w.is(taken[2].ID, run.Failed)
}

// A short run may end before anybody wrote that it started.
func testShortRunSettlesUnstarted(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)))
	h := w.takeOne(node)
	o := w.outcome(h, run.Succeeded)
	o.StartedAt, o.FinishedAt = at(0.1), at(0.2)
	w.settle(o)
	r := w.is(h.Run, run.Succeeded)
	w.same("started", at(0.1), r.StartedAt)
	w.same("finished", at(0.2), r.FinishedAt)
}

func testRetryIsScheduled(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0), func(r *run.Run) { r.MaxAttempts = 3 }))
	h := w.takeOne(node)
	o := w.outcome(h, run.RetryScheduled)
	o.ReadyAt, o.ErrorCode, o.Error = at(30.000001), "TIMEOUT", "took too long"
	w.settle(o)
	r := w.is(h.Run, run.RetryScheduled)
	w.same("ready", at(30.000001), r.ReadyAt)
	w.same("attempts", 1, r.Attempt)
	w.same("due", at(0), r.Due)
	w.same("finished", time.Time{}, r.FinishedAt)
	lost, err := w.Lost(w.Context(), []store.Held{h})
	w.must(err)
	w.same("no longer held", []store.Held{h}, lost)
	w.mustBe(store.ErrLost, w.Store.Output(w.Context(), h, []store.Chunk{{Delivery: 1, Seq: 1, Stream: store.Stdout, Data: []byte("x")}}))
}

// PROTOCOL A6, D15: attempts are executions that gave an answer, deliveries are leases.
func testAttemptsCountAnswers(w *world) {
	id, node := w.declare("minutely"), w.node()
	ids := w.insert(id, w.due(id, at(0)), w.due(id, at(-1)))
	first := w.outcome(w.takeOne(node), run.Cancelled)
	first.Answered = false
	w.settle(first)
	w.settle(w.outcome(w.takeOne(node), run.Failed))
	w.same("attempts of a run that was stopped", 0, w.run(ids[1]).Attempt)
	w.same("attempts of a run that answered", 1, w.run(ids[0]).Attempt)
	w.same("deliveries", 1, w.run(ids[1]).Deliveries)
}

// D34: one row an answer, under the number of its delivery. A first success without output may have none.
func testAttemptsAreRecorded(w *world) {
	id, node := w.declare("minutely"), w.node()
	planned := w.insert(id, w.due(id, at(0), func(r *run.Run) { r.MaxAttempts = 3 }))[0]
	code := 3
	h := w.takeOne(node)
	o := w.outcome(h, run.RetryScheduled)
	o.ReadyAt, o.ErrorCode, o.Error, o.ExitCode, o.OutputBytes, o.Truncated = at(0), "EXIT_CODE", "exit code 3", &code, 5, true
	o.StartedAt, o.FinishedAt = at(0.1), at(0.2)
	w.settle(o)
	first := run.Attempt{
		Run: planned, N: 1, Node: node, Fence: h.Fence, StartedAt: at(0.1), FinishedAt: at(0.2), Outcome: run.Failed,
		ErrorCode: "EXIT_CODE", Error: "exit code 3", ExitCode: &code, OutputBytes: 5, Truncated: true,
	}
	w.same("attempts", []run.Attempt{first}, w.attempts(planned))

	second := w.node()
	h = w.takeOne(second)
	o = w.outcome(h, run.Succeeded)
	o.StartedAt, o.FinishedAt = at(0.3), at(0.4)
	w.settle(o)
	w.same("attempts", []run.Attempt{
		first, {Run: planned, N: 2, Node: second, Fence: h.Fence, StartedAt: at(0.3), FinishedAt: at(0.4), Outcome: run.Succeeded},
	}, w.attempts(planned))
	r := w.is(planned, run.Succeeded)
	w.same("answers", 2, r.Attempt)
	w.same("error of a run that succeeded", "", r.ErrorCode+r.Error)
}

// R-STA-6, D34: history holds the transitions off the plain path, in order, and no others.
func testHistoryOfOutcomes(w *world) {
	id, node := w.declare("minutely"), w.node()
	planned := w.insert(id, w.due(id, at(0), func(r *run.Run) { r.MaxAttempts, r.OnLost = 3, schedule.OnLostRedeliver }))[0]
	plain := w.insert(id, w.due(id, at(60)))[0]
	h := w.takeOne(node)
	w.begin(h)
	o := w.outcome(h, run.RetryScheduled)
	o.ReadyAt = at(0)
	w.settle(o)
	w.lastEvent(planned, run.Running, run.RetryScheduled)
	w.must(w.Release(w.Context(), []store.Held{w.takeOne(node)}))
	w.lastEvent(planned, run.Claimed, run.Pending)
	w.takeOne(node)
	w.recover(node)
	w.lastEvent(planned, run.Claimed, run.Pending)
	h = w.takeOne(w.node())
	o = w.outcome(h, run.Cancelled)
	o.Answered, o.Reason = false, "by_hand"
	w.settle(o)
	w.lastEvent(planned, run.Claimed, run.Cancelled)
	w.same("events", 4, len(w.history(planned)))
	w.same("reason", "by_hand", w.run(planned).Reason)

	w.clk.Advance(time.Minute)
	h = w.takeOne(w.node())
	w.begin(h)
	w.settle(w.outcome(h, run.Succeeded))
	w.is(plain, run.Succeeded)
	w.same("events of a plain run", 0, len(w.history(plain)))
}
