package plan

import (
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

// Bounds of one decision. What lies beyond is left for the next commit; nothing is dropped.
const (
	// CountLimit bounds how many occurrences one gap may account for.
	CountLimit = 1_000_000
	// WalkLimit bounds how many occurrences one decision looks at one by one.
	WalkLimit = 100_000
	// RunLimit bounds how many runs one decision makes for one schedule.
	RunLimit = 1_000
	// DefaultGrace is how late an occurrence may be before it counts as late, unless the schedule says otherwise.
	DefaultGrace = time.Minute
)

// Input is what a decision rests on.
type Input struct {
	Definition *Definition
	From, To   time.Time // the unsettled stretch [From, To)
	Now        time.Time // when the decision is taken, by the store's clock
	OpenedAt   time.Time // when the backlog was found: lateness and age are judged at this instant; zero: Now
	Lease      time.Duration
	Existing   Existing
	Epoch      uint64
	Zones      string          // release of the zone data
	NewID      func() [16]byte // identifiers for runs and gaps
}

// Decision is what to commit for one schedule.
type Decision struct {
	Runs []run.Run // ascending by due
	Gaps []run.Gap
	// Rest is where the schedule still is unsettled after this commit; zero: it is settled up to To.
	Rest time.Time
	// OpenedAt goes with Rest: the instant at which the rest is judged.
	OpenedAt time.Time
	// Quarantine says why nothing could be decided; the schedule then stands at From.
	Quarantine string
}

// Decide disposes of a schedule's unsettled stretch.
func Decide(in Input) Decision {
	if in.Definition.Broken != "" {
		return Decision{Rest: in.From, Quarantine: in.Definition.Broken}
	}
	if in.OpenedAt.IsZero() || in.OpenedAt.After(in.Now) {
		in.OpenedAt = in.Now
	}
	in.Existing = in.Existing.sorted()
	d := decider{Input: in}
	d.brokenSpans()
	if policy := in.Definition.newest(); policy != nil {
		d.policy = policy.spec
		d.run()
	}
	return d.out
}

type decider struct {
	Input
	policy schedule.Spec
	out    Decision
}

func (d *decider) run() {
	if d.Definition.Deleted {
		if end := d.account(run.Removed, d.From, d.To); end.Before(d.To) {
			d.rest(end)
		}
		return
	}
	from := d.From
	if age := time.Duration(d.policy.MaxCatchupAge); age > 0 {
		if oldest := d.OpenedAt.Add(-age); oldest.After(from) {
			until := earlier(oldest, d.To)
			if from = d.account(run.TooOld, from, until); from.Before(until) {
				d.rest(from)
				return
			}
		}
	}
	switch d.policy.Misfire {
	case schedule.MisfireAll:
		d.all(from)
	case schedule.MisfireSkip:
		d.skip(from)
	default:
		d.once(from)
	}
}

// skip makes one gap of what is late, and runs the rest.
func (d *decider) skip(from time.Time) {
	border := d.lateUntil(from)
	if end := d.account(run.Missed, from, border); end.Before(border) {
		d.rest(end)
		return
	}
	d.onTime(border)
}

// once collapses what is late into the newest occurrence that is due. If a newer one was dispatched already, or is on
// time, all of it is superseded; if not, the newest late one runs.
func (d *decider) once(from time.Time) {
	border := d.lateUntil(from)
	newest, ok := d.lastBefore(from, border)
	if !ok { // nothing is late
		d.onTime(border)
		return
	}
	carrier := d.firstCarrier(border)
	if carrier.IsZero() && !d.Existing.after(newest) {
		carrier = newest
	}
	until := border
	if carrier.Equal(newest) {
		until = newest
	}
	before := len(d.out.Gaps)
	if end := d.account(run.Superseded, from, until); end.Before(until) {
		d.rest(end)
		return
	}
	if carrier.Equal(newest) {
		d.add(newest)
	}
	d.onTime(border)
	d.collapse(carrier, d.out.Gaps[before:])
}

// firstCarrier returns the newest on-time occurrence that is due: the one that late ones collapse into. Occurrences
// that a lead reaches but that are not yet due do not carry anything.
func (d *decider) firstCarrier(border time.Time) (carrier time.Time) {
	for _, due := range d.Definition.each(border, d.To) {
		if due.After(d.OpenedAt) {
			break
		}
		if !d.Existing.at(due) {
			carrier = due
		}
	}
	return carrier
}

// collapse ties the superseded gaps to the run that carries them.
func (d *decider) collapse(carrier time.Time, gaps []run.Gap) {
	for i := range d.out.Runs {
		r := &d.out.Runs[i]
		if !r.Due.Equal(carrier) {
			continue
		}
		r.Misfire = &run.Misfire{Policy: schedule.MisfireOnce}
		for j := range gaps {
			gaps[j].Run = r.ID
			r.Misfire.Superseded += gaps[j].Count
			r.Misfire.Gap = gaps[j].ID.String()
		}
	}
}

// all runs what is late, a limit at a time. New occurrences queue behind the drain (PROTOCOL C4).
func (d *decider) all(from time.Time) {
	border := d.lateUntil(from)
	limit := d.policy.MisfireLimit
	if limit <= 0 {
		limit = 100
	}
	if d.policy.MisfireKeep == schedule.KeepNewest {
		from = d.dropBeyond(from, border, limit)
		if !d.out.Rest.IsZero() {
			return
		}
	}
	for _, due := range d.Definition.each(from, border) {
		if d.Existing.at(due) {
			continue
		}
		if len(d.out.Runs) == limit {
			d.rest(due)
			return
		}
		d.add(due)
		d.out.Runs[len(d.out.Runs)-1].Misfire = &run.Misfire{Policy: schedule.MisfireAll}
	}
	d.onTime(border)
}

// dropBeyond accounts for all but the newest limit late occurrences and returns where those begin.
func (d *decider) dropBeyond(from, border time.Time, limit int) time.Time {
	ring := make([]time.Time, limit)
	n := 0
	for _, due := range d.Definition.each(from, border) {
		if d.Existing.at(due) {
			continue
		}
		ring[n%limit] = due
		if n++; n > WalkLimit {
			break
		}
	}
	if n <= limit {
		return from
	}
	keep := ring[n%limit] // the oldest of the newest
	if end := d.account(run.Limit, from, keep); end.Before(keep) {
		d.rest(end)
		return end
	}
	if n > WalkLimit { // there are more behind what was looked at: decide on the rest in the next commit
		d.rest(keep)
	}
	return keep
}

// onTime runs every occurrence of [from, To) that nothing disposes of yet.
func (d *decider) onTime(from time.Time) {
	for _, due := range d.Definition.each(from, d.To) {
		if d.Existing.at(due) {
			continue
		}
		if len(d.out.Runs) >= RunLimit {
			d.rest(due)
			return
		}
		d.add(due)
	}
}

// lastBefore returns the newest undisposed occurrence of [from, to).
func (d *decider) lastBefore(from, to time.Time) (last time.Time, ok bool) {
	for i := len(d.Definition.spans) - 1; i >= 0 && !ok; i-- {
		s := &d.Definition.spans[i]
		if a, b, in := s.clip(from, to); in {
			last, ok = d.lastOf(s.compiled.Trigger, a, b)
		}
	}
	return last, ok
}

func (d *decider) rest(from time.Time) { d.out.Rest, d.out.OpenedAt = from, d.OpenedAt }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func clamp(t, low, high time.Time) time.Time {
	if t.Before(low) {
		t = low
	}
	return earlier(t, high)
}
