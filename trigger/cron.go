package trigger

import (
	"iter"
	"time"

	"github.com/belfryhq/belfry/cron"
)

const (
	day = 24 * time.Hour
	// calmAfter is how far from a change of the clocks a day must lie to be like any other. No change moves the clocks
	// by more than 24 hours, and none acts further than it moves.
	calmAfter = 26 * time.Hour
	// maxRecordedChanges bounds the correction of one year in period; no zone changes that often in a year.
	maxRecordedChanges = 16
)

// Cron returns a trigger that is due when the expression matches the clocks of a zone; nil is UTC. Times that the
// clocks skip or repeat follow the rules and the options of package cron. The expression must come from [cron.Parse].
// The trigger has the [Nominal] extension.
func Cron(e *cron.Expr, zone *time.Location) Trigger {
	if zone == nil {
		zone = time.UTC
	}
	return &expression{expr: e, zone: zone}
}

type expression struct {
	expr *cron.Expr
	zone *time.Location
}

// Between yields the expression's occurrences in [start, end).
func (e *expression) Between(start, end time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		s := window(start, end).within(allTime)
		for due := range e.expr.Between(s.after.Add(time.Nanosecond), s.before, e.zone) {
			if !yield(due.UTC()) {
				return
			}
		}
	}
}

// Next returns the expression's first occurrence after the given instant.
func (e *expression) Next(after time.Time) (time.Time, bool) { return next(e, after) }

func (e *expression) seek(s span) (time.Time, bool) {
	s = s.within(allTime)
	due, ok := e.expr.Next(s.after, e.zone)
	if !ok || !due.Before(s.before) {
		return time.Time{}, false
	}
	return due.UTC(), true
}

// Nominal returns due on the zone's clock and, where the clocks jumped forward just before, on the clock as it went
// before the jump: on that clock a late occurrence reads exactly the time that was skipped.
func (e *expression) Nominal(due time.Time) (own, late time.Time) {
	local := due.In(e.zone)
	jump, before := lastJump(local)
	if jump == 0 || e.expr.Options().Gap == cron.GapSkip {
		return local, time.Time{}
	}
	_, now := local.Zone()
	if e.expr.Match(due, time.FixedZone("", now)) {
		own = local
	}
	if old := time.FixedZone("", before); e.expr.Match(due, old) {
		late = due.In(old)
	}
	return own, late
}

// lastJump returns by how many seconds the clocks jumped forward so shortly before t that a skipped time may be made
// up for at t, and the offset before the jump. Zero: there was no such jump.
func lastJump(t time.Time) (jump, before int) {
	start, _ := period(t)
	if start.IsZero() || t.Sub(start) >= calmAfter {
		return 0, 0
	}
	_, now := t.Zone()
	_, before = start.Add(-time.Nanosecond).In(t.Location()).Zone()
	if jump = now - before; jump <= 0 || t.Sub(start) >= time.Duration(jump)*time.Second {
		return 0, 0
	}
	return jump, before
}

// period returns the stretch [start, end) around t in which the offset of its zone stays the same; a zero bound means
// that there is none. It corrects two answers of package time where a zone's rule goes on for ever: on 31 December of a
// leap year the end may lie in the past, and in the year in which the rule takes over the start may lie before the
// last recorded change.
func period(t time.Time) (start, end time.Time) {
	start, end = t.ZoneBounds()
	if !end.IsZero() && !end.After(t) {
		end = time.Date(t.Year()+1, 1, 1, 0, 0, 0, 0, t.Location())
	}
	for range maxRecordedChanges {
		if start.IsZero() {
			break
		}
		_, change := start.ZoneBounds()
		if change.IsZero() || change.After(t) || !change.After(start) {
			break
		}
		start = change
	}
	return start, end
}

// tally counts by the day. Away from changes of the clocks every day on which the expression is due at all has the
// same occurrences, so one such day is walked and the others are only found. A year of minutely occurrences costs a
// few thousand steps instead of half a million.
func (e *expression) tally(s span, stop int) (tally, bool) {
	s = s.within(allTime)
	var n tally
	for n.n < stop && !s.empty() {
		from, to, calm := e.calm(s)
		n.join(walk(e, span{after: s.after, before: from}, stop-n.n))
		if calm {
			e.tallyDays(&n, from, to, stop)
		}
		s.after = to.Add(-time.Nanosecond)
	}
	return n, true
}

// calm returns the whole local days [from, to) of the span that lie between two changes of the clocks and away from
// both. Where the span does not begin with a stretch that has any, it reports false, and both bounds are the same
// instant after the next change, up to which the occurrences have to be walked.
func (e *expression) calm(s span) (from, to time.Time, ok bool) {
	begin := s.after.Add(time.Nanosecond).In(e.zone)
	start, end := period(begin)
	from, to = begin, s.before
	if !start.IsZero() {
		from = latest(from, start.Add(calmAfter))
	}
	if !end.IsZero() {
		to = earliest(to, end.Add(-calmAfter))
	}
	_, offset := begin.Zone()
	from, to = midnight(from.Add(day-time.Nanosecond), offset), midnight(to, offset)
	if from.Before(to) {
		return from, to, true
	}
	again := s.before
	if !end.IsZero() {
		again = earliest(again, end.Add(calmAfter))
	}
	return again, again, false
}

// tallyDays counts in whole days of 24 hours that begin at midnight and know no change of the clocks.
func (e *expression) tallyDays(n *tally, from, to time.Time, stop int) {
	_, offset := from.In(e.zone).Zone()
	var perDay int
	var lastInDay time.Duration
	for n.n < stop {
		first, ok := e.seek(span{after: from.Add(-time.Nanosecond), before: to})
		if !ok {
			return
		}
		from = midnight(first, offset)
		next := from.Add(day)
		if perDay == 0 || n.n+perDay > stop {
			one := walk(e, span{after: from.Add(-time.Nanosecond), before: next}, stop-n.n)
			perDay, lastInDay = one.n, one.last.Sub(from)
			n.join(one)
		} else {
			n.join(tally{n: perDay, first: first, last: from.Add(lastInDay)})
		}
		from = next
	}
}

// midnight returns the last midnight at or before t on a clock with a fixed offset in seconds.
func midnight(t time.Time, offset int) time.Time {
	local := t.Unix() + int64(offset)
	return time.Unix(floorDiv(local, int64(day/time.Second))*int64(day/time.Second)-int64(offset), 0).UTC()
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
