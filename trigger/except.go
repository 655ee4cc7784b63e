package trigger

import (
	"iter"
	"time"
)

// How far a search without an end (Next, or a window that reaches the end of the calendar) goes on when the calendar
// takes out every occurrence it meets. It gives up, and reports that nothing will ever be due, only when both bounds
// are passed: that is two years of minutely occurrences, a century of hourly ones, and a year of anything faster. A
// window with an end of its own is always searched in full.
const (
	maxExcluded     = 1 << 20
	maxExcludedSpan = 366 * 24 * time.Hour
)

// Except returns a trigger without those occurrences of t that c excludes. A nil calendar excludes nothing.
//
// The calendar judges the time that the rule named (see [Nominal]), and only then are equal instants merged: an instant
// stays due as long as one of the times that lead to it is not excluded. So Except around a Union judges each member
// on its own. Around Bounded, occurrences that are taken out still count towards its maximum; the other way around
// they do not.
//
// If c excludes more than a million occurrences in a row, over more than a year, Next reports that there is none.
func Except(t Trigger, c Calendar) Trigger {
	if c == nil {
		return t
	}
	// The calendar is carried down to the leaves, which know the nominal time. Each step below is an identity: the
	// occurrences are those of filtering the whole.
	switch inner := t.(type) {
	case *shifted:
		return &shifted{inner: Except(inner.inner, ahead{calendar: c, by: inner.by}), by: inner.by}
	case *bounded:
		return &bounded{inner: Except(inner.inner, c), bounds: inner.bounds} // the maximum has become an end already
	case *union:
		members := make([]Trigger, len(inner.members))
		for i, m := range inner.members {
			members[i] = Except(m, c)
		}
		return &union{members: members}
	case *except:
		return &except{inner: inner.inner, calendar: either{inner.calendar, c}}
	}
	return &except{inner: t, calendar: c}
}

type except struct {
	inner    Trigger // a leaf
	calendar Calendar
}

// Between yields the occurrences in [start, end) that the calendar leaves.
func (x *except) Between(start, end time.Time) iter.Seq[time.Time] { return between(x, start, end) }

// Next returns the first occurrence after the given instant that the calendar leaves.
func (x *except) Next(after time.Time) (time.Time, bool) { return next(x, after) }

func (x *except) seek(s span) (time.Time, bool) {
	from := s.after
	for skipped := 0; ; skipped++ {
		due, ok := seek(x.inner, s)
		if !ok || !x.excluded(due) {
			return due, ok
		}
		if s.endless && skipped >= maxExcluded && due.Sub(from) > maxExcludedSpan {
			return time.Time{}, false
		}
		s.after = due
	}
}

// excluded reports whether the calendar takes out every time that leads to the instant.
func (x *except) excluded(due time.Time) bool {
	rule, ok := x.inner.(Nominal)
	if !ok {
		return x.calendar.Excludes(due)
	}
	own, late := rule.Nominal(due)
	if own.IsZero() && late.IsZero() {
		return x.calendar.Excludes(due)
	}
	return (own.IsZero() || x.calendar.Excludes(own)) && (late.IsZero() || x.calendar.Excludes(late))
}

// ahead is a calendar seen from before a shift.
type ahead struct {
	calendar Calendar
	by       time.Duration
}

// Excludes judges the moved time.
func (a ahead) Excludes(t time.Time) bool { return a.calendar.Excludes(t.Add(a.by)) }

// either excludes what one of two calendars excludes.
type either [2]Calendar

// Excludes asks both calendars.
func (e either) Excludes(t time.Time) bool { return e[0].Excludes(t) || e[1].Excludes(t) }
