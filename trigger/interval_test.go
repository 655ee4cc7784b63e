package trigger_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/trigger"
)

// R-TRG-2, R-TRG-6, R-TRG-7: the grid is anchor + k x seconds for every whole k, start is included and end is not.
func TestIntervalIsDueOnItsGrid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		every      time.Duration
		anchor     string
		start, end string
		want       []string
	}{
		{"epoch by default", time.Hour, "", "2026-07-01T09:59:59Z", "2026-07-01T12:00:00Z",
			[]string{"2026-07-01T10:00:00Z", "2026-07-01T11:00:00Z"}},
		{"start is included", 90 * time.Second, "", "1970-01-01T00:00:00Z", "1970-01-01T00:03:00Z",
			[]string{"1970-01-01T00:00:00Z", "1970-01-01T00:01:30Z"}},
		{"one nanosecond after start of the window", time.Minute, "", "2026-07-01T10:00:00.000000001Z", "2026-07-01T10:01:00Z", nil},
		{"one nanosecond before the end", time.Minute, "", "2026-07-01T10:00:00.000000001Z", "2026-07-01T10:01:00.000000001Z",
			[]string{"2026-07-01T10:01:00Z"}},
		{"the anchor sets the phase", time.Hour, "2026-07-01T10:07:00Z", "2026-07-01T12:00:00Z", "2026-07-01T14:00:00Z",
			[]string{"2026-07-01T12:07:00Z", "2026-07-01T13:07:00Z"}},
		{"the grid reaches back before the anchor", time.Hour, "2026-07-01T10:07:00Z", "1969-12-31T22:00:00Z", "1970-01-01T00:00:00Z",
			[]string{"1969-12-31T22:07:00Z", "1969-12-31T23:07:00Z"}},
		{"an anchor with a fraction", 2 * time.Second, "2026-07-01T10:00:00.25Z", "2026-07-01T10:00:00.250000001Z", "2026-07-01T10:00:04.25Z",
			[]string{"2026-07-01T10:00:02.25Z"}},
		{"an anchor is cut down to the microsecond", time.Minute, "2026-07-01T10:00:00.000001999Z", "2026-07-01T10:00:00Z", "2026-07-01T10:01:00Z",
			[]string{"2026-07-01T10:00:00.000001Z"}},
		{"an anchor in another zone is an instant", time.Hour, "2026-07-01T10:15:00+05:30", "2026-07-01T00:00:00Z", "2026-07-01T02:00:00Z",
			[]string{"2026-07-01T00:45:00Z", "2026-07-01T01:45:00Z"}},
		{"seven days from Thursday", 7 * 24 * time.Hour, "", "2026-07-01T00:00:00Z", "2026-07-16T00:00:00Z",
			[]string{"2026-07-02T00:00:00Z", "2026-07-09T00:00:00Z"}},
		{"an end before the start", time.Second, "", "2026-07-01T10:00:00Z", "2026-07-01T09:00:00Z", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var anchor time.Time
			if c.anchor != "" {
				anchor = instant(t, c.anchor)
			}
			every := interval(t, c.every, anchor)
			same(t, list(every, instant(t, c.start), instant(t, c.end)), instants(t, c.want...))
		})
	}
}

// R-TRG-6: an interval is whole seconds. What an operator reads names the value and what to write instead.
func TestIntervalRefusesWhatIsNoWholeSecond(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		every  time.Duration
		anchor time.Time
		want   error
		hint   string
	}{
		{0, time.Time{}, trigger.ErrInterval, "use for example 1s"},
		{-time.Hour, time.Time{}, trigger.ErrInterval, "use for example 1s"},
		{time.Second - 1, time.Time{}, trigger.ErrInterval, "use for example 1s"},
		{90*time.Second + 400*time.Millisecond, time.Time{}, trigger.ErrInterval, "use for example 1m30s"},
		{math.MaxInt64, time.Time{}, trigger.ErrInterval, "at least 1s"},
		{time.Second, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), trigger.ErrAnchor, "leave it out"},
		{time.Second, time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC), trigger.ErrAnchor, "leave it out"},
	} {
		got, err := trigger.Interval(c.every, c.anchor)
		if got != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.hint) {
			t.Errorf("Interval(%s, %v) = %v, %v; want %v with %q", c.every, c.anchor, got, err, c.want, c.hint)
		}
	}
}

// R-TZ-8: an interval knows no zone. Bounds that name the same instants in other zones select the same occurrences,
// and a change of the clocks does not stretch a step: each day of the European changes has 24 hourly ones.
func TestIntervalIgnoresZones(t *testing.T) {
	t.Parallel()
	hourly := interval(t, time.Hour, time.Time{})
	for _, day := range []string{"2027-03-28T00:00:00Z", "2027-10-31T00:00:00Z"} {
		start := instant(t, day)
		end := start.Add(24 * time.Hour)
		want := list(hourly, start, end)
		if len(want) != 24 {
			t.Errorf("%s has %d hourly occurrences, want 24", day, len(want))
		}
		for _, name := range []string{"Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu"} {
			z := zone(t, name)
			same(t, list(hourly, start.In(z), end.In(z)), want)
		}
	}
}

