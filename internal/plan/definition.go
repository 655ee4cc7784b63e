package plan

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/trigger"
)

// Definition is a schedule as a planner holds it: its row, with the spec of every span read and compiled. It is a
// trigger.Trigger over all its spans, so that the loop can sleep until it is due. It is immutable and safe for
// concurrent use.
type Definition struct {
	ID      schedule.ID
	Tenant  string
	Change  uint64
	Deleted bool
	Pin     time.Time // as the row had it; zero: rides the watermark
	Opened  time.Time // when the backlog behind Pin was found; zero: it has not been
	Broken  string    // why the newest revision cannot be evaluated; "" when it can
	spans   []span
}

// span is a stretch in which one revision was in force, compiled.
type span struct {
	revision uint64
	from, to time.Time // to is zero when open
	spec     schedule.Spec
	compiled schedule.Compiled
	broken   string
}

// Build compiles a row. It never fails: a spec that cannot be read makes a definition that says so in Broken.
func Build(row schedule.Row) *Definition {
	d := &Definition{
		ID: row.ID, Tenant: row.Tenant, Change: row.Change, Deleted: row.Deleted,
		Pin: row.Pin, Opened: row.OpenedAt,
		spans: make([]span, 0, len(row.Spans)),
	}
	for _, s := range row.Spans {
		d.spans = append(d.spans, build(row.ID, s))
	}
	slices.SortStableFunc(d.spans, func(a, b span) int { return a.from.Compare(b.from) })
	if n := len(d.spans); n > 0 && !d.Deleted {
		d.Broken = d.spans[n-1].broken
	}
	return d
}

func build(id schedule.ID, s schedule.Span) span {
	out := span{revision: s.Revision, from: s.From, to: s.To}
	spec, err := schedule.DecodeSpec(s.Spec)
	if err == nil {
		out.compiled, err = schedule.Compile(id, spec)
	}
	if err != nil {
		out.broken = err.Error()
		return out
	}
	out.spec = spec
	if spec.StartFrom != nil {
		if t := time.Time(*spec.StartFrom); t.After(out.from) {
			out.from = t
		}
	}
	return out
}

// newest returns the span whose policies decide; nil when there is none that can be read.
func (d *Definition) newest() *span {
	for i := len(d.spans) - 1; i >= 0; i-- {
		if d.spans[i].broken == "" {
			return &d.spans[i]
		}
	}
	return nil
}

// clip returns the part of [from, to) in which the span was in force; ok is false when there is none.
func (s *span) clip(from, to time.Time) (time.Time, time.Time, bool) {
	if s.from.After(from) {
		from = s.from
	}
	if !s.to.IsZero() && s.to.Before(to) {
		to = s.to
	}
	return from, to, s.broken == "" && from.Before(to)
}

// each yields the occurrences of [from, to) with the span that owed them, ascending.
func (d *Definition) each(from, to time.Time) iter.Seq2[*span, time.Time] {
	return func(yield func(*span, time.Time) bool) {
		for i := range d.spans {
			s := &d.spans[i]
			a, b, ok := s.clip(from, to)
			if !ok {
				continue
			}
			for due := range s.compiled.Trigger.Between(a, b) {
				if !yield(s, due) {
					return
				}
			}
		}
	}
}

// Between yields every occurrence of [start, end) under the revisions in force.
func (d *Definition) Between(start, end time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for _, due := range d.each(start, end) {
			if !yield(due) {
				return
			}
		}
	}
}

// Next returns the first occurrence after an instant. A definition whose newest revision cannot be read is never due:
// it stands where it is until somebody mends it.
func (d *Definition) Next(after time.Time) (time.Time, bool) {
	if d.Broken != "" {
		return time.Time{}, false
	}
	for i := range d.spans {
		s := &d.spans[i]
		if s.broken != "" || (!s.to.IsZero() && !s.to.After(after)) {
			continue
		}
		from := after
		if !s.from.IsZero() && s.from.After(after) {
			from = s.from.Add(-1) // an occurrence at the span's first instant belongs to it
		}
		if due, ok := s.compiled.Trigger.Next(from); ok && (s.to.IsZero() || due.Before(s.to)) {
			return due, true
		}
	}
	return time.Time{}, false
}

// Revision is the number of the newest revision; 0 when the definition has none.
func (d *Definition) Revision() uint64 {
	if len(d.spans) == 0 {
		return 0
	}
	return d.spans[len(d.spans)-1].revision
}

// Count counts the occurrences of a stored definition in [from, to), at most CountLimit of them, with the first and
// the last. A definition that cannot be read has none. It is the store.Counter of every store.
func Count(id schedule.ID, spec []byte, from, to time.Time) (n int, first, last time.Time) {
	s := build(id, schedule.Span{Spec: spec, From: from, To: to})
	a, b, ok := s.clip(from, to)
	if !ok {
		return 0, time.Time{}, time.Time{}
	}
	return trigger.Count(s.compiled.Trigger, a, b, CountLimit)
}

// Existing is what already disposes of occurrences of one schedule.
type Existing struct {
	Runs []time.Time // due instants, in any order
	Gaps []run.Gap
}

// at reports whether an occurrence is disposed of already.
func (e Existing) at(due time.Time) bool {
	if _, found := slices.BinarySearchFunc(e.Runs, due, time.Time.Compare); found {
		return true
	}
	return slices.ContainsFunc(e.Gaps, func(g run.Gap) bool {
		return !g.Open && !due.Before(g.First) && !due.After(g.Last)
	})
}

func (e Existing) empty() bool { return len(e.Runs) == 0 && len(e.Gaps) == 0 }

// after reports whether a run exists for an occurrence at or after t.
func (e Existing) after(t time.Time) bool {
	return slices.ContainsFunc(e.Runs, func(due time.Time) bool { return !due.Before(t) })
}

func (e Existing) sorted() Existing {
	e.Runs = slices.SortedFunc(slices.Values(e.Runs), time.Time.Compare)
	slices.SortFunc(e.Gaps, func(a, b run.Gap) int { return cmp.Compare(a.First.UnixMicro(), b.First.UnixMicro()) })
	return e
}
