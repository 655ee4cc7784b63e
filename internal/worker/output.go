package worker

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/target"
)

const (
	chunkSize   = 64 << 10    // a chunk that has grown this large is sent
	chunkAge    = time.Second // and so is what is older
	maxUnsent   = 512 << 10   // a run that writes faster than the store waits at this much,
	outputRetry = 100 * time.Millisecond
	outputStall = 5 * time.Second // after which what it writes is no longer kept
	jobOutput   = 1 << 20
)

// output takes what a run writes and sends it to the store in chunks while it runs. What was not sent when it ends
// travels with its outcome, so a short run costs no call of its own.
type output struct {
	e    *execution
	kick chan struct{}
	done chan struct{}
	flow sync.WaitGroup

	mu     sync.Mutex
	sent   chan struct{} // closed, and made anew, when something was sent
	seq    int
	bytes  int64
	unsent []store.Chunk
	size   int // of unsent and of what is being sent
	open   bool
	closed bool
	cut    bool // something was not kept
}

func newOutput(e *execution) *output {
	return &output{e: e, kick: make(chan struct{}, 1), done: make(chan struct{}), sent: make(chan struct{})}
}

// stream returns the writer of one stream. A command bounds its output itself; a job has a fixed bound.
func (o *output) stream(s store.Stream, t schedule.Target) io.Writer {
	limit := int64(jobOutput)
	if t.Command != nil {
		limit = int64(t.Command.OutputLimit)
	}
	return streamWriter{o, s, limit}
}

type streamWriter struct {
	o     *output
	s     store.Stream
	limit int64
}

var errNotKept = errors.New("the output is not kept: the run has ended, or the store takes nothing")

// Write keeps a copy. It waits, but not for long, while too much is unsent.
func (w streamWriter) Write(p []byte) (int, error) {
	o := w.o
	if !o.awaitRoom() {
		return 0, errNotKept
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return 0, errNotKept
	}
	o.begin()
	kept := p[:min(int64(len(p)), max(w.limit-o.bytes, 0))]
	o.cut = o.cut || len(kept) < len(p)
	o.append(w.s, kept)
	o.bytes += int64(len(p))
	if o.size >= chunkSize {
		select {
		case o.kick <- struct{}{}:
		default:
		}
	}
	return len(p), nil
}

func (o *output) awaitRoom() bool {
	var stalled <-chan time.Time
	for {
		o.mu.Lock()
		size, sent := o.size, o.sent
		o.mu.Unlock()
		if size < maxUnsent {
			return true
		}
		if stalled == nil {
			stalled = time.After(outputStall)
		}
		select {
		case <-sent:
		case <-stalled:
		case <-o.done:
		case <-o.e.ctx.Done():
		}
		select {
		case <-sent:
		default:
			o.mu.Lock()
			o.cut = true
			o.mu.Unlock()
			return false
		}
	}
}

// begin starts the sending with the first byte.
func (o *output) begin() {
	if !o.open {
		o.open = true
		o.flow.Go(o.send)
	}
}

func (o *output) append(s store.Stream, p []byte) {
	o.size += len(p)
	for len(p) > 0 {
		last := len(o.unsent) - 1
		if last < 0 || o.unsent[last].Stream != s || len(o.unsent[last].Data) >= chunkSize {
			o.unsent = append(o.unsent, store.Chunk{Delivery: o.e.r.Deliveries, Seq: o.seq, Stream: s})
			o.seq++
			last++
		}
		n := min(len(p), chunkSize-len(o.unsent[last].Data))
		o.unsent[last].Data = append(o.unsent[last].Data, p[:n]...)
		p = p[n:]
	}
}

// send sends chunks until the run ends.
func (o *output) send() {
	pause := chunkAge
	for {
		timer := time.NewTimer(pause)
		select {
		case <-o.done:
			timer.Stop()
			return
		case <-o.kick:
			timer.Stop()
		case <-timer.C:
		}
		pause = chunkAge
		if o.e.recorded.Load() && !o.flush() {
			pause = outputRetry
		}
	}
}

// flush sends everything that is unsent, and reports false when the store did not take it. The chunks stay until it
// has: their numbers make a second sending harmless.
func (o *output) flush() bool {
	o.mu.Lock()
	chunks := o.unsent
	o.unsent = nil
	o.mu.Unlock()
	if len(chunks) == 0 {
		return true
	}
	call, cancel := context.WithTimeout(o.e.ctx, callTimeout)
	err := o.e.l.w.s.Output(call, o.e.held, chunks)
	cancel()
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.unsent = append(chunks, o.unsent...)
		if errors.Is(err, store.ErrLost) {
			o.e.cancel(target.ErrLeaseLost)
		}
		return false
	}
	for _, c := range chunks {
		o.size -= len(c.Data)
	}
	close(o.sent)
	o.sent = make(chan struct{})
	return true
}

// finish ends the sending and returns what was not sent, how much was written, and whether some was dropped. Later
// writes fail.
func (o *output) finish() (rest []store.Chunk, written int64, dropped bool) {
	o.mu.Lock()
	o.closed = true
	close(o.done)
	o.mu.Unlock()
	o.flow.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unsent, o.bytes, o.cut
}
