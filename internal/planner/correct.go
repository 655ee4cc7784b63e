package planner

import (
	"context"
	"fmt"
	"time"

	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// ahead holds the schedules that were read with an instant which lies far ahead of the clock: somebody changed them
// while it was wrong, and they would wait for that clock (PROTOCOL A9).
type ahead map[schedule.ID]time.Time

// saw takes a row into account, as it was read last.
func (a ahead) saw(r schedule.Row, now time.Time) {
	if newest := newestInstant(r); newest.After(now.Add(store.FarAhead)) {
		a[r.ID] = newest
	} else {
		delete(a, r.ID)
	}
}

// newestInstant is the latest one at which the definition changed, as far as its row shows: one that is paused from its
// beginning shows it by its pin alone.
func newestInstant(r schedule.Row) (newest time.Time) {
	if r.Dirty {
		newest = r.Pin
	}
	for _, s := range r.Spans {
		newest = later(newest, later(s.From, s.To))
	}
	return newest
}

// beyond counts the schedules that are far ahead of an instant, without those that were corrected as they are: what a
// correction leaves as it was, another one would leave as well.
func (a ahead) beyond(now time.Time, corrected ahead) (n int) {
	for id, newest := range a {
		if newest.After(now.Add(store.FarAhead)) && !newest.Equal(corrected[id]) {
			n++
		}
	}
	return n
}

// fromTheFuture counts the schedules that a wrong clock wrote. They carry instants of the store's clock, which is the one
// that has to be asked.
func (p *Planner) fromTheFuture(ctx context.Context, now time.Time) (int, error) {
	if p.source.ahead.beyond(now, p.corrected) == 0 {
		return 0, nil
	}
	stored, err := p.store.Now(ctx)
	if err != nil {
		return 0, fmt.Errorf("the store's clock: %w", err)
	}
	return p.source.ahead.beyond(later(now, stored), p.corrected), nil
}

// mend corrects what lies ahead of the clock, the watermark or definitions, and reports whether there was anything.
func (p *Planner) mend(ctx context.Context, claim timeline.Claim, now time.Time) (bool, error) {
	schedules, err := p.fromTheFuture(ctx, now)
	if err != nil {
		return false, err
	}
	by := claim.CoveredUntil.Sub(now)
	if by <= p.o.Lead+stepBound && schedules == 0 {
		return false, nil
	}
	if err := p.correct(ctx, claim, now); err != nil {
		return true, err
	}
	if by > p.o.Lead+stepBound {
		p.o.Logger.Warn("the watermark was ahead of the clock and was set back", "shard", p.o.Shard, "reason", by.String())
	}
	if schedules > 0 {
		p.o.Logger.Warn("schedules were ahead of the clock and were set back", "shard", p.o.Shard, "count", schedules)
	}
	return true, p.renewLoop()
}

// correct sets the ledger back to the clock, the one exception to the watermark's never going back (PROTOCOL A9). The
// caller begins anew, with a loop that knows nothing of what was.
func (p *Planner) correct(ctx context.Context, claim timeline.Claim, now time.Time) error {
	next := claim
	next.Epoch++
	next.Nonce = fmt.Sprintf("%x", p.o.NewID())
	if err := p.store.Correct(ctx, p.o.Shard, claim, next, now); err != nil {
		return fmt.Errorf("correct what is ahead of the clock: %w", err)
	}
	p.corrected = p.source.ahead
	return nil
}
