package storetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// view is something that can be seen of a store, and what operations it follows from.
type view struct {
	name string
	of   concern
	read func(p *pair, ctx context.Context, s store.Store) (any, error)
}

var views = []view{
	{"claim", planners, func(_ *pair, ctx context.Context, s store.Store) (any, error) {
		c, _, err := s.Planner(ctx, 0)
		return c, err
	}},
	{"arrears", planners, func(_ *pair, ctx context.Context, s store.Store) (any, error) { return s.Arrears(ctx, 0) }},
	{"rows", planners | people, (*pair).seeRows},
	{"schedules", people, (*pair).seeSchedules},
	{"settled", planners | people, (*pair).seeSettled},
	{"runs", planners | workers | people, (*pair).seeRuns},
	{"gaps", planners | people, func(p *pair, _ context.Context, s store.Store) (any, error) { return comparableGaps(p.allGaps(s)), nil }},
	{"last runs", 0, (*pair).seeLastRuns},
	{"living nodes", workers, func(_ *pair, ctx context.Context, s store.Store) (any, error) { return sortedNodes(s.Living(ctx)) }},
	{"silent nodes", workers, func(_ *pair, ctx context.Context, s store.Store) (any, error) { return sortedNodes(s.Silent(ctx)) }},
	{"records of a run", workers, (*pair).seeRecords},
}

// compareViews compares what an operation may have changed, or everything when it is time for that.
func (p *pair) compareViews(changed concern) {
	p.Helper()
	for _, v := range views {
		if v.of&changed == 0 && !p.all {
			continue
		}
		seed := p.r.Uint64() // views that choose choose alike
		p.compare(v.name, p.both(func(ctx context.Context, _ int, s store.Store) (any, error) {
			return v.read(p, context.WithValue(ctx, choice{}, seed), s)
		}))
	}
}

// choice is the context's key for the number by which a view chooses.
type choice struct{}

func chosen[T any](ctx context.Context, list []T) (v T, ok bool) {
	if len(list) == 0 {
		return v, false
	}
	return list[ctx.Value(choice{}).(uint64)%uint64(len(list))], true
}

func sortedNodes(nodes []store.Node, err error) ([]store.Node, error) {
	slices.SortFunc(nodes, func(a, b store.Node) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return nodes, err
}

func (p *pair) seeRows(ctx context.Context, s store.Store) (any, error) {
	type seen struct {
		Rows  []schedule.Row
		Dirty []schedule.ID
	}
	v := seen{Rows: p.rowsOf(s)}
	for i := range v.Rows {
		v.Rows[i].Spans = merged(v.Rows[i].Spans)
	}
	for row, err := range s.Dirty(ctx, 0) {
		if err != nil {
			return nil, err
		}
		v.Dirty = append(v.Dirty, row.ID)
	}
	v.Dirty = sorted(v.Dirty)
	return v, nil
}

// merged joins adjoining spans of one revision: a store may begin a new one where a pause was caught up.
func merged(spans []schedule.Span) (out []schedule.Span) {
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].Revision == s.Revision && out[n-1].To.Equal(s.From) {
			out[n-1].To = s.To
			continue
		}
		out = append(out, s)
	}
	return out
}

// shown is a schedule as people see it, with its spec as text.
type shown struct {
	schedule.Schedule
	Text string
}

func (p *pair) seeSchedules(ctx context.Context, s store.Store) (any, error) {
	var out []shown
	for _, tenant := range []string{"", "acme", "ACME", "Acme"} {
		items, _, err := s.Schedules(ctx, store.ScheduleQuery{Tenant: tenant})
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			text, err := schedule.EncodeSpec(item.Spec)
			if err != nil {
				return nil, err
			}
			item.Spec, item.ValidFrom = schedule.Spec{}, time.Time{}
			out = append(out, shown{item, string(text)})
		}
	}
	return out, nil
}

func (p *pair) seeSettled(ctx context.Context, s store.Store) (any, error) {
	type seen struct {
		Until   map[schedule.ID]time.Time
		Settled store.Settled
	}
	v := seen{Until: map[schedule.ID]time.Time{}}
	for i, id := range p.schedules {
		if !p.all && ctx.Value(choice{}).(uint64)>>i&3 != 0 {
			continue // a quarter of them is asked for
		}
		until, err := s.Unsettled(ctx, id)
		if err != nil {
			return nil, err
		}
		v.Until[id] = until
	}
	id, ok := chosen(ctx, p.schedules)
	if !ok {
		return v, nil
	}
	var err error
	v.Settled, err = s.Settled(ctx, id, p.clk.Now().Add(-10*time.Minute), p.clk.Now())
	v.Settled.Gaps = slices.DeleteFunc(v.Settled.Gaps, func(g run.Gap) bool { return g.Open })
	v.Settled.Gaps = comparableGaps(v.Settled.Gaps)
	return v, err
}

