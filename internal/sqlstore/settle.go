package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

// Settle writes outcomes under their fences. Time plays no part: a lease is lost by being taken (PROTOCOL B4).
func (s *Store) Settle(ctx context.Context, _ run.NodeID, outcomes []store.Outcome) (refused []store.Refused, err error) {
	cost := 0
	for i := range outcomes {
		if st := outcomes[i].Status; !st.Final() && st != run.RetryScheduled {
			return nil, fmt.Errorf("settle: %s is not how an execution ends", st)
		}
		cost += 1 + len(outcomes[i].Output)
	}
	err = s.writer.do(ctx, &write{name: "settle", point: "settle", cost: cost, run: func(t *tx) error {
		refused = nil
		for i := range outcomes {
			o := &outcomes[i]
			now, ok, err := s.settle(t, o)
			if err != nil {
				return fmt.Errorf("%s: %w", o.Run, err)
			}
			if !ok {
				refused = append(refused, store.Refused{Held: o.Held, Status: now})
			}
		}
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return refused, nil
}

// settle writes one outcome. If it is refused it returns what the run is now.
func (s *Store) settle(t *tx, o *store.Outcome) (run.Status, bool, error) {
	if plain(o) {
		if done, err := settlePlain(t, o); done || err != nil {
			return o.Status, done, err
		}
	}
	var was holding
	found, err := t.one(was.columns(), selectHolding, o.Run[:])
	switch {
	case err != nil || !found:
		return 0, false, err
	case !was.underFence(o.Fence):
		// an equal outcome under the same fence: the reply to the first one was lost (PROTOCOL B2)
		return was.status, was.fence == o.Fence && was.status == o.Status, nil
	}
	t.hint = t.hint || was.locked || o.Status == run.RetryScheduled
	return o.Status, true, s.settleHeld(t, o, &was)
}

// plain tells whether the outcome needs a row of its own nowhere: a first success without output, which is most of them.
func plain(o *store.Outcome) bool {
	return o.Status == run.Succeeded && o.Answered && o.OutputBytes == 0 && len(o.Output) == 0 && !fault.Without("fence-outcome")
}

// settlePlain settles in one statement if it is the first delivery and there is no lock to free.
func settlePlain(t *tx, o *store.Outcome) (bool, error) {
	n, err := t.exec(`UPDATE belfry_runs SET status = ?, reason = ?, lease_node = NULL, attempt = attempt + 1,
		started_at = COALESCE(?, started_at), finished_at = ?, error_code = ?, error = ?, exit_code = ?, output_bytes = 0, output_truncated = ?
		WHERE id = ? AND fence = ? AND status IN `+inHand+` AND deliveries = 1 AND lock_held IS NULL`,
		o.Status, o.Reason, micros(o.StartedAt), micros(o.FinishedAt), o.ErrorCode, o.Error, o.ExitCode, flag(o.Truncated), o.Run[:], o.Fence)
	return n == 1, err
}

// holding is what must be known of a run to settle or recover it.
type holding struct {
	status                 run.Status
	fence                  uint64
	node                   run.NodeID
	started                time.Time
	deliveries, attempt    int
	maxDeliveries, maxTrys int
	onLost                 int
	backoff                time.Duration
	locked                 bool
}

const holdingColumns = `status, fence, node_id, started_at, deliveries, attempt, max_deliveries, max_attempts, on_lost, backoff,
	CASE WHEN lock_held IS NULL THEN 0 ELSE 1 END`

const selectHolding = `SELECT ` + holdingColumns + ` FROM belfry_runs WHERE id = ?`

func (h *holding) columns() []any {
	return into(&h.status, &h.fence, ident{(*[16]byte)(&h.node)}, instant{&h.started}, &h.deliveries, &h.attempt,
		&h.maxDeliveries, &h.maxTrys, &h.onLost, &h.backoff, &h.locked)
}

// underFence tells whether a worker has the run in hand under this fence.
func (h *holding) underFence(fence uint64) bool {
	if fault.Without("fence-outcome") {
		return !h.status.Final()
	}
	return h.fence == fence && (h.status == run.Claimed || h.status == run.Running || h.status == run.Waiting)
}

func (s *Store) settleHeld(t *tx, o *store.Outcome, was *holding) error {
	if err := putChunks(t, o.Run, o.Output); err != nil {
		return err
	}
	if o.Answered && (was.deliveries > 1 || o.Status != run.Succeeded || o.OutputBytes > 0) {
		if err := insertAttempt(t, answered(o, was)); err != nil {
			return err
		}
	}
	if o.Status != run.Succeeded && o.Status != run.Failed {
		err := record(t, run.Event{Run: o.Run, At: s.now(), From: was.status, To: o.Status, Node: was.node, Note: o.Reason})
		if err != nil {
			return err
		}
	}
	query := `UPDATE belfry_runs SET status = ?, reason = ?, lease_node = NULL, attempt = attempt + ?, started_at = COALESCE(?, started_at),
		error_code = ?, error = ?, exit_code = ?, output_bytes = ?, output_truncated = ?, `
	args := []any{o.Status, o.Reason, flag(o.Answered), micros(o.StartedAt), o.ErrorCode, o.Error, o.ExitCode, o.OutputBytes, flag(o.Truncated)}
	switch o.Status {
	case run.RetryScheduled:
		query += `available_at = ?, ready_at = ? WHERE id = ? AND fence = ?` // it keeps its lock (PROTOCOL B7)
		args = append(args, o.ReadyAt.UnixMicro(), o.ReadyAt.UnixMicro())
	case run.Succeeded:
		query += `finished_at = ?, lock_held = NULL WHERE id = ? AND fence = ?`
		args = append(args, micros(o.FinishedAt))
	default:
		query += `finished_at = ?, lock_held = NULL, unwell_at = due_at WHERE id = ? AND fence = ?`
		args = append(args, micros(o.FinishedAt))
	}
	_, err := t.exec(query, append(args, o.Run[:], was.fence)...)
	return err
}

// answered is the record of an execution that gave an answer. A retry is what becomes of the run; the attempt failed.
func answered(o *store.Outcome, was *holding) run.Attempt {
	a := run.Attempt{Run: o.Run, N: was.deliveries, Node: was.node, Fence: was.fence, StartedAt: o.StartedAt, FinishedAt: o.FinishedAt,
		Outcome: run.Failed, ErrorCode: o.ErrorCode, Error: o.Error, ExitCode: o.ExitCode, OutputBytes: o.OutputBytes, Truncated: o.Truncated}
	if o.Status == run.Succeeded {
		a.Outcome = run.Succeeded
	}
	if a.StartedAt.IsZero() {
		a.StartedAt = was.started
	}
	return a
}

func insertAttempt(t *tx, a run.Attempt) error {
	_, err := t.exec(`INSERT INTO belfry_attempts (run_id, n, node_id, fence, started_at, finished_at, outcome, error_code, error,
		exit_code, output_bytes, truncated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		a.Run[:], a.N, blob(a.Node), a.Fence, micros(a.StartedAt), micros(a.FinishedAt), a.Outcome, a.ErrorCode, a.Error,
		a.ExitCode, a.OutputBytes, flag(a.Truncated))
	return err
}
