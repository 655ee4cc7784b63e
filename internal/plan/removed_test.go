package plan

import (
	"testing"
	"time"

	"github.com/belfryhq/belfry/schedule"
)

// A removed schedule may owe more than one decision looks at. What is beyond the bound is left for the next commit, as
// for every other schedule, and not passed over in silence (P1).
func TestARemovedSchedulesLongBacklogIsAccountedForToItsEnd(t *testing.T) {
	t.Parallel()
	const seconds = 250_000 // more than twice WalkLimit
	from := at(t, "00:00:00")
	to := from.Add(seconds * time.Second)
	row := schedule.Row{ID: schedule.ID{9}, Deleted: true, Spans: []schedule.Span{scriptSpan(t, "00:00:00", "-", `{"trigger":{"every":"1s"}}`, 1)}}
	in := Input{
		Definition: Build(row), From: from, To: to, Now: to, Lease: 5 * time.Second, NewID: counter(),
		Existing: Existing{Runs: []time.Time{from.Add(10 * time.Second)}},
	}
	counted, commits := 0, 0
	for ; in.From.Before(to); commits++ {
		d := Decide(in)
		for _, g := range d.Gaps {
			counted += g.Count
		}
		if d.Rest.IsZero() {
			break
		}
		if !d.Rest.After(in.From) {
			t.Fatalf("nothing was decided from %v on", in.From)
		}
		in.From, in.OpenedAt = d.Rest, d.OpenedAt
	}
	if counted != seconds-1 { // one of them has a run
		t.Errorf("%d occurrences are in gaps after %d commits, want %d", counted, commits+1, seconds-1)
	}
}
