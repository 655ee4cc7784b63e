package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// planning are the operations of planners.
func planning() []operation {
	return []operation{
		{"commit", 20, planners, randomCommit},
		{"swap", 3, planners, randomSwap},
		{"correct", 1, planners, randomCorrect},
	}
}

func randomSwap(p *pair) (string, [2]any) {
	next, old := p.claim, p.claim
	p.made++
	next.Token, next.Nonce = fmt.Sprint("planner ", p.r.IntN(2)), fmt.Sprint("n", p.made)
	next.ExpiresAt, next.SyncedUntil = p.clk.Now().Add(5*time.Second), p.clk.Now()
	if next.Epoch == 0 {
		next.CoveredUntil = p.clk.Now()
	}
	next.Epoch++
	if p.chance(5) {
		old.Nonce = "stale"
	}
	previous := &old
	if p.claim.Epoch == 0 || p.chance(10) {
		previous = nil
	}
	answers := p.both(func(ctx context.Context, _ int, s store.Store) (any, error) {
		return s.For(0).Swap(ctx, previous, next)
	})
	if answers[0] == true {
		p.claim = next
	}
	return fmt.Sprintf("%s epoch %d", next.Token, next.Epoch), answers
}

func randomCorrect(p *pair) (string, [2]any) {
	next := p.claim
	p.made++
	next.Nonce = fmt.Sprint("n", p.made)
	next.Epoch++
	at := p.claim.CoveredUntil.Add(-time.Duration(p.r.IntN(300)) * time.Second)
	next.CoveredUntil = at
	answers := p.both(func(ctx context.Context, _ int, s store.Store) (any, error) {
		return nil, s.Correct(ctx, 0, p.claim, next, at)
	})
	if !failed(answers) {
		p.claim = next
		gaps := p.allGaps(p.stores[0])
		p.occupied = map[gapKey]bool{}
		for _, g := range gaps {
			p.occupied[gapKey{g.Schedule, g.First.UnixMicro(), g.Reason}] = true
		}
		arrears, err := p.stores[0].Arrears(p.Context(), 0)
		if err != nil {
			p.Fatal(err)
		}
		p.arrears = arrears
	}
	return at.String(), answers
}

func randomCommit(p *pair) (string, [2]any) {
	old, next := p.claim, p.claim
	p.made++
	next.Nonce = fmt.Sprint("n", p.made)
	next.CoveredUntil = next.CoveredUntil.Add(time.Duration(p.r.IntN(60)) * time.Second)
	switch p.r.IntN(30) {
	case 0:
		old.Nonce = "stale"
	case 1:
		next.CoveredUntil = p.clk.Now().Add(3*time.Second + time.Microsecond)
	case 2:
		next.CoveredUntil = next.CoveredUntil.Add(-time.Hour)
	case 3, 4, 5:
		next.CoveredUntil = p.clk.Now() // catches up
	}
	if !p.claim.CoveredUntil.IsZero() && p.claim.CoveredUntil.After(next.CoveredUntil) && p.chance(2) {
		next.CoveredUntil = p.claim.CoveredUntil
	}
	c := store.Commit{Old: old, Next: next, Lead: 2 * time.Second}
	rows := p.rowsOf(p.stores[0])
	for _, row := range rows {
		if p.chance(3) {
			c.Plans = append(c.Plans, p.randomPlan(row))
		}
	}
	if p.chance(40) {
		c.Plans = append(c.Plans, store.Plan{Schedule: schedule.ID(p.newID()), Change: 1, From: p.clk.Now()})
	}
	c.Arrears = p.randomArrears()
	answers := p.both(func(ctx context.Context, _ int, s store.Store) (any, error) {
		done, err := s.Commit(ctx, c)
		done.LeftOut = sorted(done.LeftOut)
		return done, err
	})
	if done, ok := answers[0].(store.Committed); ok {
		p.claim = next
		p.remember(c, done.LeftOut)
	}
	return fmt.Sprintf("%d plans, %d arrears, until %s, old nonce %s: %v", len(c.Plans), len(c.Arrears), next.CoveredUntil, old.Nonce, answers[0]), answers
}

