package planner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// Step does what is due now and returns how long the loop may sleep. It is exported for programs and tests that drive
// the planner by hand; it belongs to one goroutine, and may not be mixed with Run.
func (p *Planner) Step(ctx context.Context) (time.Duration, error) {
	if wait := p.clockTrouble(); wait > 0 {
		return wait, nil
	}
	if err := p.reconcile(ctx); err != nil {
		return 0, err
	}
	window, leading, err := p.loop.Tick(ctx)
	if err != nil {
		return 0, fmt.Errorf("tick: %w", err)
	}
	if !leading {
		p.report(true, "")
		return p.untilWake(), nil
	}
	if wait, err := p.inherit(ctx); err != nil || wait > 0 {
		return wait, err
	}
	if err := p.commit(ctx, window); err != nil {
		return 0, err
	}
	p.report(true, "")
	if len(p.backlog.records) > 0 {
		return 0, nil
	}
	return p.untilWake(), nil
}

// reconcile reads changed definitions: at once after a hint, and otherwise as often as the loop's options say.
func (p *Planner) reconcile(ctx context.Context) error {
	if p.source.hinted && p.loop.Leading() {
		p.source.hinted = false
		return p.loop.ReconcileChanges(ctx)
	}
	return p.loop.Reconcile(ctx)
}

// untilWake is the time to the loop's next duty, never so short that a busy minute becomes a spin.
func (p *Planner) untilWake() time.Duration {
	return max(p.loop.NextWake().Sub(p.o.Clock.Now()), time.Millisecond)
}

// clockTrouble returns how long to wait because the clock cannot be trusted; zero when it can.
func (p *Planner) clockTrouble() time.Duration {
	v, step := p.guard.observe(p.o.Clock.Now(), p.o.Clock.Elapsed())
	switch v {
	case clockStepped:
		p.report(false, fmt.Sprintf("the clock stepped by %v; planning waits until it is undone or has stood for %v", step.Round(time.Millisecond), stepStands))
		return time.Second
	case clockAccepted:
		p.o.Logger.Warn("a step of the clock is accepted", "reason", step.String())
	}
	return 0
}

// inherit does what a planner owes when it leads: distrust a clock that shows a long absence, or one that is as far
// behind; mend what lies ahead of the clock; and load the backlogs that were left open.
func (p *Planner) inherit(ctx context.Context) (time.Duration, error) {
	claim, now := p.loop.Claim(), p.o.Clock.Now()
	if !p.startsDecided {
		p.startsDecided = true
		if absent := now.Sub(claim.CoveredUntil); absent.Abs() > longAbsence {
			p.guard.distrust(absent)
			if wait := p.clockTrouble(); wait > 0 {
				return wait, nil
			}
		}
	}
	if mended, err := p.mend(ctx, claim, now); mended || err != nil {
		return time.Millisecond, err
	}
	if p.epoch == claim.Epoch {
		return 0, nil
	}
	p.o.Logger.Info("leading", "shard", p.o.Shard, "epoch", claim.Epoch, "reason", "claim won")
	return 0, p.loadBacklog(ctx, claim.Epoch)
}

func (p *Planner) loadBacklog(ctx context.Context, epoch uint64) error {
	records, err := p.store.Arrears(ctx, p.o.Shard)
	if err != nil {
		return fmt.Errorf("arrears: %w", err)
	}
	p.backlog, p.opened = backlog{}, map[schedule.ID]time.Time{}
	for _, r := range records {
		var ids []schedule.ID
		for _, e := range p.loop.All() {
			d := e.Payload.(*plan.Definition)
			if compareIDs(d.ID, r.Cursor) <= 0 {
				continue
			}
			// One that cannot be read may owe anything: it is pinned where the backlog begins.
			if due, ok := d.Next(r.From.Add(-1)); d.Broken != "" || ok && due.Before(r.To) {
				ids = append(ids, d.ID)
			}
		}
		p.backlog.add(r, ids)
	}
	p.epoch = epoch
	return nil
}

func (p *Planner) report(ready bool, reason string) {
	claim := p.loop.Claim()
	p.status.Store(&Status{
		Leading: p.loop.Leading(), Ready: ready, Reason: reason, Watermark: claim.CoveredUntil, Epoch: claim.Epoch,
		Schedules: p.loop.Count(), Arrears: p.backlog.size(),
		Inserted: p.totals.inserted, Duplicate: p.totals.duplicate, Gaps: p.totals.gaps,
	})
}

// commit decides the window and writes it.
func (p *Planner) commit(ctx context.Context, w timeline.Window) error {
	work, err := p.decide(ctx, w)
	if err != nil {
		return err
	}
	if work.empty() && p.o.Clock.Now().Sub(p.lastCommit) < p.o.Lease/3 {
		return nil
	}
	// Until a commit is known to have happened, the store knows better than this planner's memory of the backlog.
	epoch := p.epoch
	p.epoch = 0
	ok, err := p.loop.CommitIn(ctx, func(ctx context.Context, old, next timeline.Claim) (timeline.Verdict, error) {
		return p.write(ctx, work, old, next)
	})
	switch {
	case errors.Is(err, timeline.ErrFenced):
		p.o.Logger.Warn("a commit was fenced: another planner leads", "shard", p.o.Shard, "epoch", epoch)
		return nil
	case errors.Is(err, store.ErrHorizon):
		return fmt.Errorf("this planner's clock is ahead of the store's: %w", err)
	case err != nil:
		return fmt.Errorf("commit: %w", err)
	case !ok:
		return nil // an older write of this planner turned out to have landed; the next tick selects again
	}
	p.epoch, p.lastCommit = epoch, p.o.Clock.Now()
	p.settle(work)
	return nil
}
