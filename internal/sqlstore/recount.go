package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// maxPasses bounds how often a counter that stops at store.CountLimit is asked to go on: far beyond what any pause
// can hold.
const maxPasses = 1000

// stretch is a part of a gap in which nothing has a run: its first and last instant and how many there are.
type stretch struct {
	first, last time.Time
	n           int
}

// recount ends a gap before an instant, with the count of what its revision owed until then. The gap of a pause becomes
// one for each stretch between its runs (PROTOCOL A10b): what was running already when the pause came is no part of it.
func (s *Store) recount(t *tx, g *run.Gap, end time.Time) error {
	var spec []byte
	if _, err := t.one(into(&spec), selectRevision, g.Schedule[:], g.Revision); err != nil {
		return err
	}
	var runs []time.Time
	if g.Reason == run.Paused { // a planner's gap was split by the planner
		err := t.each(dues(&runs), selectSettledRuns, g.Schedule[:], g.First.UnixMicro(), end.UnixMicro())
		if err != nil {
			return err
		}
	}
	parts, err := s.stretches(g, spec, runs, end)
	if err != nil {
		return err
	}
	if len(parts) == 0 {
		_, err := t.exec(`DELETE FROM belfry_gaps WHERE id = ?`, g.ID[:])
		return err
	}
	_, err = t.exec(`UPDATE belfry_gaps SET first_at = ?, last_at = ?, occurrences = ?, is_open = 0 WHERE id = ?`,
		micros(parts[0].first), micros(parts[0].last), parts[0].n, g.ID[:])
	if err != nil {
		return err
	}
	for _, p := range parts[1:] {
		more := *g
		more.ID, more.Open = newID(), false
		more.First, more.Last, more.Count = p.first, p.last, p.n
		if err := insertGap(t, &more, g.CreatedAt, g.Epoch); err != nil {
			return err
		}
	}
	return nil
}

// countOpen fills in what an open gap stands for so far.
func (s *Store) countOpen(ctx context.Context, g *run.Gap) error {
	spec, err := s.Revision(ctx, g.Schedule, g.Revision)
	if err != nil {
		return err
	}
	var runs []time.Time
	now := s.now()
	err = s.read(ctx, "list the runs in a pause", func(ctx context.Context) error {
		return s.reads.each(ctx, nil, dues(&runs), selectSettledRuns, g.Schedule[:], g.First.UnixMicro(), now.UnixMicro())
	})
	if err != nil {
		return err
	}
	parts, err := s.stretches(g, spec, runs, now)
	if g.Last = g.First; err != nil || len(parts) == 0 {
		return err
	}
	g.First, g.Last = parts[0].first, parts[len(parts)-1].last
	for _, p := range parts {
		g.Count += p.n
	}
	return nil
}

// dues scans the instants of selectSettledRuns.
func dues(out *[]time.Time) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		var due time.Time
		err := scan(instant{&due})
		*out = append(*out, due)
		return err
	}
}

// stretches counts a gap from its first instant to its end, around the instants of runs, which ascend. Stretches in
// which nothing was due are left out.
func (s *Store) stretches(g *run.Gap, spec []byte, runs []time.Time, end time.Time) (parts []stretch, err error) {
	from := g.First
	for _, to := range append(runs, end) {
		p, err := s.countAll(g.Schedule, spec, from, to)
		if err != nil {
			return nil, err
		}
		if p.n > 0 {
			parts = append(parts, p)
		}
		from = to.Add(time.Microsecond)
	}
	return parts, nil
}

// countAll goes on where a counter stopped.
func (s *Store) countAll(id schedule.ID, spec []byte, from, to time.Time) (all stretch, err error) {
	for range maxPasses {
		n, first, last, err := s.count(id, spec, from, to)
		if err != nil || n == 0 || all.n > 0 && !last.After(all.last) {
			return all, err
		}
		if all.n == 0 {
			all.first = first
		}
		all.last, all.n = last, all.n+n
		if from = last.Add(time.Microsecond); n < store.CountLimit || !from.Before(to) {
			break
		}
	}
	return all, nil
}

// count calls the counter. It runs inside a transaction of many callers, so it may not bring that down.
func (s *Store) count(id schedule.ID, spec []byte, from, to time.Time) (n int, first, last time.Time, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("counting the occurrences of %s panicked: %v", id, p)
		}
	}()
	n, first, last = s.c.Count(id, spec, from, to)
	return n, first, last, nil
}
