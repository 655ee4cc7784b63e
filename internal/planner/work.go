package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// work is everything one commit is to write.
type work struct {
	plans   []entry
	arrears []store.Arrears
	held    []entry       // pinned entries of the window that stay as they are: nothing to write
	left    []schedule.ID // entries of the window that do not fit: they become arrears
	window  timeline.Window
	rows    int // that the plans write
	budget  budget

	commit  store.Commit    // what was last tried
	done    store.Committed // what it did
	refused []entry         // plans that the database would not take
}

// entry is the plan of one schedule, with what the loop must hear about it.
type entry struct {
	plan   store.Plan
	def    *plan.Definition
	behind bool // of the backlog: the entry itself rides the watermark
	owes   bool // it has a stretch in the backlog as well, which is still to be decided
}

func (w *work) empty() bool { return len(w.plans) == 0 && len(w.arrears) == 0 && len(w.left) == 0 }

// decide plans what the window holds, on-time work first, and then as much of the past as fits.
func (p *Planner) decide(ctx context.Context, w timeline.Window) (*work, error) {
	now := p.o.Clock.Now()
	onTime, late := p.part(w.Stretches, now)
	out := &work{window: w, budget: p.newBudget(len(onTime))}
	for _, s := range onTime {
		if err := p.decideStretch(ctx, out, s, now); err != nil {
			return nil, err
		}
	}
	for _, s := range late {
		if out.budget.spent(out) {
			out.putOff(s)
			continue
		}
		before := len(out.plans)
		if err := p.decideStretch(ctx, out, s, now); err != nil {
			return nil, err
		}
		out.budget.decided += len(out.plans) - before
	}
	p.decideBroken(out, now)
	return out, p.decideBacklog(ctx, out, now)
}

// decideStretch plans one entry of the window.
func (p *Planner) decideStretch(ctx context.Context, out *work, s timeline.Stretch, now time.Time) error {
	d := s.Payload.(*plan.Definition)
	if change, refused := p.refused[d.ID]; d.Broken != "" || (refused && change == d.Change) {
		out.hold(d, s.From)
		return nil
	}
	it := item{id: d.ID, from: s.From, to: s.To, opened: p.openedAt(d, s)}
	check := !s.Next.IsZero() && (s.Pinned || s.Next.Before(now.Add(-2*p.o.Lease)))
	e, err := p.plan(ctx, d, it, check, now)
	if err != nil {
		return err
	}
	e.plan.Unpin, e.owes = s.Pinned, p.backlog.holds(d.ID)
	out.add(e)
	return nil
}

// hold leaves a pinned entry as it is.
func (w *work) hold(d *plan.Definition, from time.Time) {
	w.held = append(w.held, entry{def: d, plan: store.Plan{Schedule: d.ID, From: from}})
}

func (w *work) add(e entry) {
	w.plans = append(w.plans, e)
	w.rows += len(e.plan.Runs) + len(e.plan.Gaps)
}

// openedAt is when the backlog behind a pinned entry was found.
func (p *Planner) openedAt(d *plan.Definition, s timeline.Stretch) time.Time {
	if t, ok := p.opened[d.ID]; ok {
		return t
	}
	if s.Pinned {
		return d.Opened
	}
	return time.Time{}
}

