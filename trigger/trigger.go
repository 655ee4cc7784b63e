package trigger

import (
	"iter"
	"time"
)

// Trigger says at which instants a schedule is due. An implementation is immutable, never reads the clock, and
// returns instants in UTC and in whole microseconds. It must be safe for concurrent use.
type Trigger interface {
	// Between yields the occurrences of [start, end) in ascending order, each once: start is included, end is not.
	// It yields nothing when end is not after start.
	Between(start, end time.Time) iter.Seq[time.Time]

	// Next returns the first occurrence strictly after the given instant. False means that there is none, now or at
	// any later question: the trigger is exhausted.
	Next(after time.Time) (time.Time, bool)
}

// Calendar names days or instants on which nothing is due. It is used by [Except], must always give the same answer
// for the same time, and must be safe for concurrent use.
type Calendar interface {
	// Excludes reports whether an occurrence at t is taken out. As an instant, t is the due instant. Its location is
	// chosen so that its clock shows the time that the rule named: t.Date() is the date to judge, also for a cron
	// time that the clocks skipped. Interval, At and After know no zone and hand over UTC.
	Excludes(t time.Time) bool
}

// Nominal is an optional extension of a Trigger whose rule names times of a local clock. The instant at which such an
// occurrence is due and the time that the rule named can differ: where the clocks jump forward, 02:30 is due at
// 03:30, and on the day that Samoa left out, a whole day later. Except judges the named time, because a person who
// excludes a date means the date in the rule.
type Nominal interface {
	// Nominal returns the times that the rule named for the occurrence at due. Both are the instant due itself, in a
	// location whose clock shows the named time. Own is set when the rule names the local time at due; late is set
	// when it names a skipped time that is made up for at due. The other one is zero; both are set where a late
	// occurrence and a regular one meet. For an instant that is no occurrence the result means nothing.
	Nominal(due time.Time) (own, late time.Time)
}

// The calendar's edges, the first included and the second not. RFC 3339 text, and thus every document and database
// that Belfry writes, has four digits for the year.
var (
	calendarStart = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	calendarEnd   = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	allTime       = window(calendarStart, calendarEnd)
)

// span is what a search covers: the instants strictly between two bounds. Two excluded bounds serve windows and Next
// alike, and lose nothing, since a nanosecond is the finest step of a time.Time.
type span struct {
	after, before time.Time
	endless       bool // nobody limited the search; see maxExcluded
}

// seeker is the one primitive from which this package's triggers derive both Between and Next, so that the two cannot
// disagree. Seek returns the first occurrence in the span.
type seeker interface {
	seek(s span) (time.Time, bool)
}

// seek asks any trigger, also one from outside this package, for its first occurrence in a span. It does not allocate.
func seek(t Trigger, s span) (time.Time, bool) {
	if inside, ok := t.(seeker); ok {
		return inside.seek(s)
	}
	due, ok := t.Next(s.after)
	if !ok || !due.Before(s.before) {
		return time.Time{}, false
	}
	return due.UTC(), true
}

// between is the Between of every seeker.
func between(t seeker, start, end time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		s := window(start, end)
		for {
			due, ok := t.seek(s)
			if !ok || !yield(due) {
				return
			}
			s.after = due
		}
	}
}

// next is the Next of every seeker.
func next(t seeker, after time.Time) (time.Time, bool) {
	return t.seek(span{after: inCalendar(after), before: calendarEnd, endless: true})
}

// window is the span of [start, end).
func window(start, end time.Time) span {
	before := inCalendar(end)
	return span{
		after:   inCalendar(start).Add(-time.Nanosecond),
		before:  before,
		endless: before.Equal(calendarEnd),
	}
}

// moved returns the span moved by a duration.
func (s span) moved(by time.Duration) span {
	s.after, s.before = s.after.Add(by), s.before.Add(by)
	return s
}

// within returns what the span shares with another one; it stays endless if it was.
func (s span) within(o span) span {
	if s.after.Before(o.after) {
		s.after = o.after
	}
	if s.before.After(o.before) {
		s.before = o.before
	}
	return s
}

// empty reports whether no instant lies in the span.
func (s span) empty() bool { return !s.after.Add(time.Nanosecond).Before(s.before) }

// inCalendar brings a bound into the calendar, its edges included. It also drops the monotonic clock reading, which
// would make comparisons depend on how the process measured time.
func inCalendar(t time.Time) time.Time {
	t = t.Round(0).UTC()
	switch {
	case t.Before(calendarStart):
		return calendarStart.Add(-time.Nanosecond)
	case t.After(calendarEnd):
		return calendarEnd
	}
	return t
}

// whole cuts an instant down to the microsecond.
func whole(t time.Time) time.Time { return t.Truncate(time.Microsecond).UTC() }
