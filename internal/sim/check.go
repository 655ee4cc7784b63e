package sim

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

// Check compares the evidence with the count and returns every contradiction.
func Check(e Evidence) []string {
	c := checker{
		Evidence: e, runs: map[schedule.ID][]run.Run{}, gaps: map[schedule.ID][]run.Gap{}, starts: map[run.ID][]Start{},
		counted: map[schedule.ID][]*owed{},
	}
	for _, r := range e.Runs {
		c.runs[r.Schedule] = append(c.runs[r.Schedule], r)
	}
	for _, g := range e.Gaps {
		c.gaps[g.Schedule] = append(c.gaps[g.Schedule], g)
	}
	for _, s := range e.Starts {
		c.starts[s.Run] = append(c.starts[s.Run], s)
	}
	for i := range e.Schedules {
		s := &e.Schedules[i]
		c.dispositions(s)
		for _, o := range e.Outages {
			c.outage(s, o)
		}
	}
	c.executions()
	c.locks()
	return c.found
}

type checker struct {
	Evidence
	runs   map[schedule.ID][]run.Run
	gaps   map[schedule.ID][]run.Gap
	starts map[run.ID][]Start
	found  []string

	counted map[schedule.ID][]*owed
}

func (c *checker) say(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

// owed is one instant that a schedule owed, and the span that did.
type owed struct {
	at   time.Time
	span *Span
	next time.Time // the rule's next instant; zero: none within two hours of the span's end
	// ready is when its run may begin: lateness counts from then (PROTOCOL C2)
	ready time.Time
	// what disposes of it
	runs []*run.Run
	gaps []*run.Gap
}

// owes counts what a schedule owed before Until, under every revision that was in force.
func (c *checker) owes(s *Schedule) (all []*owed) {
	if counted, ok := c.counted[s.ID]; ok {
		return counted
	}
	defer func() { c.counted[s.ID] = all }()
	for i := range s.Spans {
		span := &s.Spans[i]
		to := span.To
		if to.IsZero() || to.After(c.Until) {
			to = c.Until
		}
		if !span.From.Before(to) {
			continue
		}
		due := s.Revisions[span.Revision].Rule.Due(span.From, to.Add(2*time.Hour))
		for i, at := range due {
			if !at.Before(to) {
				break
			}
			o := &owed{at: at, span: span}
			if i+1 < len(due) {
				o.next = due[i+1]
			}
			o.ready = s.ready(span.Revision, at, o.next)
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b *owed) int { return a.at.Compare(b.at) })
	return all
}

// ready is when the run of an instant may begin: later by its jitter, which ends where the next instant is due.
func (s *Schedule) ready(revision uint64, at, next time.Time) time.Time {
	jitter := s.Revisions[revision].Jitter
	if !next.IsZero() {
		jitter = min(jitter, next.Sub(at))
	}
	return at.Add(jitterOf(string(run.NewKey(s.ID, at, "")), jitter))
}

// dispositions holds a schedule to P1 and P2: each instant that was owed has one run or one place in a gap, and nothing
// else has.
func (c *checker) dispositions(s *Schedule) {
	all := c.owes(s)
	byInstant := map[int64]*owed{}
	for _, o := range all {
		byInstant[o.at.UnixMicro()] = o
	}
	for i := range c.runs[s.ID] {
		c.placeRun(s, &c.runs[s.ID][i], byInstant)
	}
	for i := range c.gaps[s.ID] {
		c.placeGap(s, &c.gaps[s.ID][i], all)
	}
	for _, o := range all {
		c.disposed(s, o)
	}
}

func (c *checker) placeRun(s *Schedule, r *run.Run, byInstant map[int64]*owed) {
	if !r.Due.Before(c.Until) {
		return
	}
	o := byInstant[r.Due.UnixMicro()]
	switch {
	case o == nil && !c.handed(r):
		c.say("%s: the run due %s was owed by nobody", s.Name, stamp(r.Due))
	case o == nil:
	default:
		o.runs = append(o.runs, r)
		if r.Revision != o.span.Revision && !c.handed(r) {
			c.say("%s: the run due %s is of revision %d, and revision %d owed it", s.Name, stamp(r.Due), r.Revision, o.span.Revision)
		}
	}
}

// handed tells whether a run was beyond recall when its revision ended: a worker had begun it.
func (c *checker) handed(r *run.Run) bool { return c.NotRevoked[r.ID] }

func (c *checker) placeGap(s *Schedule, g *run.Gap, all []*owed) {
	n := 0
	var first, last time.Time
	for _, o := range all {
		if o.at.Before(g.First) || (!g.Open && o.at.After(g.Last)) || o.span.Revision != g.Revision || o.span.Paused != (g.Reason == run.Paused) {
			continue
		}
		if g.Open && len(o.runs) > 0 {
			continue // it is counted without what has a run, and divided there once it is closed
		}
		o.gaps = append(o.gaps, g)
		if n++; n == 1 {
			first = o.at
		}
		last = o.at
		c.reason(s, g, o)
	}
	switch {
	case g.Open:
	case !g.First.Before(c.Until):
		c.say("%s: a gap %s begins at %s, in what is not to be settled yet", s.Name, g.Reason, stamp(g.First))
	case g.Count != n || !g.First.Equal(first) || !g.Last.Equal(last):
		c.say("%s: the gap %s of revision %d says %s to %s, %d; the count is %s to %s, %d", s.Name, g.Reason, g.Revision,
			stamp(g.First), stamp(g.Last), g.Count, stamp(first), stamp(last), n)
	}
}

// disposed holds one instant to its one disposition.
func (c *checker) disposed(s *Schedule, o *owed) {
	what := fmt.Sprintf("%s: %s (revision %d)", s.Name, stamp(o.at), o.span.Revision)
	begun := o.span.Paused && len(o.runs) == 1 && c.handed(o.runs[0]) // a pause that came too late
	switch n := len(o.runs) + len(o.gaps); {
	case n == 0:
		c.say("%s was owed and is neither a run nor in a gap", what)
	case n > 1:
		c.say("%s has %d runs and is in %d gaps", what, len(o.runs), len(o.gaps))
	case o.span.Paused && len(o.runs) == 1 && !begun:
		c.say("%s lies in a pause and has a run", what)
	}
}

// reason holds a gap to what its reason means for one of its instants.
func (c *checker) reason(s *Schedule, g *run.Gap, o *owed) {
	newest := c.policyAt(s, g.CreatedAt)
	bad := false
	switch g.Reason {
	case run.Superseded:
		bad = newest.Misfire != schedule.MisfireOnce
	case run.Missed:
		bad = newest.Misfire != schedule.MisfireSkip
	case run.Limit:
		bad = newest.Misfire != schedule.MisfireAll || newest.Keep != schedule.KeepNewest
	case run.TooOld:
		bad = newest.Age == 0 || g.CreatedAt.Sub(o.at) < newest.Age
	case run.Removed:
		bad = !slices.ContainsFunc(s.Removals, func(t time.Time) bool { return t.After(o.at) && !t.After(g.CreatedAt) })
	case run.Paused: // its span says that it was
	default:
		bad = true
	}
	if bad {
		c.say("%s: %s is in a gap %s, which its definition does not allow", s.Name, stamp(o.at), g.Reason)
	}
	switch g.Reason {
	case run.Superseded, run.Missed, run.Limit:
		if age, late := g.CreatedAt.Sub(o.ready), c.lateAfter(newest, o); age < late {
			c.say("%s: %s is in a gap %s although it was only %v old; late is %v", s.Name, stamp(o.at), g.Reason, age, late)
		}
	}
}

// policyAt returns the newest revision that was in force up to an instant.
func (c *checker) policyAt(s *Schedule, at time.Time) Revision {
	newest := s.Spans[0].Revision
	for _, span := range s.Spans {
		if !span.From.After(at) {
			newest = span.Revision
		}
	}
	return s.Revisions[newest]
}

// lateAfter is the age above which an instant is late (PROTOCOL A5). A minute stands for a successor that the count does
// not know, because another revision owes it.
func (c *checker) lateAfter(r Revision, o *owed) time.Duration {
	if r.Grace > 0 {
		return r.Grace
	}
	late := time.Minute
	if !o.next.IsZero() && (o.span.To.IsZero() || o.next.Before(o.span.To)) {
		late = min(late, o.next.Sub(o.at))
	} else {
		late = 0
	}
	return max(late, 2*c.Lease)
}

func stamp(t time.Time) string { return t.UTC().Format("02T15:04:05.999999") }

func byStart(a, b Start) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Fence, b.Fence))
}
