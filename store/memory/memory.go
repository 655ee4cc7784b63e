// Package memory is the store's contract written down in the most obvious way: plain maps under one mutex, no index
// that is not needed for correctness, nothing on disk. Tests of the loops run on it, and storetest compares every other
// store with it, so it shares no code with them. Its data lives as long as its last handle.
package memory

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// Store is one handle on data in memory. It may be used from any goroutine.
type Store struct {
	*data
	clk   clock.Clock
	count store.Counter
}

var _ store.Store = (*Store)(nil)

// New returns a handle on new, empty data. The clock is the store's clock; count counts the occurrences of a gap.
func New(clk clock.Clock, count store.Counter) *Store {
	return &Store{clk: clk, count: count, data: &data{
		claims:      map[int]timeline.Claim{},
		arrears:     map[backlog]store.Arrears{},
		definitions: map[schedule.ID]*definition{},
		runs:        map[run.ID]*row{},
		live:        map[run.ID]*row{},
		occurrences: map[occurrence]run.ID{},
		locks:       map[lock]run.ID{},
		gaps:        map[run.GapID]*run.Gap{},
		nodes:       map[run.NodeID]*store.Node{},
		hints:       map[chan struct{}]bool{},
	}}
}

// Another returns a second handle on the same data, as another process would have, with a clock of its own.
func (s *Store) Another(clk clock.Clock) *Store {
	return &Store{data: s.data, clk: clk, count: s.count}
}

// data is what all handles share. Every field is guarded by mu.
type data struct {
	mu          sync.Mutex
	claims      map[int]timeline.Claim // by shard
	arrears     map[backlog]store.Arrears
	definitions map[schedule.ID]*definition // removed ones, too
	runs        map[run.ID]*row
	live        map[run.ID]*row // those of runs that are not final, so that taking work does not walk the past
	occurrences map[occurrence]run.ID
	locks       map[lock]run.ID // who owns each overlap lock
	gaps        map[run.GapID]*run.Gap
	nodes       map[run.NodeID]*store.Node
	hints       map[chan struct{}]bool
	fence       uint64 // the last one given out; one sequence for all runs (PROTOCOL B6)
}

type backlog struct {
	shard int
	from  int64
}

// occurrence is what at most one run of kind scheduled may stand for.
type occurrence struct {
	tenant   string
	schedule schedule.ID
	due      int64
}

// lock is an overlap lock; equal keys of two tenants are two locks.
type lock struct{ tenant, key string }

// row is a run with what belongs to it.
type row struct {
	run.Run
	attempts []run.Attempt
	history  []run.Event
	output   []store.Chunk
}

// Now is the injected clock, cut to microseconds.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.now(), ctx.Err() }

// Close does nothing: other handles may still use the data.
func (s *Store) Close() error { return nil }

// Wake hints at every change that any handle makes.
func (s *Store) Wake(ctx context.Context) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	hint := make(chan struct{}, 1)
	s.hints[hint] = true
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.hints, hint)
		close(hint)
	})
	return hint
}

// enter takes the mutex, unless ctx has ended. Who got no error unlocks.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	return nil
}

// leaveChanged gives the mutex back after a change. A hint that nobody has read yet stands for this one as well.
func (s *Store) leaveChanged() {
	for hint := range s.hints {
		select {
		case hint <- struct{}{}:
		default:
		}
	}
	s.mu.Unlock()
}

func (s *Store) now() time.Time { return micro(s.clk.Now()) }

// micro cuts an instant to what a store keeps.
func micro(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// earlier returns the earlier of two instants; a zero one is absent.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// newID makes an identifier that sorts by the time of its making, as a UUID of version 7 does.
func (s *Store) newID() (id [16]byte) {
	_, _ = rand.Read(id[:]) // never fails; see crypto/rand
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(s.now().UnixMilli()))
	copy(id[:6], ms[2:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}
