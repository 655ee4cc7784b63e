package trigger

import (
	"iter"
	"time"
)

// Bounds limits a trigger. The zero value limits nothing.
type Bounds struct {
	// Start is the first instant that may be due; it is included. Zero: the beginning of the calendar.
	Start time.Time
	// End is the first instant that may no longer be due; it is excluded. Zero: none.
	End time.Time
	// Max is how many occurrences there are at most, counted from Start and not from when somebody first looks, so
	// that every node and every restart stops at the same one. Zero or less: no limit. With a zero Start the count
	// begins in the year 1, and a trigger without a first occurrence has spent it long ago: set both.
	Max int
}

// Bounded returns the occurrences of t within b. It turns Max into an end once, when it is built; questions then cost
// what they cost on t, however far the window lies from Start. Building is arithmetic for Interval and At, takes a step
// a day for Cron (at most some four million), and a step an occurrence, at most Max, for Union and Except.
func Bounded(t Trigger, b Bounds) Trigger {
	if b.Start.IsZero() && b.End.IsZero() && b.Max <= 0 {
		return t
	}
	s := allTime
	if !b.Start.IsZero() {
		s.after = window(b.Start, b.Start).after
	}
	if !b.End.IsZero() {
		s.before = inCalendar(b.End)
	}
	if b.Max > 0 {
		if n := count(t, s, b.Max); n.n == b.Max {
			s.before = n.last.Add(time.Nanosecond)
		}
	}
	return &bounded{inner: t, bounds: s}
}

type bounded struct {
	inner  Trigger
	bounds span
}

// Between yields the occurrences of the inner trigger that lie in [start, end) and within the bounds.
func (b *bounded) Between(start, end time.Time) iter.Seq[time.Time] { return between(b, start, end) }

// Next returns the first occurrence after the given instant and within the bounds.
func (b *bounded) Next(after time.Time) (time.Time, bool) { return next(b, after) }

func (b *bounded) seek(s span) (time.Time, bool) {
	s = s.within(b.bounds)
	if s.empty() {
		return time.Time{}, false // spares the inner trigger a search that can find nothing
	}
	return seek(b.inner, s)
}

func (b *bounded) tally(s span, stop int) (tally, bool) {
	inner, ok := b.inner.(tallier)
	if !ok {
		return tally{}, false
	}
	return inner.tally(s.within(b.bounds), stop)
}
