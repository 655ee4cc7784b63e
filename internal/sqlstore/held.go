package sqlstore

import (
	"context"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

// inHand lists the statuses under which a worker has a run, for statements. The fence says which worker.
const inHand = `(3, 4, 5)` // claimed, running, waiting

// selectHeld finds a run that is held under a fence.
const selectHeld = `SELECT status FROM belfry_runs WHERE id = ? AND fence = ? AND status IN ` + inHand

// Start marks runs as running, so that an edit no longer takes them back. One that is running already under this fence
// may go on: the reply to the first call was lost.
func (s *Store) Start(ctx context.Context, started []store.Started) (lost []store.Held, err error) {
	err = s.writer.do(ctx, &write{name: "start", point: "start", cost: len(started), run: func(t *tx) error {
		lost = nil
		for _, h := range started {
			n, err := t.exec(`UPDATE belfry_runs SET status = ?, started_at = ? WHERE id = ? AND fence = ? AND status = ?`,
				run.Running, micros(h.At), h.Run[:], h.Fence, run.Claimed)
			if err != nil {
				return err
			}
			if n == 1 {
				continue
			}
			held, err := t.one(into(new(run.Status)), selectHeld, h.Run[:], h.Fence)
			if err != nil {
				return err
			}
			if !held {
				lost = append(lost, h.Held)
			}
		}
		return nil
	}})
	return lost, err
}

// Lost lists what the caller does not hold any more. It reads beside the writer.
func (s *Store) Lost(ctx context.Context, held []store.Held) (lost []store.Held, err error) {
	for _, h := range held {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// without the caller's context, which would cost a goroutine for each of the lookups; each is one row by its key
		found := false
		err := s.reads.each(context.WithoutCancel(ctx), nil, func(func(...any) error) error {
			found = true
			return nil
		}, selectHeld, h.Run[:], h.Fence)
		if err != nil {
			return nil, s.wrap("confirm held runs", err)
		}
		if !found {
			lost = append(lost, h)
		}
	}
	return lost, nil
}

// Release undoes claims of runs that did not start. The lock stays with a run that owned it before this claim.
func (s *Store) Release(ctx context.Context, held []store.Held) error {
	return s.writer.do(ctx, &write{name: "release", cost: 2 * len(held), run: func(t *tx) error {
		for _, h := range held {
			var node run.NodeID
			found, err := t.one(into(ident{(*[16]byte)(&node)}),
				`SELECT node_id FROM belfry_runs WHERE id = ? AND fence = ? AND status = ?`, h.Run[:], h.Fence, run.Claimed)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			_, err = t.exec(`UPDATE belfry_runs SET status = ?, ready_at = available_at, node_id = NULL, lease_node = NULL, claimed_at = NULL,
				lock_held = CASE WHEN deliveries > 1 THEN lock_held ELSE NULL END, deliveries = deliveries - 1
				WHERE id = ? AND fence = ?`, run.Pending, h.Run[:], h.Fence)
			if err != nil {
				return err
			}
			t.hint = true
			err = record(t, run.Event{Run: h.Run, At: s.now(), From: run.Claimed, To: run.Pending, Node: node, Note: "released before its start"})
			if err != nil {
				return err
			}
		}
		return nil
	}})
}

// Output appends what a run has printed. A chunk that is there already was sent again and is left alone.
func (s *Store) Output(ctx context.Context, h store.Held, chunks []store.Chunk) error {
	return s.writer.do(ctx, &write{name: "append output", cost: 1 + len(chunks), run: func(t *tx) error {
		held, err := t.one(into(new(run.Status)), selectHeld, h.Run[:], h.Fence)
		if err == nil && !held && !fault.Without("fence-outcome") {
			return decline(store.ErrLost)
		}
		if err != nil {
			return err
		}
		return putChunks(t, h.Run, chunks)
	}})
}

func putChunks(t *tx, id run.ID, chunks []store.Chunk) error {
	for _, c := range chunks {
		data := c.Data
		if data == nil {
			data = []byte{}
		}
		_, err := t.exec(`INSERT INTO belfry_outputs (run_id, n, seq, stream, data) VALUES (?, ?, ?, ?, ?)`+
			t.w.dialect.OnConflictNothing("run_id, n, seq"), id[:], c.Delivery, c.Seq, c.Stream, data)
		if err != nil {
			return err
		}
	}
	return nil
}

// record writes a transition off the plain path into the run's history.
func record(t *tx, e run.Event) error {
	_, err := t.exec(`INSERT INTO belfry_history (run_id, seq, at, from_status, to_status, node_id, note)
		SELECT ?, COALESCE(MAX(seq), 0) + 1, ?, ?, ?, ?, ? FROM belfry_history WHERE run_id = ?`,
		e.Run[:], micros(e.At), e.From, e.To, blob(e.Node), e.Note, e.Run[:])
	return err
}