// randomPlan plans one schedule: a few runs of the minutes around now, some of which exist, and gaps.
func (p *pair) randomPlan(row schedule.Row) store.Plan {
	plan := store.Plan{Schedule: row.ID, Tenant: row.Tenant, Change: row.Change, From: p.instant()}
	if p.chance(10) {
		plan.Change--
	}
	for range p.r.IntN(4) {
		plan.Runs = append(plan.Runs, p.randomRun(row))
	}
	if p.chance(3) {
		g := p.randomGap(row)
		if key := (gapKey{row.ID, g.First.UnixMicro(), g.Reason}); !p.occupied[key] || p.chance(10) {
			plan.Gaps = append(plan.Gaps, g)
		}
	}
	switch p.r.IntN(5) {
	case 0:
		plan.Pin, plan.OpenedAt, plan.PinReason = p.instant(), p.clk.Now(), "draining"
	case 1, 2:
		plan.Unpin = true
	case 3:
		plan.Pin, plan.Quarantine = p.instant(), "cannot be read"
	}
	return plan
}

func (p *pair) randomRun(row schedule.Row) run.Run {
	due := p.instant()
	r := run.Run{
		ID: p.newID(), Tenant: row.Tenant, Schedule: row.ID, Revision: uint64(1 + p.r.IntN(2)), Kind: run.Scheduled, Status: run.Pending,
		Due: due, ReadyAt: due, Pool: []string{"a", "b"}[row.ID[0]%2], Overlap: schedule.OverlapAllow, MaxAttempts: 1 + p.r.IntN(3),
		MaxDeliveries: 1 + p.r.IntN(3), OnLost: schedule.OnLostRedeliver, Epoch: p.claim.Epoch,
	}
	if p.chance(3) {
		r.ReadyAt = due.Add(time.Duration(p.r.IntN(30)) * time.Second)
	}
	if row.ID[1]%2 == 0 {
		r.LockKey, r.Overlap = "lock", schedule.OverlapSkip // one for all such schedules of a tenant
	}
	if p.chance(4) {
		r.OnLost, r.Backoff = schedule.OnLostFail, time.Duration(p.r.IntN(60))*time.Second
	}
	if p.chance(8) {
		r.Kind = run.Manual
	}
	if p.chance(4) {
		r.Misfire = &run.Misfire{Policy: schedule.MisfireOnce, Superseded: p.r.IntN(9)}
	}
	return r
}

func (p *pair) randomGap(row schedule.Row) run.Gap {
	first := p.instant()
	n := p.r.IntN(5)
	return run.Gap{
		ID: p.newID(), Tenant: row.Tenant, Schedule: row.ID, Revision: 1, Policy: schedule.MisfireSkip, First: first,
		Reason: []run.Reason{run.Missed, run.TooOld}[p.r.IntN(2)], Last: first.Add(time.Duration(n) * time.Minute), Count: n + 1, Epoch: p.claim.Epoch,
	}
}

func (p *pair) randomArrears() (out []store.Arrears) {
	if p.chance(10) {
		from := p.instant()
		out = append(out, store.Arrears{From: from, To: from.Add(time.Hour), OpenedAt: p.clk.Now()})
	}
	if a, ok := pick(p, p.arrears); ok && p.chance(3) && (len(out) == 0 || !out[0].From.Equal(a.From)) {
		a.Cursor = p.someSchedule()
		a.Done = p.chance(2)
		out = append(out, a)
	}
	return out
}

// remember keeps what later commits must know of this one.
func (p *pair) remember(c store.Commit, leftOut []schedule.ID) {
	for _, plan := range c.Plans {
		if slices.Contains(leftOut, plan.Schedule) {
			continue
		}
		for _, g := range plan.Gaps {
			p.occupied[gapKey{plan.Schedule, g.First.UnixMicro(), g.Reason}] = true
		}
	}
	for _, a := range c.Arrears {
		p.arrears = slices.DeleteFunc(p.arrears, func(b store.Arrears) bool { return a.From.Equal(b.From) })
		if !a.Done {
			p.arrears = append(p.arrears, a)
		}
	}
}

func (p *pair) rowsOf(s store.Store) (rows []schedule.Row) {
	for row, err := range s.Snapshot(p.Context(), 0) {
		if err != nil {
			p.Fatal(err)
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b schedule.Row) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return rows
}
