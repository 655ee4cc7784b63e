package trigger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/belfryhq/belfry/trigger"
)

// Start is the first instant that may be due and End the first that may not, exact to the nanosecond.
func TestBoundedKeepsWithinStartAndEnd(t *testing.T) {
	t.Parallel()
	hourly := interval(t, time.Hour, time.Time{})
	ten, noon := instant(t, "2026-07-01T10:00:00Z"), instant(t, "2026-07-01T12:00:00Z")
	day, nextDay := instant(t, "2026-07-01T00:00:00Z"), instant(t, "2026-07-02T00:00:00Z")
	for _, c := range []struct {
		name   string
		bounds trigger.Bounds
		want   []time.Time
	}{
		{"start included, end not", trigger.Bounds{Start: ten, End: noon}, []time.Time{ten, ten.Add(time.Hour)}},
		{"a nanosecond later", trigger.Bounds{Start: ten.Add(1), End: noon.Add(1)}, []time.Time{ten.Add(time.Hour), noon}},
		{"a maximum", trigger.Bounds{Start: ten.Add(-time.Minute), Max: 2}, []time.Time{ten, ten.Add(time.Hour)}},
		{"the end comes before the maximum", trigger.Bounds{Start: ten, End: noon, Max: 3}, []time.Time{ten, ten.Add(time.Hour)}},
		{"the maximum comes before the end", trigger.Bounds{Start: ten, End: noon, Max: 1}, []time.Time{ten}},
		{"the end before the start", trigger.Bounds{Start: noon, End: ten}, nil},
		{"a start without end", trigger.Bounds{Start: nextDay.Add(-time.Hour)}, []time.Time{nextDay.Add(-time.Hour)}},
		{"an end alone", trigger.Bounds{End: day.Add(1)}, []time.Time{day}},
	} {
		b := trigger.Bounded(hourly, c.bounds)
		same(t, list(b, day, nextDay), c.want)
		same(t, list(trigger.Bounded(foreign{hourly}, c.bounds), day, nextDay), c.want)
	}
	if n := len(list(trigger.Bounded(hourly, trigger.Bounds{}), day, nextDay)); n != 24 {
		t.Errorf("the zero bounds leave %d of 24", n)
	}
}

// PROTOCOL C7: the maximum counts from Start, not from the window that somebody happens to ask about. So a restart
// does not grant the schedule its occurrences again, and a window far away costs no more than a near one.
func TestBoundedCountsItsMaximumFromStart(t *testing.T) {
	t.Parallel()
	start := instant(t, "2026-07-01T10:00:00Z")
	last := start.Add((5_000_000 - 1) * time.Second)
	b := trigger.Bounded(interval(t, time.Second, time.Time{}), trigger.Bounds{Start: start, Max: 5_000_000})
	same(t, list(b, last.Add(-time.Second), last.Add(time.Hour)), []time.Time{last.Add(-time.Second), last})
	if due, ok := b.Next(last.Add(-1)); !ok || !due.Equal(last) {
		t.Errorf("the last one is %v %v, want %s", due, ok, last)
	}
	if due, ok := b.Next(last); ok {
		t.Errorf("after the last one comes %s", due)
	}
	for restart := start; restart.Before(start.Add(time.Minute)); restart = restart.Add(7 * time.Second) {
		again := trigger.Bounded(interval(t, time.Second, time.Time{}), trigger.Bounds{Start: start, Max: 10})
		if n := len(list(again, restart, restart.Add(time.Hour))); n != max(0, 10-int(restart.Sub(start)/time.Second)) {
			t.Errorf("from %s on there are %d", restart, n)
		}
	}
}

// What a calendar takes out counts towards a maximum that was set before, and not towards one set after.
func TestExceptAndMaximumDependOnTheirOrder(t *testing.T) {
	t.Parallel()
	start := instant(t, "2026-07-01T00:00:00Z")
	daily := interval(t, 24*time.Hour, time.Time{})
	second := dates("2026-07-02")
	bounds := trigger.Bounds{Start: start, Max: 3}
	end := start.AddDate(0, 1, 0)
	same(t, list(trigger.Except(trigger.Bounded(daily, bounds), second), start, end), instants(t, "2026-07-01T00:00:00Z", "2026-07-03T00:00:00Z"))
	same(t, list(trigger.Bounded(trigger.Except(daily, second), bounds), start, end),
		instants(t, "2026-07-01T00:00:00Z", "2026-07-03T00:00:00Z", "2026-07-04T00:00:00Z"))
}

// Two calendars each take out what they exclude, and none is no calendar.
func TestExceptCombinesCalendars(t *testing.T) {
	t.Parallel()
	start := instant(t, "2026-07-01T00:00:00Z")
	daily := interval(t, 24*time.Hour, time.Time{})
	both := trigger.Except(trigger.Except(trigger.Except(daily, dates("2026-07-02")), nil), dates("2026-07-04"))
	same(t, list(both, start, start.AddDate(0, 0, 5)), instants(t, "2026-07-01T00:00:00Z", "2026-07-03T00:00:00Z", "2026-07-05T00:00:00Z"))
}

