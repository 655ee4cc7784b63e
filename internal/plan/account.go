package plan

import (
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/trigger"
)

// account makes gaps of everything undisposed in [from, to), one for each revision and each stretch between what is
// disposed of already, and returns up to where it came: to, or earlier when a bound was reached.
func (d *decider) account(reason run.Reason, from, to time.Time) time.Time {
	for i := range d.Definition.spans {
		s := &d.Definition.spans[i]
		a, b, ok := s.clip(from, to)
		if !ok {
			continue
		}
		if end := d.accountSpan(reason, s, a, b); end.Before(b) {
			return end
		}
	}
	return to
}

func (d *decider) accountSpan(reason run.Reason, s *span, from, to time.Time) time.Time {
	if d.Existing.empty() {
		n, first, last := trigger.Count(s.compiled.Trigger, from, to, CountLimit)
		if n == 0 {
			return to
		}
		d.gap(reason, s, first, last, n)
		if n == CountLimit {
			return last.Add(time.Microsecond)
		}
		return to
	}
	var first, last time.Time
	n, walked := 0, 0
	flush := func() {
		if n > 0 {
			d.gap(reason, s, first, last, n)
		}
		n = 0
	}
	for due := range s.compiled.Trigger.Between(from, to) {
		if walked++; walked > WalkLimit {
			flush()
			return due
		}
		if d.Existing.at(due) {
			flush() // a gap never spans an occurrence that something else disposes of
			continue
		}
		if n == 0 {
			first = due
		}
		last = due
		n++
	}
	flush()
	return to
}

func (d *decider) gap(reason run.Reason, s *span, first, last time.Time, n int) {
	d.out.Gaps = append(d.out.Gaps, run.Gap{
		ID: run.GapID(d.NewID()), Tenant: d.Definition.Tenant, Schedule: d.Definition.ID, Revision: s.revision,
		Reason: reason, Policy: d.gapPolicy(reason), First: first, Last: last, Count: n, Epoch: d.Epoch,
		ZoneRelease: d.Zones, CreatedAt: d.Now,
	})
}

func (d *decider) gapPolicy(reason run.Reason) schedule.Misfire {
	switch reason {
	case run.Missed, run.Superseded, run.Limit:
		return d.policy.Misfire
	default:
		return ""
	}
}

// brokenSpans accounts for stretches under a revision that could not be read and has since been replaced. How many
// occurrences they held cannot be known, so the gap names the stretch with a count of zero.
func (d *decider) brokenSpans() {
	for i := range d.Definition.spans {
		s := &d.Definition.spans[i]
		if s.broken == "" || s.to.IsZero() || !s.to.After(d.From) || !s.from.Before(d.To) {
			continue
		}
		from := s.from
		if d.From.After(from) {
			from = d.From
		}
		if from.Before(s.to) && !d.Existing.at(from) {
			d.gap(run.Quarantined, s, from, s.to.Add(-time.Microsecond), 0)
		}
	}
}

// add makes the run of an occurrence, with the policies of the revision that owed it.
func (d *decider) add(due time.Time) {
	for i := range d.Definition.spans {
		s := &d.Definition.spans[i]
		if _, _, ok := s.clip(due, due.Add(1)); ok {
			d.out.Runs = append(d.out.Runs, d.newRun(s, due))
			return
		}
	}
}

func (d *decider) newRun(s *span, due time.Time) run.Run {
	r := run.Run{
		ID: run.ID(d.NewID()), Tenant: d.Definition.Tenant, Schedule: d.Definition.ID, Revision: s.revision,
		Kind: run.Scheduled, Status: run.Pending, Due: due, ReadyAt: s.compiled.ReadyAt(d.Definition.ID, due),
		Pool: s.spec.Pool, Overlap: s.spec.Overlap,
		MaxAttempts: s.spec.MaxAttempts, MaxDeliveries: s.spec.MaxDeliveries, OnLost: s.spec.OnLost,
		Backoff: time.Duration(s.spec.Backoff), Epoch: d.Epoch, CreatedAt: d.Now,
	}
	if s.spec.Overlap != schedule.OverlapAllow {
		r.LockKey = s.spec.LockKey
		if r.LockKey == "" {
			r.LockKey = "schedule:" + d.Definition.ID.String()
		}
	}
	return r
}

// lastOf finds the newest undisposed occurrence of a trigger in [from, to) by looking at ever longer tails, so that it
// does not walk a whole outage to find its end.
func (d *decider) lastOf(t trigger.Trigger, from, to time.Time) (last time.Time, ok bool) {
	for tail := time.Minute; ; tail *= 8 {
		start := to.Add(-tail)
		whole := !start.After(from) || tail > 1<<61
		if whole {
			start = from
		}
		for due := range t.Between(start, to) {
			if !d.Existing.at(due) {
				last, ok = due, true
			}
		}
		if ok || whole {
			return last, ok
		}
	}
}
