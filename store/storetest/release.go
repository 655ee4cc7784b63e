package storetest

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

var releaseTests = []test{
	{"gives a claimed run back uncounted", testReleaseGivesBack},
	{"does not give back what started", testReleaseOfARunningRun},
	{"does not touch what others hold", testReleaseIsFenced},
}

// R-LSE-5, PROTOCOL A6: a graceful release counts neither an attempt nor a delivery.
func testReleaseGivesBack(w *world) {
	id, node := w.declare("minutely"), w.node()
	planned := w.insert(id, w.due(id, at(0)))[0]
	for range 7 { // more often than the run may be delivered
		h := w.takeOne(node)
		w.must(w.Release(w.Context(), []store.Held{h}))
		r := w.is(planned, run.Pending)
		w.same("deliveries", 0, r.Deliveries)
		w.same("attempts", 0, r.Attempt)
		w.same("refused", []store.Refused{{Held: h, Status: run.Pending}}, w.send(w.outcome(h, run.Succeeded)))
	}
	w.same("attempts", 0, len(w.attempts(planned)))
	w.same("taken by another node", planned, w.takeOne(w.node()).Run)
	w.clk.Advance(lease + time.Second)
	recovered, err := w.Recover(w.Context(), node, w.seen(node), 10)
	w.must(err)
	w.same("runs that the first node still holds", 0, len(recovered))
}

func testReleaseOfARunningRun(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)))
	h := w.takeOne(node)
	w.begin(h)
	w.must(w.Release(w.Context(), []store.Held{h}))
	w.is(h.Run, run.Running)
	w.settle(w.outcome(h, run.Succeeded))
	w.must(w.Release(w.Context(), []store.Held{h}))
	w.is(h.Run, run.Succeeded)
}

func testReleaseIsFenced(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)), w.due(id, at(-1)))
	taken := w.take(node, 2).Runs
	stale := held(taken[0])
	stale.Fence--
	w.must(w.Release(w.Context(), []store.Held{stale, held(taken[1]), {Run: run.ID(w.newID()), Fence: 1}}))
	w.same("deliveries", 1, w.is(taken[0].ID, run.Claimed).Deliveries)
	w.is(taken[1].ID, run.Pending)
}

var outputTests = []test{
	{"is read in order, from anywhere", testOutputIsReadInOrder},
	{"is kept apart by delivery", testOutputByDelivery},
	{"may come with the outcome", testOutputWithTheOutcome},
	{"sent again is there once", testOutputSentAgain},
	{"is bytes", testOutputIsBytes},
	{"ends with its reader's error", testOutputReaderFails},
	{"of an unknown run is not found", testOutputOfUnknownRun},
}

func chunk(delivery, seq int, stream store.Stream, text string) store.Chunk {
	return store.Chunk{Delivery: delivery, Seq: seq, Stream: stream, Data: []byte(text)}
}

// running takes and starts the one run that there is to take.
func (w *world) running(node run.NodeID) store.Held {
	w.Helper()
	h := w.takeOne(node)
	w.begin(h)
	return h
}

func testOutputIsReadInOrder(w *world) {
	id := w.declare("minutely")
	w.insert(id, w.due(id, at(0)))
	h := w.running(w.node())
	w.must(w.Store.Output(w.Context(), h, []store.Chunk{chunk(1, 1, store.Stdout, "one "), chunk(1, 2, store.Stderr, "two ")}))
	w.must(w.Store.Output(w.Context(), h, nil))
	var b bytes.Buffer
	next, err := w.ReadOutput(w.Context(), h.Run, 1, 0, &b)
	w.must(err)
	w.must(w.Store.Output(w.Context(), h, []store.Chunk{chunk(1, 3, store.Stdout, "three "), chunk(1, 4, store.Stdout, "four")}))
	w.same("so far", "one two ", b.String())
	again, err := w.ReadOutput(w.Context(), h.Run, 0, next, &b)
	w.must(err)
	w.same("all", "one two three four", b.String())
	last, err := w.ReadOutput(w.Context(), h.Run, 1, again, &b)
	w.must(err)
	w.same("where to go on when nothing is new", again, last)
	w.same("all", "one two three four", b.String())
}

