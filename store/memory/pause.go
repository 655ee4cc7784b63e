package memory

import (
	"context"
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
	g := s.openGapOf(d.ID)
	g.Open = false
	if g.Count, g.First, g.Last = s.counted(g, at); g.Count == 0 {
		delete(s.gaps, g.ID)
	}
}

// counted counts a gap from its beginning to an instant, by the revision that it is about.
func (s *Store) counted(g *run.Gap, to time.Time) (int, time.Time, time.Time) {
	n, first, last := s.count(g.Schedule, s.specOf(g.Schedule, g.Revision), g.First, to)
	if n == 0 {
		return 0, g.First, g.First
	}
	return n, micro(first), micro(last)
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
