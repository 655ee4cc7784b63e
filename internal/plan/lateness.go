package plan

import "time"

// lateUntil returns the border between late and on time: every occurrence before it is late. Lateness grows with age
// while the grace depends on the successor only, so one border parts the stretch for any one cadence; where the cadence
// changes within the last minute, the first occurrence that is on time sets it. Age counts from when an occurrence
// becomes available, so what jitter still holds back is not late (PROTOCOL C2); jitter keeps the order of occurrences,
// and so the border.
func (d *decider) lateUntil(from time.Time) time.Time {
	if d.policy.MisfireGrace != nil {
		return clamp(d.graced(time.Duration(*d.policy.MisfireGrace)), from, d.To)
	}
	return clamp(d.graceBorder(from), from, d.To)
}

// graced is the border under a grace that the schedule gives.
func (d *decider) graced(grace time.Duration) time.Time {
	border := d.OpenedAt.Add(-grace)
	for s, due := range d.Definition.each(border.Add(-d.jitter()), border) {
		if d.age(s, due) <= grace {
			return due
		}
	}
	return border
}

func (d *decider) graceBorder(from time.Time) time.Time {
	least := 2 * d.Lease
	certain := clamp(d.OpenedAt.Add(-max(DefaultGrace, least)-d.jitter()), from, d.To)
	var last time.Time
	var age time.Duration
	for s, due := range d.Definition.each(certain, earlier(d.To, d.OpenedAt)) {
		if !last.IsZero() && !late(age, due.Sub(last), least) {
			return last
		}
		last, age = due, d.age(s, due)
	}
	if last.IsZero() {
		return d.OpenedAt
	}
	step := DefaultGrace
	if next, ok := d.Definition.Next(last); ok {
		step = next.Sub(last)
	}
	if late(age, step, least) {
		return d.OpenedAt
	}
	return last
}

// age is how long an occurrence has been available.
func (d *decider) age(s *span, due time.Time) time.Duration {
	return d.OpenedAt.Sub(s.compiled.ReadyAt(d.Definition.ID, due))
}

// jitter is the longest delay that any revision gives an occurrence.
func (d *decider) jitter() (longest time.Duration) {
	for i := range d.Definition.spans {
		longest = max(longest, d.Definition.spans[i].compiled.Jitter)
	}
	return longest
}

// late is PROTOCOL A5: the age exceeds a minute or the time to the successor, whichever is smaller, but never less
// than two leases of the planner.
func late(age, successor, least time.Duration) bool {
	return age > max(min(DefaultGrace, successor), least)
}
