package worker

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

const (
	settleDelay   = 2 * time.Millisecond // an outcome waits this long for others to be written with it
	settleBatch   = 500                  // outcomes in one call
	settleBytes   = 4 << 20              // output in one call; one outcome may have more
	settleTimeout = 10 * time.Second     // of one call
	maxSettleWait = time.Second          // between two tries
)

// unsettled is an outcome on its way into the store.
type unsettled struct {
	store.Outcome
	node    run.NodeID
	attempt int
	done    func() // called when it is written or refused

	cleaned  bool // it was made harmless already
	finished bool
}

// settler writes outcomes in batches, and tries until each is written or refused. It belongs to the worker and not to
// one of its lives: an outcome is written under its fence whatever became of the node meanwhile (PROTOCOL B4).
type settler struct {
	s      Store
	log    *slog.Logger
	poke   func() // called when something was settled
	limit  int    // unwritten outcomes at which nothing is taken
	kick   chan struct{}
	closed chan struct{}
	seen   trouble // belongs to run

	mu    sync.Mutex
	queue []*unsettled
	open  int // queued or being written
}

func newSettler(s Store, log *slog.Logger, limit int, poke func()) *settler {
	return &settler{s: s, log: log, limit: limit, poke: poke, kick: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (s *settler) add(u *unsettled) {
	s.mu.Lock()
	s.queue = append(s.queue, u)
	s.open++
	s.mu.Unlock()
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

func (s *settler) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open >= s.limit
}

// close lets run end once nothing is unwritten, or when it cannot be written within stopWait.
func (s *settler) close() { close(s.closed) }

// run writes until it is closed. Its calls do not end with the worker's context: finished work is recorded even then.
func (s *settler) run() {
	closed := s.closed
	var limit <-chan time.Time
	pause := settleDelay
	for {
		select {
		case <-s.kick:
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-limit:
				s.abandon()
				return
			}
		case <-closed:
			closed = nil
			timer := time.NewTimer(stopWait)
			defer timer.Stop()
			limit = timer.C
		case <-limit:
			s.abandon()
			return
		}
		if s.flush() {
			pause = settleDelay
		} else {
			pause = min(2*pause, maxSettleWait)
			s.again()
		}
		if closed == nil && s.empty() {
			return
		}
	}
}

func (s *settler) again() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

func (s *settler) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open == 0
}

// abandon gives up what could not be written before the process ends. It is executed again by whoever recovers it.
func (s *settler) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.queue {
		s.log.Error("an outcome was not written before the end", "run_id", u.Run.String(), "attempt", u.attempt, "fence", u.Fence)
	}
	s.queue = nil
}

// flush writes everything that is queued, and reports false when the store would not.
func (s *settler) flush() bool {
	for {
		batch := s.batch()
		if len(batch) == 0 {
			return true
		}
		err := s.write(batch)
		if s.seen.begins(err) {
			s.log.Warn("outcomes cannot be written yet", "reason", err, "count", len(batch))
		}
		if err != nil {
			s.back(batch)
			return false
		}
		s.poke()
	}
}

// batch takes the oldest outcomes of one node from the queue.
func (s *settler) batch() []*unsettled {
	s.mu.Lock()
	defer s.mu.Unlock()
	var batch, rest []*unsettled
	size := 0
	for i, u := range s.queue {
		if len(batch) == settleBatch || size > settleBytes {
			rest = append(rest, s.queue[i:]...)
			break
		}
		if len(batch) > 0 && u.node != batch[0].node {
			rest = append(rest, u)
			continue
		}
		batch = append(batch, u)
		for _, c := range u.Output {
			size += len(c.Data)
		}
	}
	s.queue = rest
	return batch
}

func (s *settler) back(batch []*unsettled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(batch, s.queue...)
}

// write writes a batch. What the store refuses for its content is found by halving, and stored without what may be the
// matter, so that one bad text does not make the work of others be done again (PROTOCOL A8).
func (s *settler) write(batch []*unsettled) error {
	outcomes := make([]store.Outcome, len(batch))
	for i, u := range batch {
		outcomes[i] = u.Outcome
	}
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	refused, err := s.s.Settle(ctx, batch[0].node, outcomes)
	if errors.Is(err, store.ErrPoison) {
		return s.cure(batch, err)
	}
	if err != nil {
		return err
	}
	s.report(batch, refused)
	for _, u := range batch {
		s.finish(u)
	}
	return nil
}

// finish notes that an outcome is out of our hands. One that is written twice, because its batch failed later, is
// finished once.
func (s *settler) finish(u *unsettled) {
	if u.finished {
		return
	}
	u.finished = true
	u.done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

func (s *settler) cure(batch []*unsettled, why error) error {
	if half := len(batch) / 2; half > 0 {
		if err := s.write(batch[:half]); err != nil {
			return err
		}
		return s.write(batch[half:])
	}
	u := batch[0]
	if u.cleaned {
		s.log.Error("an outcome cannot be stored; its run is left to recovery", "run_id", u.Run.String(), "attempt", u.attempt, "fence", u.Fence, "reason", why)
		s.finish(u)
		return nil
	}
	s.log.Error("an outcome was stored without its texts", "run_id", u.Run.String(), "attempt", u.attempt, "fence", u.Fence, "reason", why)
	u.cleaned = true
	u.Error = strings.Map(printable, u.Error)
	u.Reason = strings.Map(printable, u.Reason)
	u.Output, u.Truncated = nil, true
	return s.write(batch)
}

func printable(r rune) rune {
	if r < ' ' || r > '~' {
		return '?'
	}
	return r
}

// report tells the outcomes that came too late. They changed nothing.
func (s *settler) report(batch []*unsettled, refused []store.Refused) {
	for _, r := range refused {
		for _, u := range batch {
			if u.Held == r.Held {
				s.log.Warn("an outcome was refused: the run is no longer this worker's",
					"run_id", u.Run.String(), "attempt", u.attempt, "fence", u.Fence, "reason", r.Status.String(), "outcome", u.Status.String())
			}
		}
	}
}

// await waits until nothing is unwritten, but not longer than limit.
func (s *settler) await(limit time.Duration) {
	for end := time.Now().Add(limit); !s.empty() && time.Now().Before(end); {
		sleep(settleDelay)
	}
}
