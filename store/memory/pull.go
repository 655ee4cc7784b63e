package memory

import (
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

// mend pulls a definition back to now that a wrong clock has put far ahead, before a change is put behind it.
func (s *Store) mend(d *definition, c *store.Change) {
	now := s.now()
	if !d.changedAt.After(now.Add(store.FarAhead)) {
		return
	}
	s.cutGaps(now, func(g *run.Gap) bool { return g.Schedule == d.ID })
	var pulled store.Change
	s.pullBack(d, now, &pulled)
	c.Unplanned += pulled.Unplanned
}

// pullBack is a change that lets nothing of a definition lie after an instant.
func (s *Store) pullBack(d *definition, at time.Time, c *store.Change) {
	c.At = d.pullSpans(at)
	move := func(t *time.Time) {
		if t.After(at) {
			*t = c.At
		}
	}
	for _, t := range []*time.Time{&d.ValidFrom, &d.DeletedAt, &d.CreatedAt, &d.UpdatedAt} {
		move(t)
	}
	if d.Pause != nil {
		p := *d.Pause
		move(&p.At)
		d.Pause = &p
	}
	if g := s.openGapOf(d.ID); g != nil {
		move(&g.First)
	}
	d.Pin = earlier(d.Pin, at)
	s.changed(d, c)
}

// pullSpans lets the newest span begin at the instant if it begins later, and the span in force there end there. Others
// that begin later never were in force: they are kept, empty, in the microseconds before. It returns the instant, or the
// first later one at which no other span begins.
func (d *definition) pullSpans(at time.Time) time.Time {
	newest := &d.spans[len(d.spans)-1]
	free := at
	for i := range d.spans[:len(d.spans)-1] {
		if span := &d.spans[i]; span.From.After(at) {
			for free = free.Add(-time.Microsecond); d.beginsAt(free); {
				free = free.Add(-time.Microsecond)
			}
			span.From, span.To = free, free
		}
	}
	to := at
	if newest.From.After(at) {
		newest.From = time.Time{} // it is in nobody's way
		for d.beginsAt(to) {
			to = to.Add(time.Microsecond)
		}
		if newest.From = to; !newest.To.IsZero() {
			newest.To = to
		}
	}
	for i := range d.spans {
		if span := &d.spans[i]; span.To.After(at) && !span.From.After(at) {
			span.To = to
		}
	}
	return to
}

func (d *definition) beginsAt(t time.Time) bool {
	for _, span := range d.spans {
		if span.From.Equal(t) {
			return true
		}
	}
	return false
}