func testOutputByDelivery(w *world) {
	id, node := w.declare("minutely"), w.node()
	w.insert(id, w.due(id, at(0)))
	h := w.running(node)
	w.must(w.Store.Output(w.Context(), h, []store.Chunk{chunk(1, 1, store.Stdout, "first")}))
	w.recover(node)
	h = w.running(w.node())
	w.must(w.Store.Output(w.Context(), h, []store.Chunk{chunk(2, 1, store.Stdout, "second")}))
	w.same("first delivery", "first", w.output(h.Run, 1))
	w.same("second delivery", "second", w.output(h.Run, 2))
	w.same("last delivery", "second", w.output(h.Run, 0))
	w.same("a delivery that never was", "", w.output(h.Run, 3))
}

func testOutputWithTheOutcome(w *world) {
	id := w.declare("minutely")
	w.insert(id, w.due(id, at(0)))
	h := w.running(w.node())
	w.must(w.Store.Output(w.Context(), h, []store.Chunk{chunk(1, 1, store.Stdout, "early ")}))
	o := w.outcome(h, run.Succeeded)
	o.Output, o.OutputBytes, o.Truncated = []store.Chunk{chunk(1, 2, store.Stdout, "late")}, 1000, true
	w.settle(o)
	w.same("output", "early late", w.output(h.Run, 0))
	r := w.is(h.Run, run.Succeeded)
	w.same("bytes, kept or dropped", int64(1000), r.OutputBytes)
	w.same("truncated", true, r.OutputTruncated)
	w.mustBe(store.ErrLost, w.Store.Output(w.Context(), h, []store.Chunk{chunk(1, 3, store.Stdout, "too late")}))
	w.same("output", "early late", w.output(h.Run, 0))
}

// A reply that was lost has the worker send a chunk again, on its own or with the outcome (PROTOCOL B2).
func testOutputSentAgain(w *world) {
	id := w.declare("minutely")
	w.insert(id, w.due(id, at(0)))
	h := w.running(w.node())
	for range 2 {
		w.must(w.Store.Output(w.Context(), h, []store.Chunk{chunk(1, 1, store.Stdout, "a"), chunk(1, 2, store.Stdout, "b")}))
	}
	o := w.outcome(h, run.Succeeded)
	o.Output = []store.Chunk{chunk(1, 2, store.Stdout, "b"), chunk(1, 3, store.Stdout, "c")}
	w.settle(o)
	w.same("output", "abc", w.output(h.Run, 0))
}

func testOutputIsBytes(w *world) {
	id := w.declare("minutely")
	w.insert(id, w.due(id, at(0)))
	h := w.running(w.node())
	data := []byte("\x00\xff\xfe\r\n" + strings.Repeat("x", 70_000) + "\x80")
	want := string(data)
	w.must(w.Store.Output(w.Context(), h, []store.Chunk{{Delivery: 1, Seq: 1, Stream: store.Stdout, Data: data}}))
	clear(data) // the store must not share memory with its caller
	if got := w.output(h.Run, 0); got != want {
		w.Errorf("read %d bytes, not those %d that were written", len(got), len(want))
	}
}

var errClosed = errors.New("the reader has gone")

type closedWriter struct{}

func (closedWriter) Write([]byte) (int, error) { return 0, errClosed }

func testOutputReaderFails(w *world) {
	id := w.declare("minutely")
	w.insert(id, w.due(id, at(0)))
	h := w.running(w.node())
	w.must(w.Store.Output(w.Context(), h, []store.Chunk{chunk(1, 1, store.Stdout, "x")}))
	_, err := w.ReadOutput(w.Context(), h.Run, 0, 0, closedWriter{})
	w.mustBe(errClosed, err)
	w.settle(w.outcome(h, run.Succeeded))
}

func testOutputOfUnknownRun(w *world) {
	_, err := w.ReadOutput(w.Context(), run.ID(w.newID()), 0, 0, &bytes.Buffer{})
	w.mustBe(store.ErrNotFound, err)
	w.mustBe(store.ErrLost, w.Store.Output(w.Context(), store.Held{Run: run.ID(w.newID()), Fence: 1}, []store.Chunk{chunk(1, 1, store.Stdout, "x")}))
}
