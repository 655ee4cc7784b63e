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
	codeLostWorker    = "LOST_WORKER"
	codeMaxDeliveries = "MAX_DELIVERIES"
	reasonLeaseLost   = "lease_lost"
	maxRecover        = 1000
)

// Recover takes the lease of a silent node. Once it is marked lost it has no more say, so later calls only take what
// runs are left.
func (s *Store) Recover(ctx context.Context, node run.NodeID, seenAt time.Time, limit int) (out []store.Recovered, err error) {
	limit = min(max(limit, 0), maxRecover)
	err = s.writer.do(ctx, &write{name: "recover", urgent: true, cost: 3 * limit, run: func(t *tx) error {
		out = nil
		now := s.now()
		n, err := t.exec(`UPDATE belfry_nodes SET lost_at = COALESCE(lost_at, ?) WHERE id = ? AND seen_at = ?
			AND (lease_until <= ? OR seen_at > ?)`, micros(now), node[:], seenAt.UnixMicro(), micros(now), micros(now))
		if err != nil || n == 0 {
			return err
		}
		out, err = takeLeases(t, node, now, limit)
		t.hint = t.hint || len(out) > 0
		return err
	}})
	if err != nil {
		return nil, err
	}
	return out, nil
}

type leased struct {
	id run.ID
	holding
}

func takeLeases(t *tx, node run.NodeID, now time.Time, limit int) (out []store.Recovered, err error) {
	var runs []leased
	err = t.each(func(scan func(...any) error) error {
		var l leased
		err := scan(append(into(ident{(*[16]byte)(&l.id)}), l.columns()...)...)
		runs = append(runs, l)
		return err
	}, `SELECT id, `+holdingColumns+` FROM belfry_runs WHERE lease_node = ? ORDER BY id`+limitTo(limit), node[:])
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	last, err := reserveFences(t, len(runs))
	if err != nil {
		return nil, err
	}
	for i := range runs {
		l := &runs[i]
		next := afterLoss(&l.holding, now)
		next.fence = last - uint64(len(runs)-1-i)
		if err := takeLease(t, l, next, now); err != nil {
			return nil, err
		}
		out = append(out, store.Recovered{Run: l.id, Status: next.status, Was: l.status})
	}
	return out, nil
}

// fate is what becomes of a run whose lease was taken.
type fate struct {
	status     run.Status
	fence      uint64
	counted    bool      // the lost lease counts as an attempt
	readyAt    time.Time // of a retry
	code, text string
	note       string
}

// afterLoss decides it (PROTOCOL A6). A run of on_lost fail that never started may be delivered again at no risk.
func afterLoss(h *holding, now time.Time) fate {
	atMostOnce := wordAt(onLosts, h.onLost) == schedule.OnLostFail
	switch {
	case atMostOnce && h.status != run.Claimed && h.attempt+1 < h.maxTrys:
		return fate{status: run.RetryScheduled, counted: true, readyAt: now.Add(run.Backoff(h.backoff, h.attempt+1)),
			code: codeLostWorker, text: "the lease of its worker was taken while it ran", note: "lease lost while it ran: counted as an attempt"}
	case atMostOnce && h.status != run.Claimed:
		return fate{status: run.Failed, counted: true,
			code: codeLostWorker, text: "the lease of its worker was taken while it ran", note: "lease lost while it ran, no attempt left"}
	case !atMostOnce && h.deliveries >= h.maxDeliveries && !fault.Without("delivery-bound"):
		return fate{status: run.DeadLetter, code: codeMaxDeliveries, text: "every delivery was lost", note: "lease lost, no delivery left"}
	default:
		return fate{status: run.Pending, note: "lease lost: delivered again"}
	}
}

// takeLease carries it out. A run that does not end keeps its lock (PROTOCOL B7).
func takeLease(t *tx, l *leased, next fate, now time.Time) error {
	err := insertAttempt(t, run.Attempt{Run: l.id, N: l.deliveries, Node: l.node, Fence: l.holding.fence, StartedAt: l.started, FinishedAt: now,
		Outcome: run.Pending, ErrorCode: codeLostWorker, Error: "the lease of its worker was taken"})
	if err != nil {
		return err
	}
	err = record(t, run.Event{Run: l.id, At: now, From: l.status, To: next.status, Node: l.node, Note: next.note})
	if err != nil {
		return err
	}
	query := `UPDATE belfry_runs SET status = ?, reason = ?, fence = ?, attempt = attempt + ?, lease_node = NULL, `
	args := []any{next.status, reasonLeaseLost, next.fence, flag(next.counted)}
	if next.code != "" {
		query += `error_code = ?, error = ?, `
		args = append(args, next.code, next.text)
	}
	switch {
	case next.status.Final():
		query += `lock_held = NULL, finished_at = ?, unwell_at = due_at`
		args = append(args, micros(now))
	case next.status == run.RetryScheduled:
		query += `available_at = ?, ready_at = ?, node_id = NULL, claimed_at = NULL, started_at = NULL`
		args = append(args, micros(next.readyAt), micros(next.readyAt))
	default:
		query += `ready_at = available_at, node_id = NULL, claimed_at = NULL, started_at = NULL`
	}
	_, err = t.exec(query+` WHERE id = ? AND lease_node = ?`, slices.Concat(args, []any{l.id[:], l.node[:]})...)
	return err
}
