package trigger_test

import (
	"testing"
	"time"

	"github.com/belfryhq/belfry/trigger"
)

// R-DEL-9: schedules that share an expression are spread by a stable offset from their id, and each keeps its second
// across deploys. The numbers were computed from the definition, with another implementation of SHA-256; they may
// never change, because every stored key would change with them.
func TestSpreadIsFrozen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id     string
		within time.Duration
		want   time.Duration
	}{
		{"", time.Minute, 52 * time.Second},
		{"sch_01", time.Minute, 43 * time.Second},
		{"sch_01", time.Hour, 1243 * time.Second},
		{"sch_01", 24 * time.Hour, 55243 * time.Second},
		{"nightly-report", time.Minute, 23 * time.Second},
		{"nightly-report", time.Minute + 999*time.Millisecond, 23 * time.Second},
		{"nightly-report", 24 * time.Hour, 7943 * time.Second},
		{"sch_01J9ZQ0M3W7V5T2R8K4N6P1XYZ", time.Hour, 3099 * time.Second},
		{"sch_01", 1999 * time.Millisecond, 0},
		{"sch_01", time.Second, 0},
		{"sch_01", 0, 0},
		{"sch_01", -time.Hour, 0},
	} {
		if got := trigger.Spread(c.id, c.within); got != c.want {
			t.Errorf("Spread(%q, %s) = %s, want %s", c.id, c.within, got, c.want)
		}
	}
}

// PROTOCOL C2: jitter depends on the schedule and the due instant only, so nobody draws it again: no node, no zone, no
// fraction below a microsecond. Frozen like the spread.
func TestJitterIsFrozen(t *testing.T) {
	t.Parallel()
	ten := instant(t, "2026-07-01T10:00:00Z")
	for _, c := range []struct {
		id     string
		due    time.Time
		within time.Duration
		want   time.Duration
	}{
		{"sch_01", ten, 15 * time.Minute, 393285604 * time.Microsecond},
		{"sch_01", ten.In(time.FixedZone("", 3600)), 15 * time.Minute, 393285604 * time.Microsecond},
		{"sch_01", ten.Add(999), 15 * time.Minute, 393285604 * time.Microsecond},
		{"sch_01", ten, 12 * time.Hour, 39993285604 * time.Microsecond},
		{"sch_01", ten.Add(250 * time.Millisecond), 15 * time.Minute, 205016514 * time.Microsecond},
		{"nightly-report", ten, 15 * time.Minute, 199094334 * time.Microsecond},
		{"sch_01J9ZQ0M3W7V5T2R8K4N6P1XYZ", ten, 12 * time.Hour, 3842035778 * time.Microsecond},
		{"sch_01", ten, time.Microsecond, 0},
		{"sch_01", ten, -time.Minute, 0},
	} {
		if got := trigger.Jitter(c.id, c.due, c.within); got != c.want {
			t.Errorf("Jitter(%q, %s, %s) = %s, want %s", c.id, c.due, c.within, got, c.want)
		}
	}
}

// A spread that left a second out, or crowded one, would defeat its purpose. 60,000 ids over 60 seconds give 1,000 a
// second; six standard deviations of the binomial distribution are 6 x sqrt(60000 x 1/60 x 59/60), about 188.
func TestSpreadIsEven(t *testing.T) {
	t.Parallel()
	var spread, jitter [60]int
	start := instant(t, "2026-07-01T00:00:00Z")
	for i := range 60_000 {
		due := start.Add(time.Duration(i) * time.Minute)
		spread[trigger.Spread(due.Format(time.RFC3339), time.Minute)/time.Second]++
		jitter[trigger.Jitter("sch_01", due, time.Minute)/time.Second]++
	}
	for second := range 60 {
		for _, n := range []int{spread[second], jitter[second]} {
			if n < 812 || n > 1188 {
				t.Errorf("second %d was drawn %d and %d times, want about 1000", second, spread[second], jitter[second])
			}
		}
	}
}
