package cron

import (
	"iter"
	"time"
)

const (
	minInstant = minDay*secondsPerDay - reach
	maxInstant = (maxDay+1)*secondsPerDay + reach

	// cycle bounds the search of Next. Dates, weekdays and the rules of zones
	// repeat every 400 years; what has not come until then is skipped each time
	// (such as 02:30 on New York's second Sunday in March, under GapSkip).
	cycle = daysPerCycle * secondsPerDay
)

// Next gives the first occurrence strictly after an instant, on the zone's clock;
// false: there is none up to the year 9999, or GapSkip or Repeat leaves none. A nil
// zone is UTC. It allocates nothing, and its work is bounded by 400 years of months
// and of changes of the zone; an ordinary call looks at one of each.
func (e *Expr) Next(after time.Time, zone *time.Location) (time.Time, bool) {
	u, ok := e.first(clamp(after.Unix())+1, maxInstant, zone)
	return answer(u, ok, zone)
}

// Prev gives the last occurrence strictly before an instant, on the zone's clock;
// false: there is none back to the year 1. A nil zone is UTC. It allocates nothing.
func (e *Expr) Prev(before time.Time, zone *time.Location) (time.Time, bool) {
	u, ok := e.final(clamp(ceilUnix(before))-1, zone)
	return answer(u, ok, zone)
}

// Match tells whether t is an occurrence, late ones included. An instant between
// two seconds is none. A nil zone is UTC.
func (e *Expr) Match(t time.Time, zone *time.Location) bool {
	u := t.Unix()
	if t.Nanosecond() != 0 || u < minInstant || u > maxInstant {
		return false
	}
	s := segmentAt(zone, u)
	local := u + s.offset
	if e.reads(&s, local) && e.matches(local) {
		return true
	}
	return e.options.Gap == GapShift && u < s.start+s.gap() && e.matches(u+s.before)
}

// Between gives every occurrence in [start, end), ascending, on the zone's clock.
// Adjacent windows together give each occurrence once, wherever they meet, down to
// the nanosecond. A nil zone is UTC. The sequence may be used more than once and
// concurrently; it holds no more than one occurrence at a time.
func (e *Expr) Between(start, end time.Time, zone *time.Location) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		stop := clamp(ceilUnix(end))
		for u := clamp(ceilUnix(start)); u < stop; u++ {
			var ok bool
			if u, ok = e.first(u, stop, zone); !ok || u >= stop {
				return
			}
			if t, _ := answer(u, true, zone); !yield(t) {
				return
			}
		}
	}
}

// first finds the smallest occurrence at or after u. It may give up once it knows
// that there is none below stop.
//
// Segments are taken in turn. Where the next one begins more than reach away, every
// occurrence from there on has a nominal time (the local time that the masks match)
// later than the segment's last, so the search goes straight to the neighbourhood
// of the next nominal time: rare expressions do not pay for each change in between.
func (e *Expr) first(u, stop int64, zone *time.Location) (int64, bool) {
	u = max(u, minInstant)
	stop = min(stop, u+cycle+reach, maxInstant)
	for u < stop {
		s := segmentAt(zone, u)
		local := u + s.offset
		if e.readings == RepeatFirst {
			local = max(local, s.repeated())
		}
		n, found := e.nextNominal(local)
		at, ok := n-s.offset, found && e.reads(&s, n) && n-s.offset < s.end
		if late, is := e.firstLate(&s, u); is && (!ok || late < at) {
			at, ok = late, true
		}
		switch {
		case ok:
			return at, true
		case s.end-u <= reach:
			u = s.end
		case !found:
			return 0, false
		default:
			u = max(s.end, n-s.offset-reach)
		}
	}
	return 0, false
}

// firstLate finds the smallest occurrence at or after u that is late because the
// clocks skipped its local time at the segment's start. Read with the offset of the
// segment before, skipped times are late by exactly the length of the gap.
func (e *Expr) firstLate(s *segment, u int64) (int64, bool) {
	if e.options.Gap != GapShift || u >= s.start+s.gap() {
		return 0, false
	}
	n, ok := e.nextNominal(u + s.before)
	return n - s.before, ok && n < s.start+s.offset
}

// final finds the greatest occurrence at or before u; it is first in a mirror.
func (e *Expr) final(u int64, zone *time.Location) (int64, bool) {
	u = min(u, maxInstant)
	for u >= minInstant {
		s := segmentAt(zone, u)
		local := u + s.offset
		if e.readings == RepeatLast {
			local = min(local, s.unrepeated()-1)
		}
		n, found := e.prevNominal(local)
		at, ok := n-s.offset, found && e.reads(&s, n) && n-s.offset >= s.start
		if late, is := e.finalLate(&s, u); is && (!ok || late > at) {
			at, ok = late, true
		}
		switch {
		case ok:
			return at, true
		case u-s.start <= reach:
			u = s.start - 1
		case !found:
			return 0, false
		default:
			u = min(s.start-1, n-s.offset+reach)
		}
	}
	return 0, false
}

// finalLate finds the greatest late occurrence at or before u.
func (e *Expr) finalLate(s *segment, u int64) (int64, bool) {
	if e.options.Gap != GapShift || s.gap() == 0 {
		return 0, false
	}
	n, ok := e.prevNominal(min(u, s.start+s.gap()-1) + s.before)
	return n - s.before, ok && n >= s.start+s.before
}

// reads tells whether an occurrence may stand at this segment's reading of a local
// time, or belongs to the reading in the segment before or after.
func (e *Expr) reads(s *segment, local int64) bool {
	switch e.readings {
	case RepeatFirst:
		return local >= s.repeated()
	case RepeatLast:
		return local < s.unrepeated()
	}
	return true
}

func answer(u int64, ok bool, zone *time.Location) (time.Time, bool) {
	if !ok {
		return time.Time{}, false
	}
	if zone == nil {
		zone = time.UTC
	}
	return time.Unix(u, 0).In(zone), true
}

// ceilUnix is the first whole second at or after t.
func ceilUnix(t time.Time) int64 {
	u := t.Unix()
	if t.Nanosecond() > 0 {
		u++
	}
	return u
}

// clamp keeps an instant near the years that are searched, so that sums with
// offsets cannot overflow.
func clamp(u int64) int64 { return min(max(u, minInstant-1), maxInstant+1) }