// Except outside a shift judges the moved date, inside it the date before the move.
func TestExceptJudgesTheMovedDate(t *testing.T) {
	t.Parallel()
	start := instant(t, "2026-07-01T00:00:00Z")
	daily := interval(t, 24*time.Hour, instant(t, "2026-07-01T23:30:00Z"))
	second := dates("2026-07-02")
	same(t, list(trigger.Except(trigger.Shifted(daily, time.Hour), second), start, start.AddDate(0, 0, 3)),
		instants(t, "2026-07-01T00:30:00Z", "2026-07-03T00:30:00Z"))
	same(t, list(trigger.Shifted(trigger.Except(daily, second), time.Hour), start, start.AddDate(0, 0, 3)),
		instants(t, "2026-07-01T00:30:00Z", "2026-07-02T00:30:00Z"))
}

// A calendar that excludes everything must not keep Next searching for ever, and must not make it give up while
// something is still to come: 1.5 million occurrences in a year, more than the bound on their number, are searched in full.
func TestExceptGivesUpOnAnEndlessExclusion(t *testing.T) {
	t.Parallel()
	start := instant(t, "2026-07-01T00:00:00Z")
	everything := calendarFunc(func(time.Time) bool { return true })
	for _, every := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour} {
		never := trigger.Except(interval(t, every, time.Time{}), everything)
		if due, ok := never.Next(start); ok {
			t.Errorf("every %s: due at %s, want never", every, due)
		}
		same(t, list(never, start, start.AddDate(0, 1, 0)), nil)
	}
	back := start.AddDate(1, 0, 0)
	year := trigger.Except(interval(t, 20*time.Second, time.Time{}), calendarFunc(back.After))
	if due, ok := year.Next(start); !ok || !due.Equal(back) {
		t.Errorf("after a year without occurrences comes %v %v, want %s", due, ok, back)
	}
	// An end limits the search as well.
	ends := trigger.Bounded(trigger.Except(interval(t, time.Second, time.Time{}), everything), trigger.Bounds{End: start.Add(time.Minute)})
	if due, ok := ends.Next(start); ok {
		t.Errorf("due at %s, want never", due)
	}
}

// Counting is arithmetic for intervals however they are wrapped: the whole calendar, second by second, at once.
func TestCountIsArithmeticForIntervals(t *testing.T) {
	t.Parallel()
	const calendarSeconds = 3652059 * 86400 // days from 1 January 1 to 31 December 9999
	all := interval(t, time.Second, time.Time{})
	past, future := time.Unix(-1<<61, 0), time.Unix(1<<61, 0)
	first := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	last := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	if n, f, l := trigger.Count(all, past, future, 10); n != calendarSeconds || !f.Equal(first) || !l.Equal(last) {
		t.Errorf("the calendar has %d seconds from %s to %s, want %d", n, f, l, calendarSeconds)
	}
	start := instant(t, "2026-01-01T00:00:00Z")
	year := start.AddDate(1, 0, 0)
	wrapped := trigger.Shifted(trigger.Bounded(trigger.Shifted(all, time.Minute), trigger.Bounds{Start: start}), 250*time.Millisecond)
	n, f, l := trigger.Count(wrapped, start, year, 10)
	if n != 365*86400 || !f.Equal(start.Add(250*time.Millisecond)) || !l.Equal(year.Add(-750*time.Millisecond)) {
		t.Errorf("a year has %d seconds from %s to %s", n, f, l)
	}
}

// Where counting means visiting, it stops at the limit, and asking on from the last one counted misses none.
func TestCountStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	start := instant(t, "2026-01-01T00:00:00Z")
	end := start.Add(10 * time.Minute)
	halfMinutes := calendarFunc(func(t time.Time) bool { return t.Second() == 30 })
	tr := trigger.Except(interval(t, time.Second, time.Time{}), halfMinutes)
	want := 10 * 59
	if n, first, last := trigger.Count(tr, start, end, 0); n != want || !first.Equal(start) || !last.Equal(end.Add(-time.Second)) {
		t.Errorf("counted %d from %s to %s, want %d", n, first, last, want)
	}
	total := 0
	for from := start; ; {
		n, _, last := trigger.Count(tr, from, end, 100)
		total += n
		if n < 100 {
			break
		}
		from = last.Add(1)
	}
	if total != want {
		t.Errorf("counted %d in parts, want %d", total, want)
	}
	if n, first, last := trigger.Count(tr, end, start, 0); n != 0 || !first.IsZero() || !last.IsZero() {
		t.Errorf("an empty window has %d from %s to %s", n, first, last)
	}
	if n, _, _ := trigger.Count(trigger.At(slices.Repeat([]time.Time{start}, 3)...), start, end, 0); n != 1 {
		t.Errorf("one instant given three times counts %d", n)
	}
}
