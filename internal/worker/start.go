package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/target"
)

const (
	startGap  = 2 * time.Millisecond  // confirmations of one instant travel together
	lateStart = 50 * time.Millisecond // a run that was late when taken is written as running after this long, or not at all
	startMax  = 1000                  // runs in one call
)

var errTakenBack = errors.New("the run was taken back before its start")

// starter tells the store, in batches, what is running. For held runs its answer is the permission to start.
type starter struct {
	l    *life
	kick chan struct{}
	seen trouble // belongs to run

	mu    sync.Mutex
	queue []*startRequest
}

type startRequest struct {
	e    *execution
	from time.Duration // reading of the boot clock before which it is not sent
	done chan error    // nil if nobody waits
}

func newStarter(l *life) *starter { return &starter{l: l, kick: make(chan struct{}, 1)} }

// confirm asks whether a run may start, and returns nil when it may. It waits as long as the life lasts: without an
// answer nothing starts.
func (s *starter) confirm(e *execution) error {
	r := &startRequest{e: e, done: make(chan error, 1)}
	s.add(r)
	select {
	case err := <-r.done:
		return err
	case <-s.l.ctx.Done():
		return context.Cause(s.l.ctx)
	case <-s.l.stop:
	}
	// The worker stops. An answer that is on its way is awaited; if none comes, the run is given back, or recovered if
	// the store has it running after all.
	timer := time.NewTimer(callTimeout)
	defer timer.Stop()
	select {
	case err := <-r.done:
		return err
	case <-s.l.ctx.Done():
		return context.Cause(s.l.ctx)
	case <-timer.C:
		return target.ErrStop
	}
}

// tell writes that a run executes already, unless it has ended before that is worth a write.
func (s *starter) tell(e *execution) {
	s.add(&startRequest{e: e, from: s.l.w.o.Clock.Elapsed() + lateStart})
}

func (s *starter) add(r *startRequest) {
	s.mu.Lock()
	s.queue = append(s.queue, r)
	s.mu.Unlock()
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

func (s *starter) run(ctx context.Context) {
	pause := startGap
	for {
		var timer <-chan time.Time
		if wait, some := s.next(); some {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.kick:
			if wait, some := s.next(); !some || wait > startGap {
				continue
			}
			if !sleep(pause, ctx.Done()) {
				return
			}
		case <-timer:
		}
		pause = startGap
		if !s.send(ctx) {
			pause = 20 * startGap
			if !sleep(pause, ctx.Done()) {
				return
			}
		}
	}
}

// next is how long until the first request may be sent.
func (s *starter) next() (wait time.Duration, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.l.w.o.Clock.Elapsed()
	for i, r := range s.queue {
		if left := max(r.from-now, 0); i == 0 || left < wait {
			wait = left
		}
	}
	return wait, len(s.queue) > 0
}

// send sends what may be sent, and reports false when the store did not take it.
func (s *starter) send(ctx context.Context) bool {
	batch := s.batch()
	if len(batch) == 0 {
		return true
	}
	started := make([]store.Started, len(batch))
	for i, r := range batch {
		started[i] = store.Started{Held: r.e.held, At: r.e.startAt()}
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	lost, err := s.l.w.s.Start(call, started)
	cancel()
	if s.seen.begins(err) {
		s.l.log.Warn("runs cannot be confirmed yet", "reason", err, "count", len(batch))
	}
	if err != nil {
		s.mu.Lock()
		s.queue = append(batch, s.queue...)
		s.mu.Unlock()
		return false
	}
	gone := make(map[store.Held]bool, len(lost))
	for _, h := range lost {
		gone[h] = true
	}
	for _, r := range batch {
		r.answer(gone[r.e.held])
	}
	return true
}

// batch takes the requests that may be sent from the queue, and drops those of runs that have ended.
func (s *starter) batch() []*startRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.l.w.o.Clock.Elapsed()
	var batch, rest []*startRequest
	for _, r := range s.queue {
		switch {
		case r.done == nil && r.e.phase.Load() == ended:
		case r.from > now || len(batch) == startMax:
			rest = append(rest, r)
		default:
			batch = append(batch, r)
		}
	}
	s.queue = rest
	return batch
}

func (r *startRequest) answer(lost bool) {
	if !lost {
		r.e.recorded.Store(true)
	}
	switch {
	case r.done != nil && lost:
		r.done <- errTakenBack
	case r.done != nil:
		r.done <- nil
	case lost:
		r.e.revoke()
	}
}
