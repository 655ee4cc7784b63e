package memory

import (
	"context"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// Pause stops a schedule without forgetting what it owes until now.
func (s *Store) Pause(ctx context.Context, id schedule.ID, p schedule.Pause) (store.Change, error) {
	if err := s.enter(ctx); err != nil {
		return store.Change{}, err
	}
	defer s.leaveChanged()
	d := s.definitions[id]
	if d == nil || !d.DeletedAt.IsZero() {
		return store.Change{}, store.ErrNotFound
	}
	if d.Pause != nil {
		return store.Change{}, nil
	}
	c := s.beginChange(d)
	s.end(d, c.At)
	p.At, p.Until = c.At, micro(p.Until)
	d.Pause = &p
	s.openGap(d, c.At)
	s.changed(d, &c)
	d.UpdatedAt, d.UpdatedBy = c.At, p.By
	return c, nil
}

// Resume ends a pause; see the contract for catchUp.
func (s *Store) Resume(ctx context.Context, id schedule.ID, by string, catchUp bool) (store.Change, error) {
	if err := s.enter(ctx); err != nil {
		return store.Change{}, err
	}
	defer s.leaveChanged()
	d := s.definitions[id]
	if d == nil || !d.DeletedAt.IsZero() {
		return store.Change{}, store.ErrNotFound
	}
	if d.Pause == nil {
		return store.Change{}, nil
	}
	c := s.beginChange(d)
	last := &d.spans[len(d.spans)-1]
	if catchUp {
		g := s.openGapOf(d.ID)
		delete(s.gaps, g.ID)
		last.To = time.Time{} // it ended where the gap began
		d.Pin = earlier(d.Pin, g.First)
	} else {
		s.closeGap(d, c.At)
		d.spans = append(d.spans, schedule.Span{Revision: d.Revision, From: c.At, Spec: last.Spec})
	}
	d.Pause = nil
	s.changed(d, &c)
	d.UpdatedAt, d.UpdatedBy = c.At, by
	return c, nil
}

// beginChange takes effect at the store's now, or at the least instant later than every earlier change.
func (s *Store) beginChange(d *definition) (c store.Change) {
	s.mend(d, &c)
	c.At = later(s.now(), d.changedAt.Add(time.Microsecond))
	return c
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// openGap begins to account for a pause (PROTOCOL B10).
func (s *Store) openGap(d *definition, at time.Time) {
	g := &run.Gap{
		ID: run.GapID(s.newID()), Tenant: d.Tenant, Schedule: d.ID, Revision: d.Revision, Reason: run.Paused,
		First: at, Open: true, CreatedAt: s.now(),
	}
	s.gaps[g.ID] = g
}

func (s *Store) openGapOf(id schedule.ID) *run.Gap {
	for _, g := range s.gaps {
		if g.Schedule == id && g.Open {
			return g
		}
	}
	return nil
}

// closeGap counts a pause. A pause in which nothing was due needs no record.
func (s *Store) closeGap(d *definition, at time.Time) {
	s.cutGap(s.openGapOf(d.ID), at)
}

// cutGap ends a gap before an instant. What runs in the midst of a pause, because it had begun before, divides its gap.
func (s *Store) cutGap(g *run.Gap, at time.Time) {
	parts := s.counted(g, at)
	delete(s.gaps, g.ID)
	for i := range parts {
		part := &parts[i]
		if part.Open = false; i > 0 {
			part.ID = run.GapID(s.newID())
		}
		s.gaps[part.ID] = part
	}
}

// countOpen is a gap that goes on, as it would be seen at an instant: without what has a run.
func (s *Store) countOpen(g run.Gap, at time.Time) run.Gap {
	shown := g
	shown.Count, shown.Last = 0, g.First
	for _, part := range s.counted(&g, at) {
		if shown.Count == 0 {
			shown.First = part.First
		}
		shown.Count += part.Count
		shown.Last = part.Last
	}
	return shown
}

// counted counts a gap from its beginning to an instant, by the revision that it is about: a copy of it for each stretch
// in which something was due and nothing has a run. Gaps of a planner have no run inside.
func (s *Store) counted(g *run.Gap, to time.Time) (parts []run.Gap) {
	var begun []time.Time
	for _, r := range s.runs {
		if g.Reason == run.Paused && r.Schedule == g.Schedule && r.Kind == run.Scheduled && !r.Due.Before(g.First) && r.Due.Before(to) {
			begun = append(begun, r.Due)
		}
	}
	slices.SortFunc(begun, time.Time.Compare)
	spec := s.specOf(g.Schedule, g.Revision)
	for from := g.First; from.Before(to); {
		end, next := to, to
		if len(begun) > 0 {
			end, next = begun[0], begun[0].Add(time.Microsecond)
			begun = begun[1:]
		}
		part := *g
		part.Count = 0
		s.tally(&part, spec, from, end)
		if part.Count > 0 {
			parts = append(parts, part)
		}
		from = next
	}
	return parts
}

// tally adds to a gap what was due in [from, to). A counter that stopped is asked again for what follows.
func (s *Store) tally(g *run.Gap, spec []byte, from, to time.Time) {
	for from.Before(to) {
		n, first, last := s.count(g.Schedule, spec, from, to)
		if n == 0 || last.Before(from) {
			return
		}
		if g.Count == 0 {
			g.First = micro(first)
		}
		g.Count, g.Last = g.Count+n, micro(last)
		if n < store.CountLimit {
			return
		}
		from = g.Last.Add(time.Microsecond)
	}
}

func (s *Store) specOf(id schedule.ID, revision uint64) []byte {
	if d := s.definitions[id]; d != nil {
		for _, span := range d.spans {
			if span.Revision == revision {
				return span.Spec
			}
		}
	}
	return nil
}
