package sim

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"testing"
	"time"
)

// The count is only worth something if it is right: it gives what the cases of the dialect say, wherever it can read
// the expression and the window is not too long to be walked.
func TestTheSlowCountAgreesWithTheCases(t *testing.T) {
	t.Parallel()
	f, err := os.Open("../../cron/testdata/cron.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	read := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c struct {
			ID, Expr, TZ string
			Seconds      bool
			Start, End   time.Time
			Want         []time.Time
			Error        bool
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		_, ok := tryExpression(c.Expr, c.Seconds)
		limit := 12 * 24 * time.Hour
		if c.Seconds {
			limit = time.Hour
		}
		if !ok || c.Error || c.Start.IsZero() || c.End.Sub(c.Start) > limit {
			continue
		}
		read++
		got := Rule{Cron: []string{c.Expr}, Zone: c.TZ, Seconds: c.Seconds}.Due(c.Start, c.End)
		if !slices.EqualFunc(got, c.Want, time.Time.Equal) {
			t.Errorf("%s: %q in %s: got %v, want %v", c.ID, c.Expr, c.TZ, got, c.Want)
		}
	}
	if read < 100 {
		t.Errorf("only %d cases could be compared", read)
	}
}

func TestTheSlowCountBoundsMovesAndJoins(t *testing.T) {
	t.Parallel()
	day := time.Date(2000, 3, 26, 0, 0, 0, 0, time.UTC)
	at := func(h, m, s int) time.Time {
		return day.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second)
	}
	for _, c := range []struct {
		name     string
		rule     Rule
		from, to time.Time
		want     []time.Time
	}{
		{"a grid hangs on its anchor", Rule{Every: 7 * time.Second, Anchor: at(0, 0, 3)}, at(0, 0, 0), at(0, 0, 18),
			[]time.Time{at(0, 0, 3), at(0, 0, 10), at(0, 0, 17)}},
		{"a shift moves what is due", Rule{Cron: []string{"0 * * * *"}, Shift: 90 * time.Second}, at(1, 0, 0), at(3, 0, 0),
			[]time.Time{at(1, 1, 30), at(2, 1, 30)}},
		{"a maximum counts from the start", Rule{Cron: []string{"0 * * * *"}, Starts: at(1, 0, 0), Max: 3}, at(2, 0, 0), at(9, 0, 0),
			[]time.Time{at(2, 0, 0), at(3, 0, 0)}},
		{"an end is not included", Rule{Cron: []string{"0 * * * *"}, Ends: at(2, 0, 0)}, at(0, 0, 0), at(9, 0, 0),
			[]time.Time{at(0, 0, 0), at(1, 0, 0)}},
		{"a union counts an instant once", Rule{Cron: []string{"0,30 * * * *", "*/30 1 * * *"}}, at(1, 0, 0), at(2, 0, 0),
			[]time.Time{at(1, 0, 0), at(1, 30, 0)}},
		{"a skipped time is late by the gap", Rule{Cron: []string{"30 2 * * *"}, Zone: "Europe/Berlin"}, at(0, 0, 0), at(9, 0, 0),
			[]time.Time{at(1, 30, 0)}},
		{"or is not due at all", Rule{Cron: []string{"30 2 * * *"}, Zone: "Europe/Berlin", SkipGaps: true}, at(0, 0, 0), at(9, 0, 0), nil},
	} {
		if got := c.rule.Due(c.from, c.to); !slices.EqualFunc(got, c.want, time.Time.Equal) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}
