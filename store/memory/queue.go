package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// maxAhead bounds how early a run may be taken (PROTOCOL A2).
const maxAhead = time.Second

// Take looks at the claimable runs of pools with room, oldest ready first. What a node can run (Take.Kinds) plays no
// part yet: there is one kind of node.
func (s *Store) Take(ctx context.Context, t store.Take) (store.Taken, error) {
	if err := s.enter(ctx); err != nil {
		return store.Taken{}, err
	}
	defer s.leaveChanged()
	if n := s.nodes[t.Node]; n == nil || !n.LostAt.IsZero() {
		return store.Taken{}, store.ErrLost
	}
	room := map[string]int{}
	for _, p := range t.Pools {
		room[p.Pool] = p.Free
	}
	now := s.now()
	reach := now.Add(min(t.Ahead, maxAhead))
	var out store.Taken
	for _, r := range s.claimable() {
		switch {
		case room[r.Pool] <= 0:
		case r.ReadyAt.After(reach):
			out.Next = earlier(out.Next, r.ReadyAt)
		case !s.lockFree(r):
			if s.passOver(r) {
				out.Skipped = append(out.Skipped, r.ID)
			} else if r.ReadyAt.After(now) {
				out.Next = earlier(out.Next, r.ReadyAt)
			}
		default:
			s.claim(r, t.Node)
			room[r.Pool]--
			out.Runs = append(out.Runs, detached(r.Run))
		}
	}
	return out, nil
}

// claimable lists the runs that wait for a worker, oldest ready first.
func (s *Store) claimable() []*row {
	var rows []*row
	for _, r := range s.live {
		if r.Status.Claimable() {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b *row) int {
		return cmp.Or(a.ReadyAt.Compare(b.ReadyAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return rows
}

// lockFree reports whether nobody else owns the run's lock. A run that was claimed before may own it already.
func (s *Store) lockFree(r *row) bool {
	owner, held := s.locks[lockOf(r)]
	return r.LockKey == "" || !held || owner == r.ID
}

// passOver decides a run whose lock another owns: one of kind scheduled that is ready ends under overlap skip, every
// other one goes on waiting (PROTOCOL B7).
func (s *Store) passOver(r *row) bool {
	if r.Overlap != schedule.OverlapSkip || r.Kind != run.Scheduled || r.ReadyAt.After(s.now()) {
		return false
	}
	r.Reason, r.FinishedAt = "lock_held", s.now()
	s.become(r, run.SkippedOverlap, "its lock is owned by "+s.locks[lockOf(r)].String())
	return true
}

func (s *Store) claim(r *row, node run.NodeID) {
	s.fence++
	r.Status, r.Reason, r.Node, r.Fence, r.ClaimedAt, r.StartedAt = run.Claimed, "", node, s.fence, s.now(), time.Time{}
	r.Deliveries++
	if r.LockKey != "" {
		s.locks[lockOf(r)] = r.ID
	}
}

// Start marks runs as running. One that is running already under this fence may go on.
func (s *Store) Start(ctx context.Context, started []store.Started) ([]store.Held, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leaveChanged()
	var lost []store.Held
	for _, h := range started {
		r := s.heldRow(h.Held)
		switch {
		case r == nil:
			lost = append(lost, h.Held)
		case r.Status == run.Claimed:
			r.Status, r.StartedAt = run.Running, micro(h.At)
		}
	}
	return lost, nil
}

// heldRow returns the run if it is in somebody's hands under this fence.
func (s *Store) heldRow(h store.Held) *row {
	r := s.live[h.Run]
	if r == nil || r.Fence != h.Fence || !inHand(r.Status) {
		return nil
	}
	return r
}

func inHand(status run.Status) bool {
	return status == run.Claimed || status == run.Running || status == run.Waiting
}

// Lost lists what the caller does not hold any more.
func (s *Store) Lost(ctx context.Context, held []store.Held) ([]store.Held, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var lost []store.Held
	for _, h := range held {
		if s.heldRow(h) == nil {
			lost = append(lost, h)
		}
	}
	return lost, nil
}

// Release undoes a claim. The lock stays with a run that owned it before this claim.
func (s *Store) Release(ctx context.Context, held []store.Held) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leaveChanged()
	for _, h := range held {
		r := s.heldRow(h)
		if r == nil || r.Status != run.Claimed {
			continue
		}
		if r.Deliveries--; r.Deliveries == 0 {
			s.unlock(r)
		}
		s.become(r, run.Pending, "released before its start")
		r.Node, r.ClaimedAt = run.NodeID{}, time.Time{}
	}
	return nil
}

// Output keeps what a run has printed so far.
func (s *Store) Output(ctx context.Context, h store.Held, chunks []store.Chunk) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leaveChanged()
	r := s.heldRow(h)
	if r == nil {
		return store.ErrLost
	}
	r.keep(chunks)
	return nil
}

// keep adds the chunks that are not there yet: one whose acknowledgement was lost is sent again.
func (r *row) keep(chunks []store.Chunk) {
	for _, c := range chunks {
		known := func(k store.Chunk) bool { return k.Delivery == c.Delivery && k.Seq == c.Seq }
		if !slices.ContainsFunc(r.output, known) {
			c.Data = bytes.Clone(c.Data)
			r.output = append(r.output, c)
		}
	}
	slices.SortFunc(r.output, func(a, b store.Chunk) int {
		return cmp.Or(cmp.Compare(a.Delivery, b.Delivery), cmp.Compare(a.Seq, b.Seq))
	})
}

// become changes a run's status off the plain path: history tells it. A final status frees the lock.
func (s *Store) become(r *row, status run.Status, note string) {
	r.history = append(r.history, run.Event{Run: r.ID, At: s.now(), From: r.Status, To: status, Node: r.Node, Note: note})
	s.set(r, status)
}

// set changes a run's status; a final one frees the lock.
func (s *Store) set(r *row, status run.Status) {
	r.Status = status
	if status.Final() {
		s.unlock(r)
		delete(s.live, r.ID)
	}
}

func (s *Store) unlock(r *row) {
	if s.locks[lockOf(r)] == r.ID {
		delete(s.locks, lockOf(r))
	}
}

func lockOf(r *row) lock { return lock{r.Tenant, r.LockKey} }
