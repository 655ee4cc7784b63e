package cron

import (
	"testing"
	"time"
)

// Five fields, in this order: minute, hour, day of month, month, day of week, where 0 is Sunday. Each field alone moves
// what its name says. R-TRG-4.
func TestFieldsStandInTheOrderOfCron(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) // a Thursday
	for text, want := range map[string]time.Time{
		"7 * * * *": from.Add(7 * time.Minute),
		"0 7 * * *": from.Add(7 * time.Hour),
		"0 0 7 * *": time.Date(2026, 1, 7, 0, 0, 0, 0, time.UTC),
		"0 0 1 7 *": time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
		"0 0 * * 0": time.Date(2026, 1, 4, 0, 0, 0, 0, time.UTC), // the first Sunday
	} {
		e, err := Parse(text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := e.Next(from, time.UTC); !ok || !got.Equal(want) {
			t.Errorf("%s: next %v, want %v", text, got, want)
		}
	}
}

// The examples that the four described systems give work as they say. R-TRG-5.
func TestDocumentedExamplesWork(t *testing.T) {
	t.Parallel()
	friday := time.Date(2026, 1, 2, 8, 58, 0, 0, time.UTC)
	for text, want := range map[string][]time.Time{
		"0 2 * * *":   {time.Date(2026, 1, 3, 2, 0, 0, 0, time.UTC), time.Date(2026, 1, 4, 2, 0, 0, 0, time.UTC)},
		"*/5 * * * *": {friday.Add(2 * time.Minute), friday.Add(7 * time.Minute)},
		"0 9 * * 1-5": {friday.Add(2 * time.Minute), time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)}, // Monday
	} {
		e, err := Parse(text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		at := friday
		for _, w := range want {
			got, ok := e.Next(at, time.UTC)
			if !ok || !got.Equal(w) {
				t.Errorf("%s after %v: %v, want %v", text, at, got, w)
			}
			at = got
		}
	}
}
