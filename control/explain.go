package control

import (
	"context"
	"fmt"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/trigger"
)

// The answers of Explain.
const (
	AnswerRun     = "run"     // it was due and has a run
	AnswerGap     = "gap"     // it was due and is in a gap
	AnswerPending = "pending" // it was due and is not settled yet
	AnswerFuture  = "future"  // it will be due
	AnswerPaused  = "paused"  // it would be due, but the schedule is paused
	AnswerNotDue  = "not_due"
	AnswerUnknown = "unknown" // it was due and is settled, and no record of it is left
)

// Explanation is the stored answer to "what became of this instant". The caller owns it.
type Explanation struct {
	Schedule      schedule.Schedule
	At            time.Time
	Answer        string
	Due           bool
	Revision      uint64 // under which it was answered; 0: none is known to have been in force
	Sentence      string
	Run           *Run
	Gap           *run.Gap
	Before, After time.Time // occurrences around it under that revision; zero: none
	Zone          *time.Location
	CoveredUntil  time.Time
}

// Explain says what became of one instant of a schedule. Records answer first: a run or a gap holds whatever the
// definition was then. Only where there is none is the definition asked.
func (c *Control) Explain(ctx context.Context, tenant, name string, at time.Time) (Explanation, error) {
	s, err := c.find(ctx, tenant, name)
	if err != nil {
		return Explanation{}, err
	}
	x := Explanation{Schedule: s, At: at.UTC().Truncate(time.Microsecond), Zone: time.UTC}
	if x.CoveredUntil, err = c.store.Unsettled(ctx, s.ID); err != nil {
		return x, fmt.Errorf("read coverage: %w", err)
	}
	if found, err := c.recorded(ctx, &x); found || err != nil {
		return x, err
	}
	now, err := c.store.Now(ctx)
	if err != nil {
		return x, fmt.Errorf("read the clock: %w", err)
	}
	x.decide(now)
	return x, nil
}

// recorded answers from the ledger.
func (c *Control) recorded(ctx context.Context, x *Explanation) (bool, error) {
	end := x.At.Add(time.Microsecond)
	runs, _, err := c.store.Runs(ctx, store.RunQuery{Schedule: x.Schedule.ID, Kind: run.Scheduled, From: x.At, To: end, Page: store.Page{Limit: 1}})
	if err != nil {
		return false, fmt.Errorf("find the run: %w", err)
	}
	if len(runs) > 0 {
		r, err := c.withTarget(ctx, runs[0])
		if err != nil {
			return false, err
		}
		x.Answer, x.Due, x.Run = AnswerRun, true, &r
		x.Sentence = fmt.Sprintf("it was due, and its run %s %s", r.ID, inWords(&r.Run))
		return true, c.around(ctx, x, r.Revision)
	}
	gaps, _, err := c.store.Gaps(ctx, store.GapQuery{Schedule: x.Schedule.ID, From: x.At, To: end, Page: store.Page{Limit: 100}})
	if err != nil {
		return false, fmt.Errorf("find the gap: %w", err)
	}
	for i := range gaps {
		g := &gaps[i]
		if x.At.Before(g.First) || x.At.After(g.Last) || g.Count == 0 {
			continue
		}
		if err := c.around(ctx, x, g.Revision); err != nil {
			return false, err
		}
		if !x.Due {
			continue
		}
		x.Answer, x.Gap = AnswerGap, g
		x.Sentence = fmt.Sprintf("it was due and made no run: %s (one of %d in gap %s)", reasonInWords(g.Reason), g.Count, g.ID)
		return true, nil
	}
	return false, nil
}

// around fills in what a revision says about the instant and its neighbours.
func (c *Control) around(ctx context.Context, x *Explanation, n uint64) error {
	text, err := c.store.Revision(ctx, x.Schedule.ID, n)
	if err != nil {
		return fmt.Errorf("read revision: %w", err)
	}
	if spec, err := schedule.DecodeSpec(text); err == nil { // the record stands, whatever became of the definition
		x.revision(n, spec)
	}
	return nil
}

func (x *Explanation) revision(n uint64, spec schedule.Spec) (schedule.Compiled, bool) {
	compiled, err := schedule.Compile(x.Schedule.ID, spec)
	if err != nil {
		return compiled, false
	}
	x.Revision, x.Zone = n, compiled.Zone
	x.Before, x.After, x.Due = time.Time{}, time.Time{}, false
	for due := range compiled.Trigger.Between(x.At, x.At.Add(time.Microsecond)) {
		x.Due = due.Equal(x.At)
	}
	if after, ok := compiled.Trigger.Next(x.At); ok {
		x.After = after
	}
	x.Before = before(compiled.Trigger, x.At)
	return compiled, true
}

