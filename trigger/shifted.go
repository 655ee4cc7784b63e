package trigger

import (
	"iter"
	"time"
)

// Shifted returns a trigger that is due by later than t, or earlier when by is negative. The moved instant is the due
// instant for every purpose (window, watermark, key): t is asked about the window moved back, and its answers are moved
// forward, so windows tile as before and a restart neither repeats nor loses an occurrence. A fraction of by finer
// than a microsecond is dropped downwards. An occurrence moved outside the years 1 to 9999 does not exist.
//
// Except around Shifted judges the moved time; Shifted around Except judges the time before the move.
func Shifted(t Trigger, by time.Duration) Trigger {
	by = floorMicro(by)
	if by == 0 {
		return t
	}
	return &shifted{inner: t, by: by}
}

type shifted struct {
	inner Trigger
	by    time.Duration // whole microseconds, not zero
}

// Between yields the occurrences of the inner trigger, moved, that then lie in [start, end).
func (s *shifted) Between(start, end time.Time) iter.Seq[time.Time] { return between(s, start, end) }

// Next returns the first moved occurrence after the given instant.
func (s *shifted) Next(after time.Time) (time.Time, bool) { return next(s, after) }

func (s *shifted) seek(w span) (time.Time, bool) {
	due, ok := seek(s.inner, w.within(allTime).moved(-s.by))
	if !ok {
		return time.Time{}, false
	}
	return due.Add(s.by), true
}

func (s *shifted) tally(w span, stop int) (tally, bool) {
	inner, ok := s.inner.(tallier)
	if !ok {
		return tally{}, false
	}
	n, ok := inner.tally(w.within(allTime).moved(-s.by), stop)
	if n.n > 0 {
		n.first, n.last = n.first.Add(s.by), n.last.Add(s.by)
	}
	return n, ok
}

// floorMicro rounds down, also below zero: an occurrence is a whole microsecond, so this gives the same instants as
// moving first and cutting down afterwards.
func floorMicro(d time.Duration) time.Duration {
	cut := d.Truncate(time.Microsecond)
	if cut > d {
		cut -= time.Microsecond
	}
	return cut
}
