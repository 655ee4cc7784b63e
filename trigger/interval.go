package trigger

import (
	"errors"
	"fmt"
	"iter"
	"time"
)

// Errors that Interval returns, wrapped with the value that was given and a remedy.
var (
	// ErrInterval reports a length that is not a whole number of seconds, or is below one second.
	ErrInterval = errors.New("an interval is a whole number of seconds, at least 1s")
	// ErrAnchor reports an anchor outside the years 1 to 9999.
	ErrAnchor = errors.New("an anchor lies in the years 1 to 9999")
)

// Interval returns a trigger that is due on the fixed grid anchor + k x every, for every whole k. The grid extends to
// both sides of the anchor: the anchor sets the phase and not a beginning (for that, see [Bounds]). The zero anchor
// means the Unix epoch. Because the grid hangs on the anchor alone, a restart, a slow loop or another node cannot
// move it, and no time zone plays a part: clocks that change leave it untouched.
//
// It returns ErrInterval when every is below one second or not whole seconds, and ErrAnchor when the anchor lies
// outside the calendar. A fraction of the anchor finer than a microsecond is dropped.
func Interval(every time.Duration, anchor time.Time) (Trigger, error) {
	if every < time.Second || every%time.Second != 0 {
		return nil, fmt.Errorf("interval %s: %w; use for example %s", every, ErrInterval, nearestInterval(every))
	}
	if anchor.IsZero() {
		anchor = time.Unix(0, 0)
	}
	anchor = whole(anchor)
	if anchor.Before(calendarStart) || !anchor.Before(calendarEnd) {
		return nil, fmt.Errorf("interval anchor in the year %d: %w; leave it out to start from 1970-01-01T00:00:00Z",
			anchor.Year(), ErrAnchor)
	}
	seconds := int64(every / time.Second)
	return &interval{
		every:    seconds,
		phase:    anchor.Unix() - floorDiv(anchor.Unix(), seconds)*seconds,
		fraction: int64(anchor.Nanosecond()),
	}, nil
}

// interval holds the grid in whole seconds since the epoch, reduced to the phase 0 <= phase < every. The calendar has
// fewer than 2^39 seconds and an interval at most 2^34, so no sum or product here leaves an int64.
type interval struct {
	every    int64 // seconds, at least 1
	phase    int64 // seconds
	fraction int64 // nanoseconds below one second, the same at every point of the grid
}

// Between yields the points of the grid in [start, end).
func (i *interval) Between(start, end time.Time) iter.Seq[time.Time] { return between(i, start, end) }

// Next returns the point of the grid after the given instant.
func (i *interval) Next(after time.Time) (time.Time, bool) { return next(i, after) }

func (i *interval) seek(s span) (time.Time, bool) {
	s = s.within(allTime)
	due := i.point(i.indexAfter(s.after))
	if !due.Before(s.before) {
		return time.Time{}, false
	}
	return due, true
}

// tally counts by subtraction, whatever the length of the window.
func (i *interval) tally(s span, stop int) (tally, bool) {
	s = s.within(allTime)
	first := i.indexAfter(s.after)
	end := i.indexAfter(s.before.Add(-time.Nanosecond)) // the first point that is no longer inside
	n := min(end-first, int64(stop))
	if n <= 0 {
		return tally{}, true
	}
	return tally{n: int(n), first: i.point(first), last: i.point(first + n - 1)}, true
}

// indexAfter returns the smallest k whose point lies strictly after t. Points share their fraction, so a whole second
// is a candidate exactly when it lies above the whole seconds from the grid's origin to t.
func (i *interval) indexAfter(t time.Time) int64 {
	passed := t.Unix() - i.phase
	if int64(t.Nanosecond()) < i.fraction {
		passed--
	}
	return floorDiv(passed, i.every) + 1
}

func (i *interval) point(k int64) time.Time {
	return time.Unix(i.phase+k*i.every, i.fraction).UTC()
}

// nearestInterval is the example in the error text: what was probably meant.
func nearestInterval(every time.Duration) time.Duration {
	return max(every.Round(time.Second).Truncate(time.Second), time.Second)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
