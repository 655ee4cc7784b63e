package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// Schedules lists the live schedules of one tenant.
func (s *Store) Schedules(ctx context.Context, q store.ScheduleQuery) ([]schedule.Schedule, string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	var found []keyed[schedule.Schedule]
	for _, d := range s.definitions {
		if !d.DeletedAt.IsZero() || d.Tenant != q.Tenant || q.Name != "" && q.Name != d.Name || q.Origin != 0 && q.Origin != d.Origin {
			continue
		}
		found = append(found, keyed[schedule.Schedule]{d.Name, d.shown()})
	}
	items, next := cut(found, q.Page, false)
	return items, next, nil
}

// shown leaves the spec zero when the stored one cannot be read: one broken row must not hide the others (P6).
func (d *definition) shown() schedule.Schedule {
	out := d.Schedule
	out.Labels, out.Annotations = maps.Clone(d.Labels), maps.Clone(d.Annotations)
	if d.Pause != nil {
		p := *d.Pause
		out.Pause = &p
	}
	if spec, err := schedule.DecodeSpec(d.spec); err == nil {
		out.Spec = spec
	}
	return out
}

// Revision returns what a revision said.
func (s *Store) Revision(ctx context.Context, id schedule.ID, revision uint64) ([]byte, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	spec := s.specOf(id, revision)
	if spec == nil {
		return nil, store.ErrNotFound
	}
	return bytes.Clone(spec), nil
}

// Runs lists runs, newest due first.
func (s *Store) Runs(ctx context.Context, q store.RunQuery) ([]run.Run, string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	var found []keyed[run.Run]
	for _, r := range s.runs {
		if q.Tenant != "" && q.Tenant != r.Tenant || q.Schedule != (schedule.ID{}) && q.Schedule != r.Schedule ||
			len(q.Statuses) > 0 && !slices.Contains(q.Statuses, r.Status) || q.Kind != 0 && q.Kind != r.Kind ||
			!q.From.IsZero() && r.Due.Before(q.From) || !q.To.IsZero() && !r.Due.Before(q.To) {
			continue
		}
		found = append(found, keyed[run.Run]{position(r.Due, r.ID), s.shownRun(r)})
	}
	items, next := cut(found, q.Page, true)
	return items, next, nil
}

func (s *Store) shownRun(r *row) run.Run {
	out := detached(r.Run)
	if d := s.definitions[r.Schedule]; d != nil {
		out.ScheduleName = d.Name
	}
	return out
}

// Run returns one run.
func (s *Store) Run(ctx context.Context, id run.ID) (run.Run, error) {
	if err := s.enter(ctx); err != nil {
		return run.Run{}, err
	}
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil {
		return run.Run{}, store.ErrNotFound
	}
	return s.shownRun(r), nil
}

// LastRuns returns the run of each schedule with the newest due instant that has come.
func (s *Store) LastRuns(ctx context.Context, ids []schedule.ID) (map[schedule.ID]run.Run, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	out := map[schedule.ID]run.Run{}
	for _, r := range s.runs {
		last, known := out[r.Schedule]
		if slices.Contains(ids, r.Schedule) && !r.Due.After(s.now()) && (!known || position(last.Due, last.ID) < position(r.Due, r.ID)) {
			out[r.Schedule] = s.shownRun(r)
		}
	}
	return out, nil
}

// Attempts lists what is recorded about a run's deliveries, the first one first.
func (s *Store) Attempts(ctx context.Context, id run.ID) ([]run.Attempt, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil {
		return nil, store.ErrNotFound
	}
	out := slices.Clone(r.attempts)
	for i := range out {
		out[i].ExitCode = copied(out[i].ExitCode)
	}
	return out, nil
}

// History lists a run's transitions off the plain path, in order.
func (s *Store) History(ctx context.Context, id run.ID) ([]run.Event, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	r := s.runs[id]
	if r == nil {
		return nil, store.ErrNotFound
	}
	return slices.Clone(r.history), nil
}

// Gaps lists gaps, the newest first instant first.
func (s *Store) Gaps(ctx context.Context, q store.GapQuery) ([]run.Gap, string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	var found []keyed[run.Gap]
	for _, g := range s.gaps {
		if q.Tenant != "" && q.Tenant != g.Tenant || q.Schedule != (schedule.ID{}) && q.Schedule != g.Schedule ||
			q.Reason != 0 && q.Reason != g.Reason || !touches(*g, q.From, q.To) {
			continue
		}
		shown := *g
		if g.Open {
			shown = s.countOpen(*g, s.now())
		}
		if d := s.definitions[g.Schedule]; d != nil {
			shown.ScheduleName = d.Name
		}
		found = append(found, keyed[run.Gap]{position(g.First, g.ID), shown})
	}
	items, next := cut(found, q.Page, true)
	return items, next, nil
}

// ReadOutput writes what a delivery has printed.
func (s *Store) ReadOutput(ctx context.Context, id run.ID, delivery, from int, w io.Writer) (int, error) {
	if err := s.enter(ctx); err != nil {
		return from, err
	}
	r := s.runs[id]
	if r == nil {
		s.mu.Unlock()
		return from, store.ErrNotFound
	}
	if delivery == 0 {
		delivery = r.Deliveries
	}
	output := slices.Clone(r.output)
	s.mu.Unlock() // a slow reader must not hold up everybody else
	for _, c := range output {
		if c.Delivery != delivery || c.Seq < from {
			continue
		}
		if _, err := w.Write(c.Data); err != nil {
			return from, err
		}
		from = c.Seq + 1
	}
	return from, nil
}

// Unsettled tells up to where a schedule is settled; zero: nothing is.
func (s *Store) Unsettled(ctx context.Context, id schedule.ID) (time.Time, error) {
	if err := s.enter(ctx); err != nil {
		return time.Time{}, err
	}
	defer s.mu.Unlock()
	d := s.definitions[id]
	if d == nil {
		return time.Time{}, store.ErrNotFound
	}
	return s.settledUntil(d, 0), nil
}

// Planner returns a shard's claim.
func (s *Store) Planner(ctx context.Context, shard int) (timeline.Claim, bool, error) {
	if err := s.enter(ctx); err != nil {
		return timeline.Claim{}, false, err
	}
	defer s.mu.Unlock()
	c, exists := s.claims[shard]
	return c, exists, nil
}

// The bounds of a page.
const (
	defaultLimit = 50
	maxLimit     = 1000
)

// keyed is an item with the text that it is sorted and found again by.
type keyed[T any] struct {
	key  string
	item T
}

// cut sorts what was found and returns one page of it, with the token of the next one.
func cut[T any](found []keyed[T], p store.Page, descending bool) (items []T, next string) {
	order := func(a, b string) int {
		if descending {
			a, b = b, a
		}
		return cmp.Compare(a, b)
	}
	slices.SortFunc(found, func(a, b keyed[T]) int { return order(a.key, b.key) })
	limit := p.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	last := ""
	for _, f := range found {
		if p.After != "" && order(f.key, p.After) <= 0 {
			continue
		}
		if len(items) == limit {
			return items, last
		}
		items, last = append(items, f.item), f.key
	}
	return items, ""
}

// position prints an instant and an identifier so that the texts sort as the instants do.
func position(t time.Time, id fmt.Stringer) string {
	return fmt.Sprintf("%020d %s", uint64(t.UnixMicro())+1<<63, id)
}
