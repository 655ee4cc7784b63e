package sim

import (
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

// settling is how long after an outage its backlog may take to be decided, with nothing else going wrong.
const settling = time.Minute

// outage holds a schedule to its misfire policy over an outage in which it was not changed. Near the borders of the
// outage it allows both answers; what lies well inside has one.
func (c *checker) outage(s *Schedule, o Outage) {
	policy, steady := c.steady(s, o)
	if !steady {
		return
	}
	grace := policy.Grace
	if grace == 0 {
		grace = max(time.Minute, 2*c.Lease)
	}
	inside := Outage{Down: o.Down.Add(c.Lead + settling), Up: o.Up.Add(-grace)}
	var late, ran, after []time.Time
	for _, w := range c.owes(s) {
		switch {
		case w.at.Before(inside.Down) || !w.at.Before(o.Up.Add(settling)):
		case w.ready.Before(inside.Up):
			late = append(late, w.at)
			if c.hasRun(s, w.at) {
				ran = append(ran, w.at)
			}
		default:
			after = append(after, w.at)
		}
	}
	old := o.Up.Add(-policy.Age)
	if policy.Age == 0 {
		old = time.Time{}
	}
	switch {
	case len(late) == 0:
	case policy.Misfire == schedule.MisfireOnce:
		c.onlyNewestRan(s, o, late, ran, after, old)
	case policy.Misfire == schedule.MisfireSkip && len(ran) > 0:
		c.say("%s: %d late runs under misfire skip, in the outage from %s to %s", s.Name, len(ran), stamp(o.Down), stamp(o.Up))
	case policy.Misfire == schedule.MisfireAll:
		c.allRan(s, policy, o, late, after, old)
	}
	c.tooOld(s, late, old)
}

// steady returns the policy of a schedule over an outage; false when it changed during it or near it.
func (c *checker) steady(s *Schedule, o Outage) (Revision, bool) {
	for _, at := range s.Changes {
		if at.After(o.Down.Add(-settling)) && at.Before(o.Up.Add(2*settling)) {
			return Revision{}, false
		}
	}
	for _, span := range s.Spans {
		if !span.Paused && !span.CaughtUp && span.From.Before(o.Down) && (span.To.IsZero() || span.To.After(o.Up)) {
			return s.Revisions[span.Revision], true
		}
	}
	return Revision{}, false
}

func (c *checker) hasRun(s *Schedule, at time.Time) bool {
	return slices.ContainsFunc(c.runs[s.ID], func(r run.Run) bool { return r.Due.Equal(at) })
}

func (c *checker) onlyNewestRan(s *Schedule, o Outage, late, ran, after []time.Time, old time.Time) {
	newest := late[len(late)-1]
	for _, at := range ran {
		if !at.Equal(newest) || slices.ContainsFunc(after, func(t time.Time) bool { return t.Before(o.Up) }) {
			c.say("%s: %s ran under misfire once although something newer was due, in the outage from %s to %s", s.Name, stamp(at), stamp(o.Down), stamp(o.Up))
		}
	}
	if len(ran) == 0 && len(after) == 0 && newest.After(old.Add(settling)) {
		c.say("%s: nothing ran under misfire once after the outage from %s to %s", s.Name, stamp(o.Down), stamp(o.Up))
	}
}

// allRan: under misfire all everything late ran; under keep newest the newest did, up to the limit.
func (c *checker) allRan(s *Schedule, policy Revision, o Outage, late, after []time.Time, old time.Time) {
	late = slices.DeleteFunc(slices.Clone(late), func(t time.Time) bool { return t.Before(old.Add(settling)) })
	limit := len(late)
	if policy.Keep == schedule.KeepNewest {
		limit = min(limit, policy.Limit)
	}
	near := 0 // what may count against the limit, depending on when the backlog was decided
	for _, at := range after {
		if at.Before(o.Up) {
			near++
		}
	}
	if policy.Keep != schedule.KeepNewest {
		near = 0
	}
	for i, at := range late {
		fromEnd := len(late) - i
		switch ran := c.hasRun(s, at); {
		case ran && fromEnd > limit:
			c.say("%s: %s ran although it is beyond the limit of the newest %d, in the outage from %s to %s", s.Name, stamp(at), policy.Limit, stamp(o.Down), stamp(o.Up))
		case !ran && fromEnd <= limit-near:
			c.say("%s: %s did not run under misfire all, in the outage from %s to %s", s.Name, stamp(at), stamp(o.Down), stamp(o.Up))
		}
	}
}

// tooOld: what was older than the schedule looks back did not run.
func (c *checker) tooOld(s *Schedule, late []time.Time, old time.Time) {
	for _, at := range late {
		if at.Before(old) && c.hasRun(s, at) {
			c.say("%s: %s ran although it was too old", s.Name, stamp(at))
		}
	}
}
