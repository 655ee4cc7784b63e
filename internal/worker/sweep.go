package worker

import (
	"context"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

// recoverPage is how many runs one transaction recovers.
const recoverPage = 100

// look is what the sweeper saw of a silent node.
type look struct {
	seenAt time.Time
	since  time.Duration // reading of the boot clock at the first look
}

// sweep recovers the runs of nodes that have fallen silent, of every pool. A node is believed silent only if its lease
// has run out by the store's clock and its row did not change between two looks that lie a renewal apart by our own
// clock: a step of the store's clock alone recovers nothing (PROTOCOL B5).
func (w *Worker) sweep(ctx context.Context) {
	looks := map[run.NodeID]look{}
	var seen trouble
	for sleep(w.o.Renew, ctx.Done()) {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		silent, err := w.s.Silent(call)
		cancel()
		if seen.begins(err) && ctx.Err() == nil {
			w.log.Warn("silent nodes cannot be listed", "reason", err)
		}
		if err != nil {
			continue
		}
		looks = w.inspect(ctx, looks, silent)
	}
}

// inspect recovers the nodes that were seen unchanged long enough, and returns what is to be remembered of the others.
func (w *Worker) inspect(ctx context.Context, looks map[run.NodeID]look, silent []store.Node) map[run.NodeID]look {
	now := w.o.Clock.Elapsed()
	next := make(map[run.NodeID]look, len(silent))
	for _, n := range silent {
		before, seen := looks[n.ID]
		if !seen || !before.seenAt.Equal(n.SeenAt) {
			next[n.ID] = look{n.SeenAt, now}
			continue
		}
		next[n.ID] = before
		if now-before.since >= w.patience(ctx, n) {
			w.recover(ctx, n)
		}
	}
	return next
}

// patience is for how long a silent node must be seen unchanged: for a renewal, and for its whole lease if the store's
// clock cannot tell, because it was set back since the node was seen.
func (w *Worker) patience(ctx context.Context, n store.Node) time.Duration {
	now, err := w.s.Now(ctx)
	if err != nil || n.LeaseUntil.After(now) {
		return max(n.LeaseUntil.Sub(n.SeenAt), w.o.Renew)
	}
	return w.o.Renew
}

func (w *Worker) recover(ctx context.Context, n store.Node) {
	total := 0
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		recovered, err := w.s.Recover(call, n.ID, n.SeenAt, recoverPage)
		cancel()
		total += len(recovered)
		for _, r := range recovered {
			w.log.Warn("a run was recovered from a silent node", "run_id", r.Run.String(), "node", n.ID.String(), "reason", r.Status.String(), "was", r.Was.String())
		}
		if err != nil {
			w.log.Warn("a silent node cannot be recovered yet", "node", n.ID.String(), "reason", err)
			return
		}
		if len(recovered) < recoverPage {
			break
		}
	}
	if total > 0 {
		w.log.Warn("a silent node was recovered", "node", n.ID.String(), "host", n.Host, "count", total)
	}
}
