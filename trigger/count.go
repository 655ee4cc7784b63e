package trigger

import (
	"math"
	"time"
)

// Count returns how many occurrences of t lie in [start, end), and the first and the last of them; both are zero when
// there are none.
//
// The limit bounds the work, not the answer. Interval and At are counted by arithmetic and Cron by the day, alone or
// within Shifted and Bounded: they are exact whatever the limit is. Union, Except and triggers from outside this
// package are counted one by one, and counting stops at the limit; n equal to the limit then says "at least", and last
// is where to go on from. A limit of zero or less is none.
func Count(t Trigger, start, end time.Time, limit int) (n int, first, last time.Time) {
	s := window(start, end)
	if counter, ok := t.(tallier); ok {
		if c, ok := counter.tally(s, math.MaxInt); ok {
			return c.n, c.first, c.last
		}
	}
	if limit <= 0 {
		limit = math.MaxInt
	}
	c := walk(t, s, limit)
	return c.n, c.first, c.last
}

// tally is the result of counting: how many, the first and the last of them. The zero value says none.
type tally struct {
	n           int
	first, last time.Time
}

// join adds a later count.
func (n *tally) join(later tally) {
	if later.n == 0 {
		return
	}
	if n.n == 0 {
		n.first = later.first
	}
	n.n += later.n
	n.last = later.last
}

// tallier is what a trigger adds when it can count without visiting every occurrence. It counts those in a span,
// the oldest first, and stops at the given number. False: it cannot after all, because a trigger inside it is no
// tallier.
type tallier interface {
	tally(s span, stop int) (tally, bool)
}

// count counts in the cheapest way that t offers, and stops at the given number.
func count(t Trigger, s span, stop int) tally {
	if counter, ok := t.(tallier); ok {
		if n, ok := counter.tally(s, stop); ok {
			return n
		}
	}
	return walk(t, s, stop)
}

// walk counts one by one.
func walk(t Trigger, s span, stop int) tally {
	var n tally
	for n.n < stop {
		due, ok := seek(t, s)
		if !ok {
			break
		}
		n.join(tally{n: 1, first: due, last: due})
		s.after = due
	}
	return n
}
