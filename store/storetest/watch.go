package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// watched looks at every row after every write and holds it to the rules that no single call could show broken:
//
//   - a status changes only as run.Status.CanBecome says, and a run that has ended never changes at all (R-STA-3);
//   - a run vanishes only before its start (PROTOCOL A2);
//   - an occurrence has one run at most (P2), a lock one run in hand at most (R-OVL);
//   - fences, attempts and revisions of what a run executes never go back (P4, C10);
//   - the watermark never moves back, but by Correct (P3).
//
// Every method of the store that writes is overridden here; it is for one goroutine.
type watched struct {
	store.Store
	t         *testing.T
	seen      map[run.ID]run.Run
	watermark map[int]time.Time
}

func watch(t *testing.T, s store.Store) *watched {
	return &watched{Store: s, t: t, seen: map[run.ID]run.Run{}, watermark: map[int]time.Time{}}
}

// look reads every run and compares it with what it was.
func (w *watched) look(call string) {
	w.t.Helper()
	now := map[run.ID]run.Run{}
	for q := (store.RunQuery{Page: store.Page{Limit: 1000}}); ; {
		items, next, err := w.Store.Runs(context.Background(), q)
		if err != nil {
			w.t.Errorf("%s: reading the runs: %v", call, err)
			return
		}
		for _, r := range items {
			now[r.ID] = r
		}
		if q.After = next; next == "" {
			break
		}
	}
	w.lookAtKeys(call, now)
	for id, was := range w.seen {
		is, exists := now[id]
		switch {
		case !exists:
			if was.Kind != run.Scheduled || was.Status != run.Pending && was.Status != run.Claimed {
				w.t.Errorf("%s: a run of kind %s that was %s has vanished", call, was.Kind, was.Status)
			}
		case was.Status != is.Status && !was.Status.CanBecome(is.Status):
			w.t.Errorf("%s: a run went from %s to %s", call, was.Status, is.Status)
		case was.Status.Final() && !sameRun(was, is):
			w.t.Errorf("%s: a run that was %s has changed:\n%+v\n%+v", call, was.Status, was, is)
		case is.Fence < was.Fence || is.Attempt < was.Attempt || is.Revision != was.Revision:
			w.t.Errorf("%s: fence, attempt or revision of a run went from %d, %d, %d to %d, %d, %d", call,
				was.Fence, was.Attempt, was.Revision, is.Fence, is.Attempt, is.Revision)
		}
	}
	w.seen = now
	w.lookAtWatermark(call)
}

func (w *watched) lookAtKeys(call string, runs map[run.ID]run.Run) {
	type occurrence struct {
		tenant   string
		schedule schedule.ID
		due      int64
	}
	type lock struct{ tenant, key string }
	occurrences, locks, fences := map[occurrence]bool{}, map[lock]bool{}, map[uint64]bool{}
	for _, r := range runs {
		o, l := occurrence{r.Tenant, r.Schedule, r.Due.UnixMicro()}, lock{r.Tenant, r.LockKey}
		if r.Kind == run.Scheduled && occurrences[o] {
			w.t.Errorf("%s: two runs stand for schedule %s at %s", call, r.Schedule, r.Due)
		}
		occurrences[o] = occurrences[o] || r.Kind == run.Scheduled
		inHand := r.Status == run.Claimed || r.Status == run.Running || r.Status == run.Waiting
		if inHand && r.LockKey != "" && locks[l] {
			w.t.Errorf("%s: two runs in hand share the lock %q of tenant %q", call, r.LockKey, r.Tenant)
		}
		locks[l] = locks[l] || inHand
		if r.Fence != 0 && fences[r.Fence] {
			w.t.Errorf("%s: two runs have the fence %d", call, r.Fence)
		}
		fences[r.Fence] = true
	}
}

func (w *watched) lookAtWatermark(call string) {
	for shard := range 2 {
		claim, _, err := w.Store.Planner(context.Background(), shard)
		if err != nil {
			w.t.Errorf("%s: reading the claim: %v", call, err)
		}
		if claim.CoveredUntil.Before(w.watermark[shard]) {
			w.t.Errorf("%s: the watermark went back from %s to %s", call, w.watermark[shard], claim.CoveredUntil)
		}
		w.watermark[shard] = claim.CoveredUntil
	}
}

// sameRun compares what a run says about itself; its schedule may have got another name since.
func sameRun(a, b run.Run) bool {
	a.ScheduleName, b.ScheduleName = "", ""
	return equal(a, b)
}

// failed holds an error to what it promises: who gets one has written nothing that rows could show.
func (w *watched) failed(call string, err error) {
	w.t.Helper()
	before := w.seen
	w.look(call)
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	if !equal(before, w.seen) {
		w.t.Errorf("%s: answered %v and wrote", call, err)
	}
}

func (w *watched) For(shard int) timeline.ClaimStore {
	return watchedClaim{w.Store.For(shard), w}
}

type watchedClaim struct {
	timeline.ClaimStore
	w *watched
}

func (c watchedClaim) Swap(ctx context.Context, old *timeline.Claim, next timeline.Claim) (bool, error) {
	c.w.t.Helper()
	done, err := c.ClaimStore.Swap(ctx, old, next)
	c.w.failed("Swap", err)
	return done, err
}

func (w *watched) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	w.t.Helper()
	done, err := w.Store.Commit(ctx, c)
	w.failed("Commit", err)
	return done, err
}

func (w *watched) Correct(ctx context.Context, shard int, old, next timeline.Claim, at time.Time) error {
	w.t.Helper()
	err := w.Store.Correct(ctx, shard, old, next, at)
	if err == nil {
		w.watermark[shard] = time.Time{}
	}
	w.failed("Correct", err)
	return err
}

func (w *watched) Take(ctx context.Context, t store.Take) (store.Taken, error) {
	w.t.Helper()
	taken, err := w.Store.Take(ctx, t)
	w.failed("Take", err)
	return taken, err
}

func (w *watched) Start(ctx context.Context, started []store.Started) ([]store.Held, error) {
	w.t.Helper()
	lost, err := w.Store.Start(ctx, started)
	w.failed("Start", err)
	return lost, err
}

func (w *watched) Settle(ctx context.Context, node run.NodeID, outcomes []store.Outcome) ([]store.Refused, error) {
	w.t.Helper()
	refused, err := w.Store.Settle(ctx, node, outcomes)
	w.failed("Settle", err)
	return refused, err
}

func (w *watched) Release(ctx context.Context, held []store.Held) error {
	w.t.Helper()
	err := w.Store.Release(ctx, held)
	w.failed("Release", err)
	return err
}

func (w *watched) Recover(ctx context.Context, node run.NodeID, seenAt time.Time, limit int) ([]store.Recovered, error) {
	w.t.Helper()
	recovered, err := w.Store.Recover(ctx, node, seenAt, limit)
	w.failed("Recover", err)
	return recovered, err
}

func (w *watched) Apply(ctx context.Context, a store.Apply) (store.Applied, error) {
	w.t.Helper()
	done, err := w.Store.Apply(ctx, a)
	w.failed("Apply", err)
	return done, err
}

func (w *watched) Pause(ctx context.Context, id schedule.ID, p schedule.Pause) (store.Change, error) {
	w.t.Helper()
	c, err := w.Store.Pause(ctx, id, p)
	w.failed("Pause", err)
	return c, err
}

func (w *watched) Resume(ctx context.Context, id schedule.ID, by string, catchUp bool) (store.Change, error) {
	w.t.Helper()
	c, err := w.Store.Resume(ctx, id, by, catchUp)
	w.failed("Resume", err)
	return c, err
}
