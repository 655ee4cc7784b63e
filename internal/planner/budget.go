package planner

import (
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/timeline"
)

// budget bounds what one commit decides of the past. Schedules alone would not do: the policy all makes many rows of
// one, and a long outage takes long to count, while everybody else waits for the transaction or for the next one
// (PROTOCOL A4).
type budget struct {
	clock   clock.Clock
	room    int           // schedules
	rows    int           // of the whole commit
	until   time.Duration // reading of the boot clock
	decided int           // late schedules
}

// rowsPerSchedule is how many rows a commit may have for each schedule it may decide.
const rowsPerSchedule = 2

func (p *Planner) newBudget(onTime int) budget {
	return budget{
		clock: p.o.Clock,
		room:  max(p.o.Batch-onTime, p.o.Batch/10, 1),
		rows:  rowsPerSchedule * p.o.Batch,
		until: p.o.Clock.Elapsed() + p.o.Lease/4,
	}
}

// spent tells that no more late schedule of the window fits. One always does, or nothing would ever get on.
func (b *budget) spent(w *work) bool {
	return b.decided >= b.room || b.decided > 0 && b.exhausted(w)
}

// exhausted tells that the commit is big enough, or has taken long enough to decide.
func (b *budget) exhausted(w *work) bool { return w.rows >= b.rows || b.clock.Elapsed() > b.until }

// part tells what is surely on time from what may be late, without deciding it: only late entries may be put off, since
// the order of decisions matters to nobody but their punctuality.
func (p *Planner) part(all []timeline.Stretch, now time.Time) (onTime, late []timeline.Stretch) {
	surely := now.Add(-2 * p.o.Lease)
	for _, s := range all {
		if s.Next.IsZero() || !s.Next.Before(surely) {
			onTime = append(onTime, s)
		} else {
			late = append(late, s)
		}
	}
	return onTime, late
}

// putOff leaves an entry for a later commit: a pinned one stays pinned where it is, and one that rides the watermark
// becomes part of a backlog, since the watermark goes past it.
func (w *work) putOff(s timeline.Stretch) {
	d := s.Payload.(*plan.Definition)
	if s.Pinned {
		w.hold(d, s.From)
		return
	}
	w.left = append(w.left, d.ID)
}
