package sqlstore

import (
	"context"
	"slices"
	"time"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

const (
	// maxAhead bounds how early a run may be taken: from then on an edit can no longer take it back (PROTOCOL A2).
	maxAhead = time.Second
	// maxTake bounds what one Take claims and skips together. A Take that stops there says so by its Next.
	maxTake = 1000
)

// Take claims work. What a node can run (Take.Kinds) plays no part yet: there is one kind of node.
func (s *Store) Take(ctx context.Context, ask store.Take) (taken store.Taken, err error) {
	room := map[string]int{}
	cost := 1
	for _, p := range ask.Pools {
		room[p.Pool] = p.Free
		cost += max(p.Free, 0)
	}
	err = s.writer.do(ctx, &write{name: "take", point: "take", cost: min(cost, maxTake), run: func(t *tx) (err error) {
		if err := requireNode(t, ask.Node); err != nil {
			return err
		}
		now := s.now()
		k := taker{t: t, node: ask.Node, now: now, reach: now.Add(min(ask.Ahead, maxAhead)), room: map[string]int{}}
		for pool, free := range room {
			k.room[pool] = free
		}
		err = k.take()
		taken = k.taken
		return err
	}})
	if err != nil {
		return store.Taken{}, err
	}
	return taken, nil
}

// requireNode declines when the node's lease was taken.
func requireNode(t *tx, node run.NodeID) error {
	found, err := t.one(into(new(int)), `SELECT 1 FROM belfry_nodes WHERE id = ? AND lost_at IS NULL`, node[:])
	if err == nil && !found {
		return decline(store.ErrLost)
	}
	return err
}

// taker claims for one node in one transaction.
type taker struct {
	t          *tx
	node       run.NodeID
	now, reach time.Time
	room       map[string]int
	taken      store.Taken
	args       []any
	fence      uint64 // the last one given out
	fences     uint64 // how many more are reserved
}

// take looks at the claimable runs within reach over all pools, oldest ready first.
func (k *taker) take() error {
	line := newLine(k)
	for n := 0; ; n++ {
		r, ok, err := line.next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if n == maxTake {
			k.expect(k.now)
			return nil
		}
		if err := k.consider(r); err != nil {
			return err
		}
	}
	return k.lookBeyond()
}

func (k *taker) consider(r *run.Run) error {
	owner, owned, err := k.lockOwner(r)
	switch {
	case err != nil:
		return err
	case !owned:
		return k.claim(r)
	case skips(r) && !r.ReadyAt.After(k.now):
		return k.skip(r, owner)
	case r.ReadyAt.After(k.now):
		k.expect(r.ReadyAt)
	}
	return nil
}

// skips tells whether the run gives way to the one that owns its lock. Every kind but scheduled waits (PROTOCOL B7).
func skips(r *run.Run) bool { return r.Kind == run.Scheduled && r.Overlap == schedule.OverlapSkip }

// lockOwner returns the run that owns r's lock, if another does. A run that was claimed before may own it itself.
func (k *taker) lockOwner(r *run.Run) (owner run.ID, owned bool, err error) {
	if r.LockKey == "" || fault.Without("lock-index") {
		return owner, false, nil
	}
	owned, err = k.t.one(into(ident{(*[16]byte)(&owner)}),
		`SELECT id FROM belfry_runs WHERE tenant = ? AND lock_held = ? AND id <> ?`, r.Tenant, r.LockKey, r.ID[:])
	return owner, owned, err
}

const claimOf = `UPDATE belfry_runs SET status = ?, reason = '', ready_at = NULL, node_id = ?, lease_node = ?, fence = ?,
	deliveries = deliveries + 1, claimed_at = ?, started_at = NULL`

// Two statements, because one that names a column touches every index over it, even to write NULL over NULL.
const (
	claimRun       = claimOf + ` WHERE id = ? AND ready_at IS NOT NULL`
	claimLockedRun = claimOf + `, lock_held = ? WHERE id = ? AND ready_at IS NOT NULL`
)

func (k *taker) claim(r *run.Run) error {
	if r.Deliveries > 0 {
		if err := complete(k.t, r); err != nil {
			return err
		}
	}
	fence, err := k.nextFence()
	if err != nil {
		return err
	}
	query := claimRun
	args := append(k.args[:0], int64(run.Claimed), k.node[:], k.node[:], fence, micros(k.now))
	if r.LockKey != "" {
		query = claimLockedRun
		args = append(args, r.LockKey)
	}
	k.args = append(args, r.ID[:])
	if _, err := k.t.exec(query, k.args...); err != nil {
		return err
	}
	r.Status, r.Reason, r.Node, r.Fence, r.ClaimedAt, r.StartedAt = run.Claimed, "", k.node, fence, k.now, time.Time{}
	r.Deliveries++
	k.room[r.Pool]--
	k.taken.Runs = append(k.taken.Runs, *r)
	return nil
}

// skip ends a run whose instant came while another owned its lock.
func (k *taker) skip(r *run.Run, owner run.ID) error {
	_, err := k.t.exec(`UPDATE belfry_runs SET status = ?, reason = 'lock_held', ready_at = NULL, lock_held = NULL, finished_at = ?,
		unwell_at = due_at WHERE id = ?`, run.SkippedOverlap, micros(k.now), r.ID[:])
	if err != nil {
		return err
	}
	k.taken.Skipped = append(k.taken.Skipped, r.ID)
	return record(k.t, run.Event{Run: r.ID, At: k.now, From: r.Status, To: run.SkippedOverlap, Node: r.Node,
		Note: "its lock is owned by " + owner.String()})
}

// nextFence reserves fences for what the room admits in one go.
func (k *taker) nextFence() (uint64, error) {
	if k.fences == 0 {
		n := k.left()
		k.taken.Runs = slices.Grow(k.taken.Runs, n)
		last, err := reserveFences(k.t, n)
		if err != nil {
			return 0, err
		}
		k.fence, k.fences = last-uint64(n), uint64(n)
	}
	k.fence++
	k.fences--
	return k.fence, nil
}

// left is how many more runs there is room for, one at least.
func (k *taker) left() (n int) {
	for _, free := range k.room {
		n += max(free, 0)
	}
	return min(max(n, 1), maxTake)
}

// reserveFences moves the store-wide sequence on and returns the last of n new fences (PROTOCOL B6). Numbers that are
// not used leave holes, which mean nothing.
func reserveFences(t *tx, n int) (last uint64, err error) {
	if _, err := t.exec(`UPDATE belfry_sequences SET value = value + ? WHERE name = 'fence'`, n); err != nil {
		return 0, err
	}
	_, err = t.one(into(&last), `SELECT value FROM belfry_sequences WHERE name = 'fence'`)
	return last, err
}

// lookBeyond finds when the pools that still have room may have more.
func (k *taker) lookBeyond() error {
	for pool, free := range k.room {
		if free <= 0 {
			continue
		}
		var next time.Time
		_, err := k.t.one(into(instant{&next}), `SELECT MIN(ready_at) FROM belfry_runs WHERE pool = ? AND ready_at > ?`,
			pool, micros(k.now)) // within reach only runs are left whose lock another has
		if err != nil {
			return err
		}
		k.expect(next)
	}
	return nil
}

// expect notes an instant at which something else may become takeable.
func (k *taker) expect(at time.Time) {
	if !at.IsZero() && (k.taken.Next.IsZero() || at.Before(k.taken.Next)) {
		k.taken.Next = at
	}
}