// S-003: an interval of seven days, in a process that starts anew every six hours for 30 days, gives four occurrences
// exactly seven days apart. The grid hangs on the epoch (a Thursday) and not on the start, so no restart moves it.
func TestIntervalSurvivesRestarts(t *testing.T) {
	t.Parallel()
	begin := instant(t, "2026-07-03T00:00:00Z") // a Friday: Thursdays 9, 16, 23 and 30 July follow within 30 days
	var got []time.Time
	for at := begin; at.Before(begin.Add(30 * 24 * time.Hour)); at = at.Add(6 * time.Hour) {
		restarted := interval(t, 7*24*time.Hour, time.Time{})
		got = append(got, list(restarted, at, at.Add(6*time.Hour))...)
	}
	same(t, got, instants(t, "2026-07-09T00:00:00Z", "2026-07-16T00:00:00Z", "2026-07-23T00:00:00Z", "2026-07-30T00:00:00Z"))
}

// S-033: a loop that wakes ten milliseconds early, on a clock that drifts, never selects an occurrence before its
// instant; the one it was too early for is in the window after. 1,000 wakes find 1,000 occurrences, once each.
func TestEarlyWakeSelectsNothingEarly(t *testing.T) {
	t.Parallel()
	const wakes = 1000
	everyMinute := interval(t, time.Minute, time.Time{})
	begin := instant(t, "2026-07-01T00:00:00Z")
	watermark := begin
	var got []time.Time
	for i := 1; i <= wakes; i++ {
		drift := time.Duration(i%7-3) * 3 * time.Millisecond
		now := begin.Add(time.Duration(i)*time.Minute - 10*time.Millisecond + drift)
		for due := range everyMinute.Between(watermark, now) {
			if due.After(now) {
				t.Fatalf("at %s selected %s, which is not due yet", now, due)
			}
			got = append(got, due)
		}
		watermark = now
	}
	if len(got) != wakes || !got[0].Equal(begin) {
		t.Fatalf("selected %d occurrences from %s, want %d from %s", len(got), got[0], wakes, begin)
	}
	for i, due := range got {
		if want := begin.Add(time.Duration(i) * time.Minute); !due.Equal(want) {
			t.Fatalf("occurrence %d is %s, want %s", i, due, want)
		}
	}
}

// Bounds at and beyond the edges of the calendar, the longest interval and the extreme values of time.Time must not
// overflow: an overflow would show as an instant outside the calendar or outside the window.
func TestFarDatesAreBounded(t *testing.T) {
	t.Parallel()
	everySecond := interval(t, time.Second, time.Time{})
	longest := interval(t, math.MaxInt64/time.Second*time.Second, time.Time{})
	edge := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	past, future := time.Unix(-1<<61, 0), time.Unix(1<<61, 0)

	if due, ok := everySecond.Next(edge.Add(-time.Second)); ok {
		t.Errorf("the last second of 9999 is followed by %s, want nothing", due)
	}
	if due, ok := everySecond.Next(future); ok {
		t.Errorf("after the calendar comes %s, want nothing", due)
	}
	if due, ok := everySecond.Next(past); !ok || !due.Equal(first) {
		t.Errorf("the first second is %v %v, want %s", due, ok, first)
	}
	same(t, list(everySecond, edge.Add(-2*time.Second), future), []time.Time{edge.Add(-2 * time.Second), edge.Add(-time.Second)})
	same(t, list(everySecond, past, first.Add(time.Second)), []time.Time{first})
	same(t, list(everySecond, future, past), nil)

	// 292 years and some at a step: 10,000 years hold at least 34 of them.
	all := list(longest, past, future)
	if len(all) < 34 || len(all) > 35 {
		t.Errorf("the longest interval has %d occurrences, want 34 or 35", len(all))
	}
	for _, far := range []trigger.Trigger{
		trigger.Shifted(everySecond, math.MaxInt64), trigger.Shifted(everySecond, math.MinInt64),
		trigger.Shifted(trigger.Shifted(everySecond, math.MaxInt64), math.MaxInt64),
	} {
		for due := range far.Between(edge.Add(-time.Second), future) {
			if due.Before(edge.Add(-time.Second)) || !due.Before(edge) {
				t.Errorf("moved out of the window to %s", due)
			}
		}
		if due, ok := far.Next(future); ok {
			t.Errorf("after the calendar comes %s, want nothing", due)
		}
	}
}
