package control_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/schedule"
)

// A sharedCase is a line of the cases that decide what the dialect means.
type sharedCase struct {
	ID, Expr, TZ     string
	Seconds, Error   bool
	Start, End, From time.Time
	Count            int
	Want             []time.Time
}

func sharedCases(t *testing.T) (cases []sharedCase) {
	t.Helper()
	f, err := os.Open("../cron/testdata/cron.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c sharedCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil || len(cases) != 600 {
		t.Fatalf("read %d cases, want 600: %v", len(cases), err)
	}
	return cases
}

// What package cron promises, people see: each shared case holds through the preview, its window as a window and its
// "the first so many" as a number; what must be refused is refused with a place in the spec. R-CRON-1..8, R-TZ-3..6.
func TestPreviewAgreesWithEverySharedCase(t *testing.T) {
	t.Parallel()
	for _, c := range sharedCases(t) {
		spec, err := control.Expression(c.Expr, schedule.Spec{TimeZone: c.TZ, Trigger: schedule.Trigger{Seconds: c.Seconds}}, "cron")
		if c.Error {
			var bad *schedule.Invalid
			if !errors.As(err, &bad) || len(bad.Problems) == 0 || bad.Problems[0].Pointer == "" {
				t.Errorf("%s: %.80q: %v, want a refusal that names its place", c.ID, c.Expr, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %q: %v", c.ID, c.Expr, err)
			continue
		}
		in := control.PreviewInput{Spec: spec, From: c.Start, To: c.End}
		if c.Count > 0 {
			in = control.PreviewInput{Spec: spec, From: c.From, N: c.Count}
		}
		p, err := control.Look(in)
		if err != nil || p.Truncated || !slices.EqualFunc(p.Occurrences, c.Want, time.Time.Equal) {
			t.Errorf("%s: %q in %s: %v, truncated %v, %v; want %v", c.ID, c.Expr, c.TZ, p.Occurrences, p.Truncated, err, c.Want)
		}
		for _, due := range p.Occurrences {
			if due.Location().String() != c.TZ {
				t.Errorf("%s: %v is shown on the clock of %s, not of %s", c.ID, due, due.Location(), c.TZ)
			}
		}
	}
}
