package sim

import (
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

// executions holds every run to what its executions wrote down.
func (c *checker) executions() {
	revisions := map[schedule.ID]*Schedule{}
	for i := range c.Schedules {
		revisions[c.Schedules[i].ID] = &c.Schedules[i]
	}
	known := map[run.ID]bool{}
	for i := range c.Evidence.Runs {
		r := &c.Evidence.Runs[i]
		known[r.ID] = true
		s := revisions[r.Schedule]
		if s == nil {
			c.say("the run %s is of no schedule that was declared", r.ID)
			continue
		}
		starts := slices.SortedFunc(slices.Values(c.starts[r.ID]), byStart)
		c.started(s, r, starts)
		c.ended(s, r, starts)
		c.history(s, r)
	}
	for id, starts := range c.starts {
		if !known[id] {
			c.say("%s was started %d times, and the ledger knows no such run", starts[0].Key, len(starts))
		}
	}
}

// started: never before its instant, never more often than delivered, and under fences that increase.
func (c *checker) started(s *Schedule, r *run.Run, starts []Start) {
	if len(starts) > r.Deliveries {
		c.say("%s: the run due %s was started %d times and delivered %d times", s.Name, stamp(r.Due), len(starts), r.Deliveries)
	}
	ready := c.readyAt(s, r)
	c.prompt(s, r, ready, starts)
	var fence uint64
	for i, start := range starts {
		switch {
		case start.Key != r.Key():
			c.say("%s: the run due %s was given the key %s", s.Name, stamp(r.Due), start.Key)
		case i == 0 && start.Clock.Before(ready): // the clock may be set back before the next
			c.say("%s: the run due %s, ready %s, was started at %s", s.Name, stamp(r.Due), stamp(ready), stamp(start.Clock))
		case start.Fence <= fence:
			c.say("%s: the run due %s was started under fence %d after %d", s.Name, stamp(r.Due), start.Fence, fence)
		case start.Fence > r.Fence:
			c.say("%s: the run due %s was started under fence %d, and its row has %d", s.Name, stamp(r.Due), start.Fence, r.Fence)
		}
		fence = start.Fence
	}
}

// readyAt is when a run may begin, its retries left aside. Where the next instant is not near, the count may take less
// jitter for granted than there is.
func (c *checker) readyAt(s *Schedule, r *run.Run) time.Time {
	revision := s.Revisions[r.Revision]
	if revision.Jitter > 0 {
		if next := revision.Rule.Due(r.Due.Add(time.Microsecond), r.Due.Add(2*time.Hour)); len(next) > 0 {
			return s.ready(r.Revision, r.Due, next[0])
		}
	}
	return r.Due
}

// prompt: it was begun soon, by one of the two clocks, since the machine's may have been wrong. A run that was never
// begun has but the one.
func (c *checker) prompt(s *Schedule, r *run.Run, ready time.Time, starts []Start) {
	if r.CreatedAt.After(ready) {
		ready = r.CreatedAt
	}
	if c.Prompt > 0 && len(starts) > 0 && starts[0].Clock.Sub(ready) > c.Prompt && starts[0].At.Sub(ready) > c.Prompt {
		c.say("%s: the run due %s could begin at %s, and did nothing until %s", s.Name, stamp(r.Due), stamp(ready), stamp(starts[0].Clock))
	}
}

// ended: the run came to an end, and to the one that its executions account for.
func (c *checker) ended(s *Schedule, r *run.Run, starts []Start) {
	final := slices.IndexFunc(starts, func(start Start) bool { return start.Fence == r.Fence })
	said := SaidNone
	if final >= 0 {
		said = starts[final].Said
	}
	bad := ""
	switch {
	case !r.Status.Final():
		if c.readyAt(s, r).Before(c.Until) {
			bad = "did not end"
		}
	case r.Status == run.Succeeded && said != SaidOK:
		bad = "has succeeded, and its last execution does not say so"
	case r.Status == run.Failed && said != SaidError:
		bad = "has failed, and its last execution does not say so"
	case r.Status == run.Failed && r.Attempt != r.MaxAttempts:
		bad = "has failed with attempts left"
	case r.Status == run.SkippedOverlap && (len(starts) > 0 || r.Overlap != schedule.OverlapSkip || !c.crowded(r)):
		bad = "was skipped without a reason"
	case r.Status == run.Cancelled && !slices.ContainsFunc(s.Removals, func(t time.Time) bool { return t.After(r.Due) }):
		bad = "was cancelled by nobody"
	case r.Status == run.DeadLetter && r.Deliveries < r.MaxDeliveries:
		bad = "is a dead letter with deliveries left"
	}
	if bad != "" {
		c.say("%s: the run due %s (%s, attempt %d, delivery %d, fence %d) %s: %+v", s.Name, stamp(r.Due), r.Status, r.Attempt, r.Deliveries, r.Fence, bad, starts)
	}
	c.outcomes(s, r, starts)
}

// outcomes: each outcome that was accepted belongs to an execution that said so, and one success ends it all.
func (c *checker) outcomes(s *Schedule, r *run.Run, starts []Start) {
	if r.Attempt > r.MaxAttempts {
		c.say("%s: the run due %s has %d attempts of %d", s.Name, stamp(r.Due), r.Attempt, r.MaxAttempts)
	}
	answers := 0
	for _, start := range starts {
		if start.Said == SaidOK || start.Said == SaidError {
			answers++
		}
	}
	if r.Attempt > answers {
		c.say("%s: the run due %s counts %d attempts, and %d executions gave an answer", s.Name, stamp(r.Due), r.Attempt, answers)
	}
	accepted := 0
	for _, a := range c.Attempts[r.ID] {
		i := slices.IndexFunc(starts, func(start Start) bool { return start.Fence == a.Fence })
		if a.Outcome != run.Succeeded && a.Outcome != run.Failed {
			continue
		}
		if i < 0 || (a.Outcome == run.Succeeded) != (starts[i].Said == SaidOK) {
			c.say("%s: the run due %s has an attempt that %s under fence %d; no execution says so", s.Name, stamp(r.Due), a.Outcome, a.Fence)
		}
		if a.Outcome == run.Succeeded {
			accepted++
		}
	}
	if accepted > 1 || (accepted == 1 && r.Status != run.Succeeded) {
		c.say("%s: the run due %s is %s, and %d of its outcomes are successes", s.Name, stamp(r.Due), r.Status, accepted)
	}
}

// history: every transition that was written down is one that a run can make, and the last one led to where it is.
func (c *checker) history(s *Schedule, r *run.Run) {
	for _, e := range c.History[r.ID] {
		if !e.From.CanBecome(e.To) {
			c.say("%s: the run due %s went from %s to %s", s.Name, stamp(r.Due), e.From, e.To)
		}
		if e.To.Final() && e.To != r.Status {
			c.say("%s: the run due %s became %s and is %s", s.Name, stamp(r.Due), e.To, r.Status)
		}
	}
}

func lockOf(r *run.Run) string {
	if r.Overlap == schedule.OverlapAllow {
		return ""
	}
	return r.LockKey
}

// crowded tells whether another run with the lock of this one lived when this one was skipped: by what the ledger says, or
// by what its executions wrote down, since a clock that was wrong meanwhile dates its end hours off.
func (c *checker) crowded(r *run.Run) bool {
	const slack = 30 * time.Second // the clock was stepped by no more than that for long
	from, to := r.Due, r.FinishedAt
	if to.Before(from) {
		from, to = to, from
	}
	from, to = from.Add(-slack), to.Add(slack)
	return slices.ContainsFunc(c.Evidence.Runs, func(o run.Run) bool {
		if o.ID == r.ID || lockOf(&o) != lockOf(r) || o.Due.After(to) {
			return false
		}
		return o.FinishedAt.IsZero() || !o.FinishedAt.Before(from) ||
			slices.ContainsFunc(c.starts[o.ID], func(s Start) bool { return !s.At.After(to) && !s.End.Before(from) })
	})
}

// life is the true time from the first execution of a run to the end of the last one.
type life struct {
	r        *run.Run
	from, to time.Time
}

// locks: a run owns its lock from its first execution to its last, so no two with one lock are ever alive together
// (PROTOCOL B7).
func (c *checker) locks() {
	lives := map[string][]life{}
	for i := range c.Evidence.Runs {
		r := &c.Evidence.Runs[i]
		starts := c.starts[r.ID]
		if lockOf(r) == "" || len(starts) == 0 {
			continue
		}
		l := life{r: r, from: starts[0].At, to: starts[0].End}
		for _, start := range starts {
			if start.At.Before(l.from) {
				l.from = start.At
			}
			if start.End.After(l.to) {
				l.to = start.End
			}
		}
		lives[lockOf(r)] = append(lives[lockOf(r)], l)
	}
	for lock, all := range lives {
		slices.SortFunc(all, func(a, b life) int { return a.from.Compare(b.from) })
		for i := 1; i < len(all); i++ {
			if all[i].from.Before(all[i-1].to) {
				c.say("lock %s: the run due %s began at %s, and the one due %s lived until %s", lock,
					stamp(all[i].r.Due), stamp(all[i].from), stamp(all[i-1].r.Due), stamp(all[i-1].to))
			}
		}
	}
}
