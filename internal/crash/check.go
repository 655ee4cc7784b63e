// Package crash kills Belfry and looks at what is left. Commands write what they were told about themselves to a file;
// the ledger is exported once at the end; and the checker compares the two with the due instants, which it computes by
// arithmetic of its own. The checker shares no code with what it checks.
package crash

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Start is one line that a command wrote: it began to execute.
type Start struct {
	Key   string
	Fence uint64
	At    time.Time
}

// Run is what the ledger's export says of one run: the fields of the JSON that people get.
type Run struct {
	ID         string `json:"id"`
	Key        string `json:"key"`
	Kind       string `json:"kind"`
	ScheduleID string `json:"schedule_id"`
	Status     string `json:"status"`
	Due        string `json:"due"`
	Deliveries int    `json:"deliveries"`
	Fence      uint64 `json:"fence"`
}

// Gap is what the ledger's export says of one gap.
type Gap struct {
	ScheduleID string    `json:"schedule_id"`
	Reason     string    `json:"reason"`
	First      time.Time `json:"first"`
	Last       time.Time `json:"last"`
	Count      int       `json:"count"`
	CreatedAt  time.Time `json:"created_at"`
}

// Evidence is everything that the checker looks at.
type Evidence struct {
	Starts   []Start
	Runs     []Run
	Gaps     []Gap
	Expected map[string][]time.Time // due instants by schedule ID, by arithmetic
	From, To time.Time              // the expected instants are all those in [From, To)
}

// executed are the statuses that a run can only have if its code ran.
var executed = []string{"succeeded", "failed"}

// unexecuted are final statuses that account for an occurrence without a start.
var unexecuted = []string{"skipped_overlap", "expired", "cancelled", "dead_letter"}

// Check returns everything that contradicts the promises: each due instant has exactly one disposition, a run or a
// place in a gap; it was started exactly once, or more often only where the deliveries say so, or not at all where a
// gap or a final status names it; nothing else was started; nothing was started early.
func Check(e Evidence) (violations []string) {
	c := checker{e: e, starts: map[string][]Start{}, runs: map[string][]Run{}}
	for _, s := range e.Starts {
		c.starts[s.Key] = append(c.starts[s.Key], s)
	}
	for _, r := range e.Runs {
		c.runs[r.Key] = append(c.runs[r.Key], r)
	}
	known := map[string]bool{}
	for id, dues := range e.Expected {
		for _, due := range dues {
			key := id + ":" + due.UTC().Format(time.RFC3339Nano)
			known[key] = true
			c.occurrence(id, key, due)
		}
	}
	for key, starts := range c.starts {
		if !known[key] && c.inScope(key) {
			c.say("%s: started %d times, and no schedule owed it", key, len(starts))
		}
	}
	for _, g := range e.Gaps {
		c.gap(g)
	}
	slices.Sort(c.violations)
	return c.violations
}

// leastGrace is the lateness below which every occurrence runs, under any policy: two leases of a planner under default
// settings. Nothing that is less late may end in a gap.
const leastGrace = 10 * time.Second

type checker struct {
	e          Evidence
	starts     map[string][]Start
	runs       map[string][]Run
	violations []string
}

func (c *checker) say(format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf(format, args...))
}

// inScope leaves out what was due outside of the examined stretch. A key without a due instant is in scope: nobody owes
// a run without one.
func (c *checker) inScope(key string) bool {
	_, text, _ := strings.Cut(key, ":")
	due, err := time.Parse(time.RFC3339Nano, text)
	return err != nil || !due.Before(c.e.From) && due.Before(c.e.To)
}

func (c *checker) occurrence(id, key string, due time.Time) {
	starts, runs := c.starts[key], c.runs[key]
	gaps := 0
	for _, g := range c.e.Gaps {
		if g.ScheduleID == id && !due.Before(g.First) && !due.After(g.Last) {
			gaps++
		}
	}
	switch {
	case len(runs)+gaps == 0:
		c.say("%s: lost: neither a run nor a gap", key)
	case len(runs)+gaps > 1:
		c.say("%s: %d runs and %d gaps for one occurrence", key, len(runs), gaps)
	case gaps == 1 && len(starts) > 0:
		c.say("%s: started %d times although a gap accounts for it", key, len(starts))
	case len(runs) == 1:
		c.run(key, due, runs[0], starts)
	}
}

func (c *checker) run(key string, due time.Time, r Run, starts []Start) {
	if r.Kind != "scheduled" {
		c.say("%s: settled by a run of kind %s", key, r.Kind)
	}
	switch {
	case slices.Contains(executed, r.Status) && len(starts) == 0:
		c.say("%s: %s without a start", key, r.Status)
	case slices.Contains(unexecuted, r.Status) && len(starts) > 0 && r.Status != "dead_letter":
		c.say("%s: %s although it was started", key, r.Status)
	case !slices.Contains(executed, r.Status) && !slices.Contains(unexecuted, r.Status):
		c.say("%s: still %s", key, r.Status)
	}
	if len(starts) > r.Deliveries {
		c.say("%s: started %d times with %d deliveries", key, len(starts), r.Deliveries)
	}
	last := uint64(0)
	for _, s := range starts {
		if s.Fence <= last {
			c.say("%s: fence %d after fence %d", key, s.Fence, last)
		}
		last = max(last, s.Fence)
		if s.At.Before(due) {
			c.say("%s: started %v early", key, due.Sub(s.At))
		}
	}
	if slices.Contains(executed, r.Status) && last != r.Fence {
		c.say("%s: the outcome has fence %d, the last start %d", key, r.Fence, last)
	}
}

// gap checks that a gap's count is the number of due instants between its ends.
func (c *checker) gap(g Gap) {
	n := 0
	for _, due := range c.e.Expected[g.ScheduleID] {
		if !due.Before(g.First) && !due.After(g.Last) {
			n++
		}
	}
	if age := g.CreatedAt.Sub(g.Last); !g.CreatedAt.IsZero() && age <= leastGrace {
		c.say("gap %s over %s of %s: it was only %v late, and gaps are not a dustbin", g.Reason, g.Last, g.ScheduleID, age)
	}
	inside := !g.First.Before(c.e.From) && g.Last.Before(c.e.To)
	if _, known := c.e.Expected[g.ScheduleID]; known && inside && n != g.Count {
		c.say("gap %s %s..%s of %s counts %d, and %d instants lie in it", g.Reason, g.First, g.Last, g.ScheduleID, g.Count, n)
	}
}