// plan decides one stretch. With check it first reads what already disposes of parts of it (PROTOCOL A10).
func (p *Planner) plan(ctx context.Context, d *plan.Definition, it item, check bool, now time.Time) (entry, error) {
	var existing plan.Existing
	if check {
		settled, err := p.store.Settled(ctx, d.ID, it.from, later(it.to, now.Add(p.o.Lead)))
		if err != nil {
			return entry{}, fmt.Errorf("settled %s: %w", d.ID, err)
		}
		existing = plan.Existing{Runs: settled.Runs, Gaps: settled.Gaps}
	}
	decision := plan.Decide(plan.Input{
		Definition: d, From: it.from, To: it.to, Now: now, OpenedAt: it.opened, Lease: p.o.Lease, Existing: existing,
		Epoch: p.loop.Claim().Epoch, Zones: p.o.ZoneRelease, NewID: p.o.NewID,
	})
	pl := store.Plan{Schedule: d.ID, Tenant: d.Tenant, Change: d.Change, From: it.from, Runs: decision.Runs, Gaps: decision.Gaps}
	if !decision.Rest.IsZero() {
		pl.Pin, pl.OpenedAt, pl.PinReason = decision.Rest, decision.OpenedAt, "backlog"
	}
	if pl.Quarantine = decision.Quarantine; pl.Quarantine != "" {
		if pl.PinReason = "quarantined"; !d.Pin.IsZero() && d.Pin.Before(pl.Pin) {
			pl.Pin = d.Pin
		}
	}
	return entry{plan: pl, def: d}, nil
}

// decideBroken pins definitions that cannot be evaluated where they stand, in the commit that first moves the
// watermark past them (PROTOCOL C6).
func (p *Planner) decideBroken(out *work, now time.Time) {
	for _, d := range p.source.broken {
		from := out.window.Start
		if !d.Pin.IsZero() && d.Pin.Before(from) {
			from = d.Pin
		}
		out.plans = append(out.plans, entry{def: d, plan: store.Plan{
			Schedule: d.ID, Tenant: d.Tenant, Change: d.Change, From: from,
			Pin: from, OpenedAt: time.Time{}, PinReason: "quarantined", Quarantine: d.Broken,
		}})
	}
}

// decideBacklog plans the next schedules of the oldest backlog.
func (p *Planner) decideBacklog(ctx context.Context, out *work, now time.Time) error {
	items, after, ok := p.backlog.next(max(out.budget.room-out.budget.decided, p.o.Batch/10, 1))
	if !ok {
		return nil
	}
	for i, it := range items {
		if i > 0 && out.budget.exhausted(out) {
			after.Cursor, after.Done = items[i-1].id, false
			break
		}
		loaded, known := p.loop.Entry(it.id.String())
		if !known {
			continue // removed and settled meanwhile
		}
		e, err := p.plan(ctx, loaded.Payload.(*plan.Definition), it, true, now)
		if err != nil {
			return err
		}
		e.behind = true
		out.add(e)
	}
	out.arrears = append(out.arrears, after)
	return nil
}

// write commits the work, halving it while the database refuses the content of some row (PROTOCOL A8). It runs beside
// the planner, which does not wait for it beyond the loop's bound: it touches nothing but the work itself.
func (p *Planner) write(ctx context.Context, w *work, old, next timeline.Claim) (timeline.Verdict, error) {
	for {
		w.commit = w.assemble(p.o, old, next)
		done, err := p.store.Commit(ctx, w.commit)
		switch {
		case errors.Is(err, store.ErrFenced):
			return timeline.Verdict{}, nil
		case errors.Is(err, store.ErrPoison):
			if !w.halve(err) {
				return timeline.Verdict{}, err
			}
		case err != nil:
			return timeline.Verdict{}, err
		default:
			w.done = done
			return w.verdict(), nil
		}
	}
}

func (w *work) assemble(o Options, old, next timeline.Claim) store.Commit {
	c := store.Commit{Shard: o.Shard, Old: old, Next: next, Lead: o.Lead, Arrears: slices.Clone(w.arrears)}
	for _, e := range w.plans {
		c.Plans = append(c.Plans, e.plan)
	}
	if len(w.left) > 0 {
		c.Arrears = append(c.Arrears, store.Arrears{Shard: o.Shard, From: w.window.Start, To: w.window.End, OpenedAt: o.Clock.Now()})
	}
	return c
}

