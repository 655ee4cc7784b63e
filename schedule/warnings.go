package schedule

import (
	"fmt"
	"slices"
	"time"

	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/trigger"
)

// The codes of warnings about more than the expression alone; those of package cron come beside them.
const (
	CodeCatchupShort = "CATCHUP_SHORTER_THAN_PERIOD" // an occurrence can become too old before its successor is due
	CodeJitterLong   = "JITTER_LONGER_THAN_PERIOD"   // the jitter is cut at the next occurrence
	CodeNeverDue     = "NEVER_DUE"                   // there is no occurrence any more, or none within the bounds
)

// surveyed is how many occurrences Warnings looks at to find the longest and the shortest wait between two.
const surveyed = 100

// Warnings lists what may surprise the owner of a complete spec, each once. Transitions of the zone are looked for in
// [from, to); occurrences are looked at from the first one after from. None of it is a reason to refuse the spec.
func (s Spec) Warnings(from, to time.Time) []cron.Warning {
	c, err := Compile(ID{}, s)
	if err != nil {
		return nil // Validate says more
	}
	var list []cron.Warning
	for _, text := range s.Trigger.Cron {
		e, err := cron.Parse(text, s.Trigger.options())
		if err != nil {
			continue // an interval
		}
		for _, w := range e.Warnings(from, to, c.Zone) {
			if !slices.Contains(list, w) {
				list = append(list, w)
			}
		}
	}
	return append(list, s.own(c, from)...)
}

// own lists the warnings that follow from how far occurrences lie apart.
func (s Spec) own(c Compiled, from time.Time) []cron.Warning {
	if _, ok := c.Trigger.Next(from); !ok {
		return []cron.Warning{{Code: CodeNeverDue, Message: fmt.Sprintf("nothing is due after %s", FormatInstant(from)),
			Fix: "check starts_at, ends_at, max_occurrences and the instants"}}
	}
	shortest, longest, ok := waits(c.Trigger, from, c.Zone)
	if !ok {
		return nil
	}
	var list []cron.Warning
	if age := time.Duration(s.MaxCatchupAge); age > 0 && longest > age && s.Misfire != MisfireSkip {
		list = append(list, cron.Warning{Code: CodeCatchupShort,
			Message: fmt.Sprintf("up to %s pass between two occurrences, but a missed one is given up after %s: a longer outage leaves a gap, reason too_old",
				FormatDuration(longest), FormatDuration(age)),
			Fix: "max_catchup_age: " + FormatDuration(longest)})
	}
	if time.Duration(s.Jitter) > shortest {
		list = append(list, cron.Warning{Code: CodeJitterLong,
			Message: fmt.Sprintf("two occurrences can be %s apart; the jitter of %s ends where the next one is due", FormatDuration(shortest), s.Jitter),
			Fix:     "jitter: " + FormatDuration(shortest)})
	}
	return list
}

// waits returns the shortest and the longest wait between the next occurrences. A wait counts as what the zone's clocks
// show or as what passes, whichever is less, so that a day with 25 hours is a day, and so is one that ends with a late
// occurrence. It is false when fewer than two are left.
func waits(t trigger.Trigger, from time.Time, zone *time.Location) (shortest, longest time.Duration, ok bool) {
	last, ok := t.Next(from)
	if !ok {
		return 0, 0, false
	}
	found := false
	for range surveyed {
		next, more := t.Next(last)
		if !more {
			break
		}
		wait := next.Sub(last)
		if wall := onTheWall(next, zone).Sub(onTheWall(last, zone)); wall > 0 {
			wait = min(wait, wall) // zero and less: both readings of a repeated hour
		}
		if !found || wait < shortest {
			shortest = wait
		}
		longest = max(longest, wait)
		last, found = next, true
	}
	return shortest, longest, found
}

// onTheWall is what the zone's clocks show, as if it were UTC.
func onTheWall(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}
