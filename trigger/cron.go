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
	// calmAtMost is how far one look for the next change reaches.
	calmAtMost = 400 * day
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
// before the jump: on that clock a late occurrence reads exactly the time that was skipped. It allocates only on the
// day after a change of the clocks.
func (e *expression) Nominal(due time.Time) (own, late time.Time) {
	local := due.In(e.zone)
	old, jumped := e.clockBeforeJump(due)
	if !jumped || e.expr.Options().Gap == cron.GapSkip {
		return local, time.Time{}
	}
	// A clock that never changes leaves of the expression what its fields say.
	_, offset := local.Zone()
	if e.expr.Match(due, time.FixedZone("", offset)) {
		own = local
	}
	if e.expr.Match(due, old) {
		late = due.In(old)
	}
	return own, late
}

// clockBeforeJump returns the clock as it went before the last jump forward. False: there was none so shortly before
// t that a skipped time may be made up for at t.
func (e *expression) clockBeforeJump(t time.Time) (*time.Location, bool) {
	for _, change := range cron.Transitions(e.zone, t.Add(-calmAfter), t.Add(time.Nanosecond)) {
		if t.Sub(change.At) < change.Shift {
			_, offset := change.At.Add(-time.Nanosecond).In(e.zone).Zone()
			return time.FixedZone("", offset), true
		}
	}
	return nil, false
}

// tally counts by the day. Away from changes of the clocks every day on which the expression is due at all has the
// same occurrences, so one such day is walked and the others are only found. A year of minutely occurrences costs a
// few thousand steps instead of half a million.
func (e *expression) tally(s span, stop int) (tally, bool) {
	s = s.within(allTime)
	var n tally
	for n.n < stop && !s.empty() {
		from, to := e.calm(s)
		n.join(walk(e, span{after: s.after, before: from}, stop-n.n))
		if from.Before(to) {
			e.tallyDays(&n, from, to, stop)
		}
		s.after = to.Add(-time.Nanosecond)
	}
	return n, true
}

// calm returns the next whole local days [from, to) of the span that lie away from changes of the clocks. Where a
// change or the end comes before any such day, both are the same instant, up to which the occurrences have to be walked.
func (e *expression) calm(s span) (from, to time.Time) {
	begin := s.after.Add(time.Nanosecond)
	limit := earliest(s.before, begin.Add(calmAtMost))
	changes := cron.Transitions(e.zone, begin.Add(time.Nanosecond-calmAfter), limit.Add(calmAfter))
	if len(changes) > 0 {
		limit = earliest(limit, changes[0].At.Add(-calmAfter))
	}
	_, offset := begin.In(e.zone).Zone()
	from, to = midnight(begin.Add(day-time.Nanosecond), offset), midnight(limit, offset)
	if from.Before(to) {
		return from, to
	}
	again := s.before
	if len(changes) > 0 {
		again = earliest(again, changes[0].At.Add(calmAfter))
	}
	return again, again
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

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