// comparable drops of a run what each store chooses for itself: fences, its own words, and what a run that waits still
// says about an earlier delivery.
func comparable(r run.Run) run.Run {
	r.Fence = min(r.Fence, 1)
	if r.Reason != "given" {
		r.Reason = ""
	}
	if r.Error != "exit code" {
		r.Error = ""
	}
	if r.ErrorCode != "EXIT_CODE" && r.ErrorCode != "LOST_WORKER" {
		r.ErrorCode = ""
	}
	if r.Status == run.Pending || r.Status == run.RetryScheduled {
		r.Node, r.ClaimedAt, r.StartedAt, r.Reason = run.NodeID{}, time.Time{}, time.Time{}, ""
	}
	if !r.Status.Final() {
		r.ErrorCode, r.Error, r.ExitCode, r.OutputBytes = "", "", nil, 0
	}
	return r
}

// seeRuns reads the runs that may change, or all of them: those that are alive and those that were due lately.
func (p *pair) seeRuns(ctx context.Context, s store.Store) (any, error) {
	page := store.Page{Limit: 1000}
	queries := []store.RunQuery{{Page: page}}
	if !p.all {
		queries = []store.RunQuery{{Statuses: alive, Page: page}, {From: p.clk.Now().Add(-10 * time.Minute), Page: page}}
	}
	out := map[run.ID]run.Run{}
	for _, q := range queries {
		items, _, err := s.Runs(ctx, q) // a series makes fewer runs than a page holds
		if err != nil {
			return nil, err
		}
		for _, r := range items {
			out[r.ID] = comparable(r)
		}
	}
	return out, nil
}

var alive = []run.Status{run.Pending, run.Held, run.Claimed, run.Running, run.Waiting, run.RetryScheduled}

func (p *pair) allGaps(s store.Store) (out []run.Gap) {
	for q := (store.GapQuery{Page: store.Page{Limit: 1000}}); ; {
		items, next, err := s.Gaps(p.Context(), q)
		if err != nil {
			p.Fatal(err)
		}
		out = append(out, items...)
		if q.After = next; next == "" {
			return out
		}
	}
}

// comparableGaps drops the identifiers that a store made up, and what an open gap in which nothing was due yet says.
func comparableGaps(gaps []run.Gap) []run.Gap {
	for i := range gaps {
		g := &gaps[i]
		if g.Reason == run.Paused {
			g.ID = run.GapID{}
		}
		if g.Open && g.Count == 0 {
			g.First, g.Last = time.Time{}, time.Time{}
		}
		g.ScheduleName = ""
	}
	slices.SortFunc(gaps, func(a, b run.Gap) int {
		if n := bytes.Compare(a.Schedule[:], b.Schedule[:]); n != 0 {
			return n
		}
		if n := a.First.Compare(b.First); n != 0 {
			return n
		}
		return int(a.Reason) - int(b.Reason)
	})
	return gaps
}

func (p *pair) seeLastRuns(ctx context.Context, s store.Store) (any, error) {
	last, err := s.LastRuns(ctx, p.schedules)
	out := map[schedule.ID]time.Time{} // which of several runs of one instant is the last is left open
	for id, r := range last {
		out[id] = r.Due
	}
	return out, err
}

// seeRecords reads what is recorded beside one run that was taken lately, and everything if it has gone.
func (p *pair) seeRecords(ctx context.Context, s store.Store) (any, error) {
	h, ok := chosen(ctx, p.held[max(0, len(p.held)-8):])
	if !ok {
		return nil, nil
	}
	type seen struct {
		Attempts []run.Attempt
		History  []run.Event
		Output   string
	}
	var v seen
	r, err := s.Run(ctx, h[0].Run)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if v.Attempts, err = s.Attempts(ctx, r.ID); err != nil {
		return nil, err
	}
	for i := range v.Attempts {
		a := &v.Attempts[i]
		a.Fence = min(a.Fence, 1)
		if a.Outcome == run.Pending {
			a.ErrorCode, a.Error = "", ""
		}
	}
	if v.History, err = s.History(ctx, r.ID); err != nil {
		return nil, err
	}
	for i := range v.History {
		v.History[i].Note = ""
		v.History[i].Node = run.NodeID{}
	}
	v.Output, err = outputText(ctx, s, r.ID, r.Deliveries)
	return v, err
}