// halve makes a refused commit smaller. The second half is put off: window entries become arrears, backlog items stay
// in the backlog, pinned ones keep their pin. A single plan that is refused is the culprit: it is quarantined and
// pinned in the commit that moves the watermark past it.
func (w *work) halve(cause error) bool {
	n := len(w.plans)
	switch n {
	case 0:
		return false
	case 1:
		e := &w.plans[0]
		if e.plan.Quarantine != "" {
			return false // even the pin alone is refused: the fault is not the plan's
		}
		w.refused = append(w.refused, *e)
		e.plan.Runs, e.plan.Gaps = nil, nil
		e.plan.Pin, e.plan.PinReason, e.plan.Quarantine = e.plan.From, "quarantined", cause.Error()
		return true
	}
	keep := w.plans[:n/2]
	for _, e := range w.plans[n/2:] {
		switch {
		case e.behind: // stays in the backlog: the cursor goes back
		case e.plan.Unpin || e.plan.Quarantine != "":
			w.held = append(w.held, e)
		default:
			w.left = append(w.left, e.plan.Schedule)
		}
	}
	w.plans = keep
	w.rewindArrears()
	return true
}

// rewindArrears makes the backlog's cursor say what is still part of the work.
func (w *work) rewindArrears() {
	if len(w.arrears) == 0 {
		return
	}
	a := &w.arrears[0]
	last := -1
	for i, e := range w.plans {
		if e.behind {
			last = i
		}
	}
	if last < 0 {
		w.arrears = nil
		return
	}
	a.Cursor, a.Done = w.plans[last].plan.Schedule, false
}

// verdict tells the loop what a commit did.
func (w *work) verdict() timeline.Verdict {
	v := timeline.Verdict{Swapped: true, Pinned: map[string]time.Time{}}
	for _, e := range w.held {
		v.Pinned[e.plan.Schedule.String()] = e.plan.From
	}
	for _, e := range w.plans {
		id := e.plan.Schedule.String()
		switch {
		case w.leftOut(e):
			v.Pinned[id] = e.plan.From
		case !e.plan.Pin.IsZero():
			if at, pinned := v.Pinned[id]; !pinned || e.plan.Pin.Before(at) {
				v.Pinned[id] = e.plan.Pin
			}
		case e.def.Deleted && !e.behind && !e.owes: // a forgotten entry would take its backlog along
			v.Gone = append(v.Gone, id)
		}
	}
	return v
}

func (w *work) leftOut(e entry) bool { return slices.Contains(w.done.LeftOut, e.plan.Schedule) }

// settle brings the planner's own state, its counters and its log in line with what was committed.
func (p *Planner) settle(w *work) {
	for _, e := range w.plans {
		p.settleEntry(e, w.leftOut(e))
	}
	for _, e := range w.refused {
		p.refused[e.plan.Schedule] = e.plan.Change
		p.o.Logger.Error("schedule quarantined: the database refuses its plan", "schedule_id", e.plan.Schedule.String(), "reason", e.plan.Quarantine)
	}
	if len(w.arrears) > 0 {
		p.backlog.advance(w.arrears[0])
	}
	if len(w.left) > 0 {
		p.backlog.add(w.commit.Arrears[len(w.commit.Arrears)-1], w.left)
		p.o.Logger.Info("a backlog is put behind new work", "shard", p.o.Shard, "count", len(w.left))
	}
	clear(p.source.broken)
	p.totals.inserted += int64(w.done.Inserted)
	p.totals.duplicate += int64(w.done.Duplicate)
}

func (p *Planner) settleEntry(e entry, leftOut bool) {
	id := e.plan.Schedule
	switch {
	case leftOut:
		p.source.hinted = true // its new revision waits to be read
		return
	case !e.plan.Pin.IsZero():
		p.opened[id] = e.plan.OpenedAt
	default:
		delete(p.opened, id)
	}
	for _, g := range e.plan.Gaps {
		p.totals.gaps += int64(g.Count)
		p.o.Logger.Warn("occurrences made no run", "schedule_id", id.String(), "tenant", g.Tenant, "reason", g.Reason.String(),
			"first", schedule.FormatInstant(g.First), "last", schedule.FormatInstant(g.Last), "count", g.Count)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
