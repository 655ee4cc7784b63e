package cron

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden sentences anew; review them before they are committed")

const describeGolden = "testdata/describe.txt"

// Each line of the golden file is an expression, a tab and its sentence; six fields
// are read with seconds. The sentences are read by people: they were reviewed one by
// one for being true and plain.
func TestDescriptionsAreTheReviewedSentences(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(describeGolden)
	if err != nil {
		t.Fatal(err)
	}
	var fresh strings.Builder
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	if len(lines) < 60 {
		t.Errorf("%d sentences, want at least 60", len(lines))
	}
	for _, line := range lines {
		text, want, _ := strings.Cut(line, "\t")
		e := parse(t, text, Options{Seconds: len(strings.Fields(text)) == 6})
		if got := e.Describe(); got != want && !*update {
			t.Errorf("%s\n got: %s\nwant: %s", text, got, want)
		}
		fresh.WriteString(text + "\t" + e.Describe() + "\n")
	}
	if *update {
		if err := os.WriteFile(describeGolden, []byte(fresh.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The zero Expr has no occurrences, and says so.
func TestZeroExprIsNeverDue(t *testing.T) {
	t.Parallel()
	var e Expr
	now := at(t, "2026-01-01T00:00:00Z")
	if e.Describe() != "Never" || e.String() != "" || e.Match(now, nil) || e.Warnings(now, now, nil) != nil {
		t.Error("the zero Expr claims to mean something")
	}
	if next, ok := e.Next(now, zone(t, "Europe/Berlin")); ok {
		t.Errorf("Next is %s", next)
	}
	if prev, ok := e.Prev(now, zone(t, "Europe/Berlin")); ok {
		t.Errorf("Prev is %s", prev)
	}
}
