package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

// Beat keeps a node's lease.
func (s *Store) Beat(ctx context.Context, n store.Node, lease time.Duration) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock() // nobody waits for a heartbeat: no hint
	if known := s.nodes[n.ID]; known != nil && !known.LostAt.IsZero() {
		return store.ErrLost
	}
	n.StartedAt, n.SeenAt, n.LeaseUntil, n.LostAt = micro(n.StartedAt), s.now(), s.now().Add(lease), time.Time{}
	n.Roles, n.Pools = slices.Clone(n.Roles), slices.Clone(n.Pools)
	s.nodes[n.ID] = &n
	return nil
}

// Leave forgets a node. One that still holds runs stays, or nobody would ever recover them.
func (s *Store) Leave(ctx context.Context, id run.NodeID) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leaveChanged()
	if held := len(s.heldBy(id)); held > 0 {
		return fmt.Errorf("node %s still holds %d runs: %w", id, held, store.ErrStale)
	}
	delete(s.nodes, id)
	return nil
}

// Living lists the nodes that hold their lease.
func (s *Store) Living(ctx context.Context) ([]store.Node, error) {
	return s.nodesThat(ctx, func(n *store.Node) bool { return n.LostAt.IsZero() && n.LeaseUntil.After(s.now()) })
}

// Silent lists the nodes that have something to recover, the mark that they are lost included.
func (s *Store) Silent(ctx context.Context) ([]store.Node, error) {
	return s.nodesThat(ctx, func(n *store.Node) bool {
		return s.silent(n) && (n.LostAt.IsZero() || len(s.heldBy(n.ID)) > 0)
	})
}

func (s *Store) silent(n *store.Node) bool {
	return !n.LeaseUntil.After(s.now()) || n.SeenAt.After(s.now())
}

func (s *Store) nodesThat(ctx context.Context, want func(*store.Node) bool) ([]store.Node, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var out []store.Node
	for _, n := range s.nodes {
		if want(n) {
			c := *n
			c.Roles, c.Pools = slices.Clone(n.Roles), slices.Clone(n.Pools)
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b store.Node) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return out, nil
}
