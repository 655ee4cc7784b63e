package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// Settle writes how executions ended. Time plays no part: a lease is lost by being taken (PROTOCOL B4).
func (s *Store) Settle(ctx context.Context, node run.NodeID, outcomes []store.Outcome) ([]store.Refused, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leaveChanged()
	for _, o := range outcomes {
		if !o.Status.Final() && o.Status != run.RetryScheduled {
			return nil, fmt.Errorf("store: %s is not how an execution ends", o.Status)
		}
	}
	var refused []store.Refused
	for _, o := range outcomes {
		r := s.runs[o.Run]
		switch {
		case r == nil:
			refused = append(refused, store.Refused{Held: o.Held})
		case s.heldRow(o.Held) != nil:
			s.settle(r, o)
		case r.Fence == o.Fence && r.Status == o.Status:
			// the reply to the first one was lost (PROTOCOL B2)
		default:
			refused = append(refused, store.Refused{Held: o.Held, Status: r.Status})
		}
	}
	return refused, nil
}

func (s *Store) settle(r *row, o store.Outcome) {
	if !o.StartedAt.IsZero() {
		r.StartedAt = micro(o.StartedAt)
	}
	r.keep(o.Output)
	if o.Answered {
		r.Attempt++
		if r.Deliveries > 1 || o.Status != run.Succeeded || o.OutputBytes > 0 {
			r.attempts = append(r.attempts, attemptOf(r, o))
		}
	}
	r.Reason, r.ErrorCode, r.Error = o.Reason, o.ErrorCode, o.Error
	r.ExitCode, r.OutputBytes, r.OutputTruncated = copied(o.ExitCode), o.OutputBytes, o.Truncated
	if o.Status == run.RetryScheduled {
		r.ReadyAt = micro(o.ReadyAt)
	} else {
		r.FinishedAt = micro(o.FinishedAt)
	}
	switch o.Status {
	case run.Succeeded, run.Failed:
		s.set(r, o.Status)
	default:
		s.become(r, o.Status, o.Reason)
	}
}

// attemptOf is the record of an execution that gave an answer. A retry is what becomes of the run; the attempt failed.
func attemptOf(r *row, o store.Outcome) run.Attempt {
	outcome := run.Failed
	if o.Status == run.Succeeded {
		outcome = run.Succeeded
	}
	return run.Attempt{
		Run: r.ID, N: r.Deliveries, Node: r.Node, Fence: r.Fence, StartedAt: r.StartedAt, FinishedAt: micro(o.FinishedAt),
		Outcome: outcome, ErrorCode: o.ErrorCode, Error: o.Error, ExitCode: copied(o.ExitCode),
		OutputBytes: o.OutputBytes, Truncated: o.Truncated,
	}
}

// Recover takes a lease. A node that is lost already has no more say, so only its remaining runs are left to recover.
func (s *Store) Recover(ctx context.Context, node run.NodeID, seenAt time.Time, limit int) ([]store.Recovered, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leaveChanged()
	n := s.nodes[node]
	if n == nil || !n.SeenAt.Equal(micro(seenAt)) || !s.silent(n) {
		return nil, nil
	}
	if n.LostAt.IsZero() {
		n.LostAt = s.now()
	}
	var out []store.Recovered
	for _, r := range s.heldBy(node) {
		if len(out) == limit {
			break
		}
		was := r.Status
		s.recover(r)
		out = append(out, store.Recovered{Run: r.ID, Status: r.Status, Was: was})
	}
	return out, nil
}

// heldBy lists the runs that a node has in hand.
func (s *Store) heldBy(node run.NodeID) []*row {
	var rows []*row
	for _, r := range s.live {
		if r.Node == node && inHand(r.Status) {
			rows = append(rows, r)
		}
	}
	return rows
}

// recover takes one run from its node (PROTOCOL A6). The new fence is what the old holder is refused by.
func (s *Store) recover(r *row) {
	now := s.now()
	r.attempts = append(r.attempts, run.Attempt{
		Run: r.ID, N: r.Deliveries, Node: r.Node, Fence: r.Fence, StartedAt: r.StartedAt, FinishedAt: now,
		Outcome: run.Pending, ErrorCode: codeLost, Error: "the lease of its worker was taken",
	})
	s.fence++
	r.Fence = s.fence
	r.Reason = "lease_lost"
	atMostOnce := r.OnLost == schedule.OnLostFail
	if atMostOnce && r.Status != run.Claimed {
		r.Attempt++
		r.ErrorCode, r.Error = codeLost, "the lease of its worker was taken while it ran"
		if r.Attempt < r.MaxAttempts {
			r.ReadyAt = now.Add(retryDelay(r.Backoff, r.Attempt))
			s.become(r, run.RetryScheduled, "lease lost while it ran: counted as an attempt")
		} else {
			r.FinishedAt = now
			s.become(r, run.Failed, "lease lost while it ran, no attempt left")
			return
		}
	} else if !atMostOnce && r.Deliveries >= r.MaxDeliveries {
		r.ErrorCode, r.Error, r.FinishedAt = "MAX_DELIVERIES", "every delivery was lost", now
		s.become(r, run.DeadLetter, "lease lost, no delivery left")
		return
	} else {
		s.become(r, run.Pending, "lease lost: delivered again")
	}
	r.Node, r.ClaimedAt, r.StartedAt = run.NodeID{}, time.Time{}, time.Time{}
}

const codeLost = "LOST_WORKER"

// retryDelay doubles with every attempt, up to a day or the backoff itself if that is longer.
func retryDelay(backoff time.Duration, attempt int) time.Duration {
	limit := max(24*time.Hour, backoff)
	delay := backoff
	for range attempt - 1 {
		if delay *= 2; delay >= limit {
			return limit
		}
	}
	return delay
}

func copied(code *int) *int {
	if code == nil {
		return nil
	}
	c := *code
	return &c
}

// detached returns a copy that shares nothing with the store.
func detached(r run.Run) run.Run {
	r.ExitCode = copied(r.ExitCode)
	if r.Misfire != nil {
		m := *r.Misfire
		r.Misfire = &m
	}
	return r
}
