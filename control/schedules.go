package control

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// The states of a schedule.
const (
	StateActive      = "active"
	StatePaused      = "paused"
	StateQuarantined = "quarantined"
	StateFinished    = "finished" // nothing is due any more
)

// Page bounds a listing: at most Limit rows (0: 50, at most 1000) after the row that After names.
type Page struct {
	Limit int
	After string
}

// Standing is a schedule and how it stands now. The caller owns it.
type Standing struct {
	schedule.Schedule
	State, Reason string
	Description   string
	NextDue       time.Time // zero: nothing is due, or it is paused
	LastRun       *run.Run
	CoveredUntil  time.Time // every occurrence before it is a run or a gap
	Warnings      []cron.Warning
}

// Schedules lists a tenant's schedules by name, with a token for the next page.
func (c *Control) Schedules(ctx context.Context, tenant string, p Page) ([]Standing, string, error) {
	items, next, err := c.store.Schedules(ctx, store.ScheduleQuery{Tenant: tenant, Page: store.Page(p)})
	if err != nil {
		return nil, "", fmt.Errorf("list schedules: %w", err)
	}
	out, err := c.standing(ctx, items)
	return out, next, err
}

// Schedule returns one schedule by its name. The error is a *Missing when there is none.
func (c *Control) Schedule(ctx context.Context, tenant, name string) (Standing, error) {
	s, err := c.find(ctx, tenant, name)
	if err != nil {
		return Standing{}, err
	}
	out, err := c.standing(ctx, []schedule.Schedule{s})
	if err != nil {
		return Standing{}, err
	}
	return out[0], nil
}

// find looks a schedule up by name, and suggests another when there is none.
func (c *Control) find(ctx context.Context, tenant, name string) (schedule.Schedule, error) {
	items, _, err := c.store.Schedules(ctx, store.ScheduleQuery{Tenant: tenant, Name: name, Page: store.Page{Limit: 1}})
	if err != nil {
		return schedule.Schedule{}, fmt.Errorf("find schedule: %w", err)
	}
	if len(items) > 0 && name != "" {
		return items[0], nil
	}
	missing := &Missing{What: "schedule", Name: name}
	near, _, err := c.store.Schedules(ctx, store.ScheduleQuery{Tenant: tenant, Page: store.Page{Limit: 1000}})
	if err == nil { // the suggestion is a courtesy
		names := make([]string, len(near))
		for i, s := range near {
			names[i] = s.Name
		}
		missing.Hint = schedule.DidYouMean(name, names)
	}
	return schedule.Schedule{}, missing
}

// standing adds to schedules what is computed at each asking.
func (c *Control) standing(ctx context.Context, items []schedule.Schedule) ([]Standing, error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the clock: %w", err)
	}
	ids := make([]schedule.ID, len(items))
	for i, s := range items {
		ids[i] = s.ID
	}
	last, err := c.store.LastRuns(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read last runs: %w", err)
	}
	out := make([]Standing, len(items))
	for i, s := range items {
		out[i] = Stand(s, now)
		if r, ok := last[s.ID]; ok {
			out[i].LastRun = &r
		}
		if out[i].CoveredUntil, err = c.store.Unsettled(ctx, s.ID); err != nil {
			return nil, fmt.Errorf("read coverage: %w", err)
		}
	}
	return out, nil
}

// Stand says how a schedule stands at an instant, as far as its own row tells. It is a pure function.
func Stand(s schedule.Schedule, now time.Time) Standing {
	out := Standing{Schedule: s, State: StateActive}
	compiled, err := schedule.Compile(s.ID, s.Spec)
	switch {
	case s.Quarantine != "":
		out.State, out.Reason = StateQuarantined, s.Quarantine
	case err != nil:
		out.State, out.Reason = StateQuarantined, err.Error()
	}
	if err != nil {
		return out
	}
	out.Description = s.Spec.Describe()
	out.Warnings = s.Spec.Warnings(now, now.Add(foresight))
	next, more := nextDue(compiled, now)
	switch {
	case s.Pause != nil:
		out.State, out.Reason = StatePaused, s.Pause.Reason
	case out.State == StateQuarantined:
	case more:
		out.NextDue = next
	default:
		out.State = StateFinished
	}
	return out
}

// nextDue is the first occurrence after an instant that coverage does not leave out.
func nextDue(c schedule.Compiled, after time.Time) (time.Time, bool) {
	if c.StartFrom.After(after) {
		after = c.StartFrom.Add(-1)
	}
	return c.Trigger.Next(after)
}

// Due is the coming occurrences of one schedule.
type Due struct {
	Standing
	Occurrences []time.Time // on the zone's clock
	Truncated   bool
}

// DueQuery asks for occurrences in [From, To), at most N; a zero From is now, a zero To is open, a zero N the default.
type DueQuery struct {
	From, To time.Time
	N        int
}

// Due lists the coming occurrences of a schedule under its current revision. A paused schedule's are listed, too: its
// state says that none of them will run.
func (c *Control) Due(ctx context.Context, tenant, name string, q DueQuery) (Due, error) {
	s, err := c.Schedule(ctx, tenant, name)
	if err != nil {
		return Due{}, err
	}
	if q.From.IsZero() {
		if q.From, err = c.store.Now(ctx); err != nil {
			return Due{}, fmt.Errorf("read the clock: %w", err)
		}
	}
	p, err := Look(PreviewInput{Spec: s.Spec, ID: s.ID, From: q.From, To: q.To, N: q.N})
	return Due{Standing: s, Occurrences: p.Occurrences, Truncated: p.Truncated}, err
}

// MaxUpcoming bounds how many schedules Upcoming looks at.
const MaxUpcoming = 10_000

// Upcoming lists a tenant's schedules, what is due first in front, at most n of them (0: 50). Those with nothing due come
// last, by name.
func (c *Control) Upcoming(ctx context.Context, tenant string, n int) ([]Standing, error) {
	if n == 0 {
		n = 50
	}
	var all []Standing
	now, err := c.store.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the clock: %w", err)
	}
	for after := ""; len(all) < MaxUpcoming; {
		items, next, err := c.store.Schedules(ctx, store.ScheduleQuery{Tenant: tenant, Page: store.Page{Limit: 1000, After: after}})
		if err != nil {
			return nil, fmt.Errorf("list schedules: %w", err)
		}
		for _, s := range items {
			all = append(all, Stand(s, now))
		}
		if after = next; next == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b Standing) int {
		if a.NextDue.IsZero() != b.NextDue.IsZero() {
			return cmp.Compare(boolNumber(a.NextDue.IsZero()), boolNumber(b.NextDue.IsZero()))
		}
		return cmp.Or(a.NextDue.Compare(b.NextDue), cmp.Compare(a.Name, b.Name))
	})
	all = all[:min(n, len(all))]
	ids := make([]schedule.ID, len(all))
	for i, s := range all {
		ids[i] = s.ID
	}
	last, err := c.store.LastRuns(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read last runs: %w", err)
	}
	for i := range all {
		if r, ok := last[all[i].ID]; ok {
			all[i].LastRun = &r
		}
	}
	return all, nil
}

func boolNumber(b bool) int {
	if b {
		return 1
	}
	return 0
}