// decide answers for an instant that no record names.
func (x *Explanation) decide(now time.Time) {
	s := x.Schedule
	if x.At.Before(s.ValidFrom) && x.At.Before(now) {
		x.Answer, x.Due, x.Revision, x.Before, x.After = AnswerNotDue, false, 0, time.Time{}, time.Time{}
		x.Sentence = fmt.Sprintf("nothing was owed then: revision %d took effect at %s, and what an earlier one owed would have a run or a gap",
			s.Revision, schedule.FormatInstant(s.ValidFrom))
		if x.At.Before(s.CreatedAt) {
			x.Sentence = fmt.Sprintf("the schedule did not exist yet: it was created at %s", schedule.FormatInstant(s.CreatedAt))
		} else if !x.At.Before(x.CoveredUntil) {
			x.Answer, x.Sentence = AnswerPending, "the stretch is not settled yet: an earlier revision may have owed a run"
		}
		return
	}
	compiled, ok := x.revision(s.Revision, s.Spec)
	switch {
	case !ok:
		x.Answer, x.Sentence = AnswerUnknown, "the definition cannot be read: "+s.Quarantine
	case !x.Due:
		x.Answer, x.Sentence = AnswerNotDue, fmt.Sprintf("it is not due then: %s", s.Spec.Describe())+x.change(compiled)
	case x.At.Before(compiled.StartFrom):
		x.Answer, x.Due = AnswerNotDue, false
		x.Sentence = fmt.Sprintf("nothing is owed before start_from, %s", schedule.FormatInstant(compiled.StartFrom))
	case s.Pause != nil:
		x.Answer, x.Sentence = AnswerPaused, fmt.Sprintf("it would be due, but the schedule is paused since %s by %s", schedule.FormatInstant(s.Pause.At), s.Pause.By)
	case x.At.After(now):
		x.Answer, x.Sentence = AnswerFuture, "it will be due"
	case !x.At.Before(x.CoveredUntil):
		x.Answer, x.Sentence = AnswerPending, "it was due and is not settled yet: a planner has still to decide"
	default:
		x.Answer, x.Sentence = AnswerUnknown, "it was due and is settled, but no record of it is left"
	}
}

// change tells of a change of the clocks within a day that moved, skipped or doubled a time of the schedule: the likely
// reason why somebody misses it. Empty: there was none.
func (x *Explanation) change(c schedule.Compiled) string {
	const day = 24 * time.Hour
	list := transitions(x.Schedule.Spec, c, x.At.Add(-day), x.At.Add(day))
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("; the clocks change at %s: %s", schedule.FormatInstant(list[0].At), list[0].Effect)
}

// before is the newest occurrence before an instant, found by ever longer tails, so that few are walked; zero: none in
// the last 280 years.
func before(t trigger.Trigger, at time.Time) (last time.Time) {
	const longest = 280 * 366 * 24 * time.Hour // as long as a Duration can nearly be
	for tail := time.Minute; last.IsZero(); tail = min(8*tail, longest) {
		for due := range t.Between(at.Add(-tail), at) {
			last = due
		}
		if tail == longest {
			break
		}
	}
	return last
}

func inWords(r *run.Run) string {
	switch r.Status {
	case run.Succeeded:
		return "succeeded"
	case run.Failed, run.DeadLetter:
		text := "ended " + r.Status.String()
		if r.ErrorCode != "" {
			text += " (" + r.ErrorCode + ")"
		}
		return text
	case run.SkippedOverlap:
		return "was skipped, because another run held its lock when it was to start"
	case run.Pending, run.RetryScheduled:
		return "waits to run"
	}
	return "is " + r.Status.String()
}

var reasons = map[run.Reason]string{
	run.Missed:      "it was late, and the schedule skips what is late",
	run.Superseded:  "it was late, and a newer occurrence ran for it",
	run.TooOld:      "it was older than max_catchup_age when it could be made up for",
	run.Limit:       "more were late than misfire_limit lets run",
	run.Paused:      "the schedule was paused",
	run.Quarantined: "the definition could not be evaluated",
	run.Removed:     "the schedule was removed before it could be planned",
}

func reasonInWords(r run.Reason) string {
	if text := reasons[r]; text != "" {
		return text
	}
	return r.String()
}
