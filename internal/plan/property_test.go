package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/belfryhq/belfry/schedule"
)

// Every occurrence of the stretch, and no other, ends in exactly one run or gap, or lies in the rest that the decision
// leaves for later - whatever the policy, the revisions, the outage, and what was disposed of before (P1, P2). The
// expected instants come from the interval's arithmetic.
func TestADecisionDisposesOfItsStretchOnceAndOfNothingElse(t *testing.T) {
	t.Parallel()
	base := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		step := time.Duration(rapid.SampledFrom([]int{1, 7, 15, 60, 300, 3600}).Draw(t, "step")) * time.Second
		from := base.Add(time.Duration(rapid.IntRange(0, 7_200_000).Draw(t, "from")) * time.Millisecond)
		now := from.Add(time.Duration(rapid.IntRange(-3000, 7_200_000).Draw(t, "outage")) * time.Millisecond)
		to := now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "lead")) * time.Millisecond)
		if !to.After(from) {
			to = from.Add(time.Millisecond)
		}
		edited := from.Add(time.Duration(rapid.IntRange(-1000, 3_600_000).Draw(t, "edit")) * time.Millisecond)
		spec := propertySpec(t, step)
		row := schedule.Row{ID: schedule.ID{7}, Deleted: rapid.IntRange(0, 9).Draw(t, "deleted") == 0, Spans: []schedule.Span{
			{Revision: 1, From: base.Add(-time.Hour), To: edited, Spec: spec}, {Revision: 2, From: edited, Spec: spec},
		}}
		var want []time.Time
		var existing Existing
		for due := base; due.Before(to); due = due.Add(step) {
			if due.Before(from) {
				continue
			}
			if rapid.IntRange(0, 20).Draw(t, "there") == 0 {
				existing.Runs = append(existing.Runs, due)
				continue
			}
			want = append(want, due)
		}
		d := Decide(Input{Definition: Build(row), From: from, To: to, Now: now, Lease: 5 * time.Second, Existing: existing, NewID: counter()})
		checkDisposed(t, d, want)
	})
}

func propertySpec(t *rapid.T, step time.Duration) []byte {
	text := fmt.Sprintf(`{"trigger":{"every":%q,"anchor":"2026-06-01T00:00:00Z"},"misfire":%q,"misfire_keep":%q,"misfire_limit":%d,"max_catchup_age":%q}`,
		schedule.FormatDuration(step), rapid.SampledFrom([]string{"once", "skip", "all"}).Draw(t, "misfire"),
		rapid.SampledFrom([]string{"oldest", "newest"}).Draw(t, "keep"), rapid.IntRange(1, 1000).Draw(t, "limit"),
		rapid.SampledFrom([]string{"10m", "24h"}).Draw(t, "age"))
	var s schedule.Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	s.Target.Command = &schedule.Command{Argv: []string{"true"}}
	full, err := s.Complete(schedule.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := schedule.EncodeSpec(full)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func checkDisposed(t *rapid.T, d Decision, want []time.Time) {
	if !d.Rest.IsZero() {
		want = slices.DeleteFunc(slices.Clone(want), func(due time.Time) bool { return !due.Before(d.Rest) })
	}
	got := map[time.Time]int{}
	for _, r := range d.Runs {
		got[r.Due]++
	}
	counted := 0
	for _, g := range d.Gaps {
		inside := 0
		for _, due := range want {
			if !due.Before(g.First) && !due.After(g.Last) {
				got[due]++
				inside++
			}
		}
		if inside != g.Count {
			t.Fatalf("gap %s %v..%v counts %d, and %d instants lie in it", g.Reason, g.First, g.Last, g.Count, inside)
		}
		counted += g.Count
	}
	for _, due := range want {
		if got[due] != 1 {
			t.Fatalf("%v is disposed of %d times", due, got[due])
		}
		delete(got, due)
	}
	if len(got) > 0 {
		t.Fatalf("disposed of although nobody owed it: %v", got)
	}
	superseded := 0
	for _, r := range d.Runs {
		if r.Misfire != nil {
			superseded += r.Misfire.Superseded
		}
	}
	if superseded > counted {
		t.Fatalf("runs claim to stand for %d, gaps count %d", superseded, counted)
	}
}
