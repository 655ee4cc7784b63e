package crash

import (
	"strings"
	"testing"
	"time"
)

var day = time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC)

// evidence of two occurrences, both run once.
func good() Evidence {
	a, b := day, day.Add(time.Second)
	key := func(t time.Time) string { return "sch_x:" + t.Format(time.RFC3339Nano) }
	run := func(t time.Time, fence uint64) Run {
		return Run{Key: key(t), Kind: "scheduled", ScheduleID: "sch_x", Status: "succeeded", Deliveries: 1, Fence: fence}
	}
	return Evidence{
		From: a, To: a.Add(2 * time.Second), Expected: map[string][]time.Time{"sch_x": {a, b}},
		Starts: []Start{{key(a), 1, a}, {key(b), 2, b.Add(time.Millisecond)}},
		Runs:   []Run{run(a, 1), run(b, 2)},
	}
}

// A checker that cannot fail shows nothing: each kind of fault must be named.
func TestTheCheckerNamesEveryKindOfFault(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spoil func(e *Evidence)
		want  string
	}{
		"nothing":           {func(*Evidence) {}, ""},
		"lost":              {func(e *Evidence) { e.Runs, e.Starts = e.Runs[:1], e.Starts[:1] }, "lost"},
		"unexplained start": {func(e *Evidence) { e.Starts = append(e.Starts, Start{e.Starts[0].Key, 3, day}) }, "started 2 times with 1 deliveries"},
		"doubled run":       {func(e *Evidence) { e.Runs = append(e.Runs, e.Runs[0]) }, "2 runs and 0 gaps"},
		"run and gap":       {func(e *Evidence) { e.Gaps = []Gap{{"sch_x", "missed", day, day, 1, day.Add(time.Hour)}} }, "1 runs and 1 gaps"},
		"gap with a start": {func(e *Evidence) {
			e.Runs = e.Runs[1:]
			e.Gaps = []Gap{{"sch_x", "missed", day, day, 1, day.Add(time.Hour)}}
		}, "although a gap"},
		"success, no start": {func(e *Evidence) { e.Starts = e.Starts[1:] }, "succeeded without a start"},
		"skipped yet ran":   {func(e *Evidence) { e.Runs[0].Status = "skipped_overlap" }, "although it was started"},
		"still running":     {func(e *Evidence) { e.Runs[0].Status = "running" }, "still running"},
		"early":             {func(e *Evidence) { e.Starts[0].At = day.Add(-time.Microsecond) }, "early"},
		"nobody owed it":    {func(e *Evidence) { e.Starts = append(e.Starts, Start{"sch_y:x", 9, day}) }, "no schedule owed it"},
		"fence went back": {func(e *Evidence) {
			e.Runs[0].Deliveries = 2
			e.Starts = append(e.Starts, Start{e.Starts[0].Key, 1, day})
		}, "fence 1 after fence 1"},
		"outcome of another": {func(e *Evidence) { e.Runs[0].Fence = 7 }, "the outcome has fence 7"},
		"gap of what was hardly late": {func(e *Evidence) {
			e.Runs, e.Starts = e.Runs[1:], e.Starts[1:]
			e.Gaps = []Gap{{"sch_x", "superseded", day, day, 1, day.Add(9 * time.Second)}}
		}, "only 9s late"},
		"miscounted gap": {func(e *Evidence) {
			e.Runs, e.Starts = nil, nil
			e.Gaps = []Gap{{"sch_x", "missed", day, day.Add(time.Second), 3, day.Add(time.Hour)}}
		}, "counts 3, and 2"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := good()
			c.spoil(&e)
			got := strings.Join(Check(e), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("violations %q do not name %q", got, c.want)
			}
		})
	}
}
