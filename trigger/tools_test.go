package trigger_test

import (
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // the tests name zones and must not depend on what the machine has

	"github.com/belfryhq/belfry/trigger"
	"pgregory.net/rapid"
)

func instant(t testing.TB, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func instants(t testing.TB, texts ...string) []time.Time {
	t.Helper()
	var all []time.Time
	for _, text := range texts {
		all = append(all, instant(t, text))
	}
	return all
}

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func interval(t testing.TB, every time.Duration, anchor time.Time) trigger.Trigger {
	t.Helper()
	i, err := trigger.Interval(every, anchor)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func list(tr trigger.Trigger, start, end time.Time) []time.Time {
	return slices.Collect(tr.Between(start, end))
}

// same fails unless both lists hold the same instants and what was got keeps the package's promise on its form.
func same(t rapid.TB, got, want []time.Time) {
	t.Helper()
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Fatalf("got %d occurrences, want %d\n got %v\nwant %v", len(got), len(want), clip(got), clip(want))
	}
	for _, due := range got {
		if due.Location() != time.UTC || due.Nanosecond()%1000 != 0 {
			t.Fatalf("%s is not a whole microsecond in UTC", due)
		}
	}
}

// clip keeps a failure readable.
func clip(all []time.Time) []time.Time { return all[:min(len(all), 12)] }

// calendarFunc is a Calendar for tests.
type calendarFunc func(t time.Time) bool

func (f calendarFunc) Excludes(t time.Time) bool { return f(t) }

// dates excludes whole days by the date that the rule named.
func dates(days ...string) trigger.Calendar {
	return calendarFunc(func(t time.Time) bool { return slices.Contains(days, t.Format(time.DateOnly)) })
}

// foreign hides what a trigger can do beyond the interface, like one written outside the package.
type foreign struct{ trigger.Trigger }
