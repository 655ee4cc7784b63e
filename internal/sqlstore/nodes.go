package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

// lostNodeKept is how long the row of a lost node that holds nothing is kept, to tell it so should it wake up.
const lostNodeKept = 24 * time.Hour

// Beat keeps a node's lease. Nobody waits for a heartbeat, so there is no hint.
func (s *Store) Beat(ctx context.Context, n store.Node, lease time.Duration) error {
	roles, err := json.Marshal(n.Roles)
	if err != nil {
		return err
	}
	pools, err := json.Marshal(n.Pools)
	if err != nil {
		return err
	}
	return s.writer.do(ctx, &write{name: "beat", urgent: true, cost: 1, run: func(t *tx) error {
		now := s.now()
		var lost bool
		known, err := t.one(into(&lost), `SELECT lost_at IS NOT NULL FROM belfry_nodes WHERE id = ?`, n.ID[:])
		switch {
		case err != nil:
			return err
		case lost:
			return decline(store.ErrLost)
		case known:
			_, err = t.exec(`UPDATE belfry_nodes SET host = ?, pid = ?, version = ?, zone_release = ?, roles = ?, pools = ?, started_at = ?,
				seen_at = ?, lease_until = ? WHERE id = ? AND lost_at IS NULL`, n.Host, n.PID, n.Version, n.ZoneRelease, string(roles), string(pools),
				micros(n.StartedAt), micros(now), micros(now.Add(lease)), n.ID[:])
			return err
		}
		_, err = t.exec(`INSERT INTO belfry_nodes (id, host, pid, version, zone_release, roles, pools, started_at, seen_at, lease_until)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, n.ID[:], n.Host, n.PID, n.Version, n.ZoneRelease, string(roles), string(pools),
			micros(n.StartedAt), micros(now), micros(now.Add(lease)))
		if err != nil {
			return err
		}
		_, err = t.exec(`DELETE FROM belfry_nodes WHERE lost_at < ?
			AND NOT EXISTS (SELECT 1 FROM belfry_runs WHERE lease_node = belfry_nodes.id)`, micros(now.Add(-lostNodeKept)))
		return err
	}})
}

// Leave forgets a node. One that still holds runs stays, or nobody would ever recover them: ErrStale.
func (s *Store) Leave(ctx context.Context, id run.NodeID) error {
	return s.writer.do(ctx, &write{name: "leave", urgent: true, cost: 1, run: func(t *tx) error {
		var held int
		if _, err := t.one(into(&held), `SELECT COUNT(*) FROM belfry_runs WHERE lease_node = ?`, id[:]); err != nil {
			return err
		}
		if held > 0 {
			return decline(fmt.Errorf("node %s still holds %d runs: %w", id, held, store.ErrStale))
		}
		_, err := t.exec(`DELETE FROM belfry_nodes WHERE id = ?`, id[:])
		return err
	}})
}

const selectNodes = `SELECT id, host, pid, version, zone_release, roles, pools, started_at, seen_at, lease_until, lost_at FROM belfry_nodes n`

// Living lists the nodes that hold their lease.
func (s *Store) Living(ctx context.Context) ([]store.Node, error) {
	return s.nodes(ctx, selectNodes+` WHERE lost_at IS NULL AND lease_until > ? ORDER BY id`, micros(s.now()))
}

// Silent lists the nodes that have something to recover, be it the mark that they are lost. One that was seen in the
// future was seen before the clock was set back.
func (s *Store) Silent(ctx context.Context) ([]store.Node, error) {
	now := micros(s.now())
	return s.nodes(ctx, selectNodes+` WHERE (lease_until <= ? OR seen_at > ?)
		AND (lost_at IS NULL OR EXISTS (SELECT 1 FROM belfry_runs r WHERE r.lease_node = n.id)) ORDER BY id`, now, now)
}

func (s *Store) nodes(ctx context.Context, query string, args ...any) (out []store.Node, err error) {
	err = s.read(ctx, "list nodes", func(ctx context.Context) error {
		return s.reads.each(ctx, nil, func(scan func(...any) error) error {
			var n store.Node
			err := scan(ident{(*[16]byte)(&n.ID)}, &n.Host, &n.PID, &n.Version, &n.ZoneRelease, document{&n.Roles}, document{&n.Pools},
				instant{&n.StartedAt}, instant{&n.SeenAt}, instant{&n.LeaseUntil}, instant{&n.LostAt})
			out = append(out, n)
			return err
		}, query, args...)
	})
	return out, err
}
