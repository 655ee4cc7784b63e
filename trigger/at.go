package trigger

import (
	"iter"
	"slices"
	"sort"
	"time"
)

// At returns a trigger that is due at the given instants, in order and each once, whatever order they came in. Instants
// outside the years 1 to 9999 are never due; without any instant the trigger is exhausted from the start. Fractions
// finer than a microsecond are dropped before equal instants are merged. The arguments are copied.
func At(instants ...time.Time) Trigger {
	due := make([]time.Time, 0, len(instants))
	for _, t := range instants {
		t = whole(t)
		if !t.Before(calendarStart) && t.Before(calendarEnd) {
			due = append(due, t)
		}
	}
	slices.SortFunc(due, time.Time.Compare)
	return &at{due: slices.CompactFunc(due, time.Time.Equal)}
}

// After returns a trigger that is due once, d after now. The instant is fixed here, when the trigger is built: asking
// later, or again after a restart from the stored instant, does not push it away. A negative d lies in the past.
func After(now time.Time, d time.Duration) Trigger {
	return At(now.Add(d))
}

type at struct {
	due []time.Time // ascending, distinct
}

// Between yields the instants that lie in [start, end).
func (a *at) Between(start, end time.Time) iter.Seq[time.Time] { return between(a, start, end) }

// Next returns the first instant after the given one.
func (a *at) Next(after time.Time) (time.Time, bool) { return next(a, after) }

func (a *at) seek(s span) (time.Time, bool) {
	i := a.indexAfter(s.after)
	if i == len(a.due) || !a.due[i].Before(s.before) {
		return time.Time{}, false
	}
	return a.due[i], true
}

// tally counts by position.
func (a *at) tally(s span, stop int) (tally, bool) {
	first := a.indexAfter(s.after)
	end := sort.Search(len(a.due), func(i int) bool { return !a.due[i].Before(s.before) })
	n := min(end-first, stop)
	if n <= 0 {
		return tally{}, true
	}
	return tally{n: n, first: a.due[first], last: a.due[first+n-1]}, true
}

// indexAfter returns the position of the first instant strictly after t.
func (a *at) indexAfter(t time.Time) int {
	return sort.Search(len(a.due), func(i int) bool { return a.due[i].After(t) })
}
