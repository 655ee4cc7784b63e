package trigger_test

import (
	"testing"
	"time"

	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/trigger"
)

func expression(t testing.TB, text, name string, o cron.Options) trigger.Trigger {
	t.Helper()
	e, err := cron.Parse(text, o)
	if err != nil {
		t.Fatal(err)
	}
	return trigger.Cron(e, zone(t, name))
}

// PROTOCOL C1: an occurrence that the clocks made late is found by every window that holds its instant, also by one
// that opens only after the jump, when the skipped time has no place on the clock any more.
func TestLateOccurrenceIsFoundByWindowsAfterTheJump(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, zone string
		jump, due        string // the jump happens at the first, the occurrence is due at the second
	}{
		{"an hour in Berlin", "30 2 * * *", "Europe/Berlin", "2027-03-28T01:00:00Z", "2027-03-28T01:30:00Z"},
		{"half an hour on Lord Howe", "15 2 * * *", "Australia/Lord_Howe", "2027-10-02T15:30:00Z", "2027-10-02T15:45:00Z"},
		{"a day in Samoa", "0 12 30 12 *", "Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := expression(t, c.text, c.zone, cron.Options{})
			jump, due := instant(t, c.jump), instant(t, c.due)
			want := []time.Time{due}
			same(t, list(tr, jump, due.Add(time.Minute)), want)
			same(t, list(tr, jump.Add(1), due.Add(time.Minute)), want)
			same(t, list(tr, due.Add(-1), due.Add(1)), want)
			same(t, list(tr, due, due.Add(1)), want)
			same(t, list(tr, jump.Add(-time.Minute), due), nil)
			same(t, list(tr, due.Add(1), due.Add(time.Hour)), nil)
			for _, after := range []time.Time{jump.Add(-1), jump, jump.Add(1), due.Add(-1)} {
				if got, ok := tr.Next(after); !ok || !got.Equal(due) {
					t.Errorf("after %s comes %v %v, want %s", after, got, ok, due)
				}
			}
			skip := expression(t, c.text, c.zone, cron.Options{Gap: cron.GapSkip})
			same(t, list(skip, jump.Add(-time.Hour), due.Add(time.Hour)), nil)
		})
	}
}

// PROTOCOL C1: a calendar judges the date in the rule. Samoa had no 30 December 2011: what was named for noon of that
// day is due at noon of the 31st, together with what was named for the 31st itself. One instant stays due as long as
// one of the two is not excluded.
func TestExceptJudgesTheNominalDate(t *testing.T) {
	t.Parallel()
	start, end := instant(t, "2011-12-30T10:00:00Z"), instant(t, "2011-12-31T10:00:00Z")
	noon := []time.Time{instant(t, "2011-12-30T22:00:00Z")} // 31 December, 12:00 at +14:00
	const skipped, made = "2011-12-30", "2011-12-31"
	for _, c := range []struct {
		name string
		text string
		gap  cron.Gap
		not  []string
		want []time.Time
	}{
		{"the skipped day alone, excluded", "0 12 30 * *", cron.GapShift, []string{skipped}, nil},
		{"the skipped day alone, the day after excluded", "0 12 30 * *", cron.GapShift, []string{made}, noon},
		{"the day after alone, excluded", "0 12 31 * *", cron.GapShift, []string{made}, nil},
		{"the day after alone, the skipped day excluded", "0 12 31 * *", cron.GapShift, []string{skipped}, noon},
		{"daily, the skipped day excluded", "0 12 * * *", cron.GapShift, []string{skipped}, noon},
		{"daily, the day after excluded", "0 12 * * *", cron.GapShift, []string{made}, noon},
		{"daily, both excluded", "0 12 * * *", cron.GapShift, []string{skipped, made}, nil},
		{"daily without late runs, the day after excluded", "0 12 * * *", cron.GapSkip, []string{made}, nil},
		{"daily without late runs, the skipped day excluded", "0 12 * * *", cron.GapSkip, []string{skipped}, noon},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tr := expression(t, c.text, "Pacific/Apia", cron.Options{Gap: c.gap})
			same(t, list(trigger.Except(tr, dates(c.not...)), start, end), c.want)
			wrapped := trigger.Bounded(trigger.Union(tr, trigger.Shifted(tr, 48*time.Hour)), trigger.Bounds{Start: start})
			same(t, list(trigger.Except(wrapped, dates(c.not...)), start, end), c.want)
		})
	}
}

// Only what was skipped is late. Half an hour past midnight after Berlin's jump was 23:30 by the old clock, and the
// expression names both; the occurrence still belongs to the new day alone.
func TestOldClockCountsOnlyForSkippedTimes(t *testing.T) {
	t.Parallel()
	tr := expression(t, "30 0,23 * * *", "Europe/Berlin", cron.Options{})
	start := instant(t, "2027-03-28T12:00:00Z")
	same(t, list(trigger.Except(tr, dates("2027-03-29")), start, start.Add(24*time.Hour)), instants(t, "2027-03-28T21:30:00Z"))
}

// A calendar sees the due instant, on the clock of the rule: at 22:30 in New York it is the next day in UTC already.
func TestCalendarSeesTheZonesDate(t *testing.T) {
	t.Parallel()
	tr := expression(t, "30 22 * * *", "America/New_York", cron.Options{})
	start := instant(t, "2026-07-01T00:00:00Z")
	same(t, list(trigger.Except(tr, dates("2026-07-01")), start, start.AddDate(0, 0, 3)),
		instants(t, "2026-07-01T02:30:00Z", "2026-07-03T02:30:00Z"))
	var seen []time.Time
	watch := calendarFunc(func(t time.Time) bool { seen = append(seen, t); return false })
	same(t, list(trigger.Except(tr, watch), start, start.AddDate(0, 0, 1)), instants(t, "2026-07-01T02:30:00Z"))
	if len(seen) != 1 || !seen[0].Equal(instant(t, "2026-07-01T02:30:00Z")) || seen[0].Format(time.DateTime) != "2026-06-30 22:30:00" {
		t.Errorf("the calendar was asked about %v", seen)
	}
}

// S-055: next times increase strictly, in twelve zones with every kind of change, asked at every hour of 2027.
func TestNextTimesIncreaseAllYear(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"UTC", "Europe/Berlin", "Europe/London", "Africa/Casablanca", "Africa/Cairo", "Asia/Beirut", "America/New_York",
		"America/Santiago", "Australia/Lord_Howe", "Pacific/Chatham", "Asia/Kathmandu", "America/St_Johns",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := expression(t, "20 */4 * * *", name, cron.Options{})
			begin := instant(t, "2027-01-01T00:00:00Z")
			var last time.Time
			for at := begin; at.Year() == 2027; at = at.Add(time.Hour) {
				due, ok := tr.Next(at)
				if !ok || !due.After(at) || due.Before(last) {
					t.Fatalf("after %s comes %s %v, and before that came %s", at, due, ok, last)
				}
				if due.Sub(at) > 5*time.Hour {
					t.Fatalf("after %s nothing comes until %s", at, due)
				}
				last = due
			}
		})
	}
}

// S-056: the window of a run made by hand at 07:30Z on the day New York skips 02:00 to 03:00 reaches from the
// occurrence before to the one after. It is positive and meets its neighbours exactly.
func TestWindowAcrossTheJumpMeetsItsNeighbours(t *testing.T) {
	t.Parallel()
	tr := expression(t, "0 2 * * *", "America/New_York", cron.Options{})
	byHand := instant(t, "2027-03-14T07:30:00Z")
	around := list(tr, byHand.Add(-48*time.Hour), byHand.Add(48*time.Hour))
	same(t, around, instants(t, "2027-03-13T07:00:00Z", "2027-03-14T07:00:00Z", "2027-03-15T06:00:00Z", "2027-03-16T06:00:00Z"))
	before, at := around[1], byHand
	after, ok := tr.Next(at)
	if !ok || !after.Equal(around[2]) || !before.Before(after) {
		t.Fatalf("the window is [%s, %s)", before, after)
	}
	tile(t, tr, around[0], around[3], around[1:3])
	same(t, list(tr, before, after), []time.Time{before})
}

// S-057: Mondays at six in New York, looked at two days before the clocks go back, while the offset is still another.
func TestOccurrenceSeenBeforeTheChangeIsRight(t *testing.T) {
	t.Parallel()
	tr := expression(t, "0 6 * * MON", "America/New_York", cron.Options{})
	seen := instant(t, "2027-11-05T12:00:00Z")
	same(t, list(tr, seen, seen.AddDate(0, 0, 7)), instants(t, "2027-11-08T11:00:00Z"))
	if due, ok := tr.Next(seen); !ok || !due.Equal(instant(t, "2027-11-08T11:00:00Z")) {
		t.Errorf("next is %v %v", due, ok)
	}
}

// S-058: hourly over the day on which the clocks go back is 25 occurrences, none of them skipped.
func TestHourlyRunsThroughTheRepeatedHour(t *testing.T) {
	t.Parallel()
	tr := expression(t, "0 * * * *", "US/Pacific", cron.Options{})
	start, end := instant(t, "2027-11-07T00:00:00-07:00"), instant(t, "2027-11-08T00:00:00-08:00")
	got := list(tr, start, end)
	if len(got) != 25 {
		t.Fatalf("got %d occurrences, want 25", len(got))
	}
	for i, due := range got {
		if want := start.Add(time.Duration(i) * time.Hour); !due.Equal(want) {
			t.Errorf("occurrence %d is %s, want %s", i, due, want)
		}
	}
}

// Counting by the day must agree with visiting, whatever changes of the clocks the stretch holds, and whatever
// fraction of a day it begins and ends with; also where a zone's rule goes on for ever and beyond recorded changes.
func TestCountByTheDayAgreesWithVisiting(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"UTC", "Europe/Berlin", "Africa/Casablanca", "Australia/Lord_Howe", "Pacific/Apia", "America/New_York", "Asia/Manila",
	} {
		for _, text := range []string{"*/20 * * * *", "30 2 * * *", "15 0,23 L * 1#2", "0 12 * * 1-5", "0 0 29 2 *"} {
			for _, o := range []cron.Options{{}, {Gap: cron.GapSkip, Repeat: cron.RepeatLast}} {
				tr := expression(t, text, name, o)
				for _, year := range []int{1844, 2011, 2027, 2036, 2037, 2038, 2096} {
					start := time.Date(year, 2, 7, 5, 3, 1, 7, time.UTC)
					end := start.Add(400*24*time.Hour + 13*time.Hour)
					n, first, last := trigger.Count(tr, start, end, 1)
					want, wantFirst, wantLast := trigger.Count(foreign{tr}, start, end, 0)
					if n != want || !first.Equal(wantFirst) || !last.Equal(wantLast) {
						t.Errorf("%s %s %v from %d: %d (%s to %s), want %d (%s to %s)",
							name, text, o, year, n, first, last, want, wantFirst, wantLast)
					}
				}
			}
		}
	}
}

// A window that begins or ends at a change of the clocks, or shortly after one of a whole day, holds a day whose
// repeated times stand in the window next to it.
func TestCountByTheDayNoticesChangesAtTheEdge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, zone string
		repeat     cron.Repeat
		start      string
		want       int
	}{
		// 01:00 becomes 00:00 at the start; the first readings of the repeated hour lie before it.
		{"0,30 0,5 * * *", "America/Havana", cron.RepeatFirst, "2027-11-07T05:00:00Z", 2 + 9*4},
		// 24:00 becomes 23:00 at the end; the last readings of the repeated hour lie after it.
		{"0,30 5,23 * * *", "Africa/Cairo", cron.RepeatLast, "2027-10-18T21:00:00Z", 9*4 + 2},
		// A second before the start, 15:30 on the 19th became 15:30 on the 18th: until that time comes again nothing is
		// due. Then one on the 19th, two on each of eight days, and one on the 28th.
		{"0 12,18 * * *", "America/Sitka", cron.RepeatFirst, "1867-10-19T00:31:14Z", 1 + 8*2 + 1},
	} {
		tr := expression(t, c.text, c.zone, cron.Options{Repeat: c.repeat})
		start := instant(t, c.start)
		if n, _, _ := trigger.Count(tr, start, start.Add(10*24*time.Hour), 0); n != c.want {
			t.Errorf("%s: counted %d, want %d", c.zone, n, c.want)
		}
	}
}

// A year of minutely occurrences, as an outage would leave them: 365 x 1440 in Berlin as in UTC, since the hour that is
// skipped in March is read twice in October.
func TestCountOfAYearOfMinutes(t *testing.T) {
	t.Parallel()
	tr := expression(t, "* * * * *", "Europe/Berlin", cron.Options{})
	start, end := instant(t, "2026-01-01T00:00:00Z"), instant(t, "2027-01-01T00:00:00Z")
	if n, first, last := trigger.Count(tr, start, end, 1000); n != 525_600 || !first.Equal(start) || !last.Equal(end.Add(-time.Minute)) {
		t.Errorf("counted %d from %s to %s, want 525600", n, first, last)
	}
}

// awkward are triggers for the fuzzer: every kind, each with something that makes windows hard.
func awkward(t testing.TB) []trigger.Trigger {
	t.Helper()
	berlin := expression(t, "30 2 * * *", "Europe/Berlin", cron.Options{})
	howe := expression(t, "*/17 1-3 * * *", "Australia/Lord_Howe", cron.Options{Repeat: cron.RepeatLast})
	samoa := expression(t, "0 */6 * * *", "Pacific/Apia", cron.Options{})
	fraction := interval(t, 421*time.Second, instant(t, "2026-07-01T10:00:00.250001Z"))
	sundays := calendarFunc(func(t time.Time) bool { return t.Weekday() == time.Sunday })
	return []trigger.Trigger{
		fraction,
		trigger.Except(trigger.Union(berlin, howe, samoa), sundays),
		trigger.Shifted(trigger.Union(fraction, samoa), -93*time.Minute-time.Microsecond),
		trigger.Bounded(trigger.Shifted(howe, 26*time.Hour), trigger.Bounds{Start: instant(t, "2026-07-01T10:00:00.000000001Z"), Max: 5000}),
		foreign{trigger.Except(trigger.Shifted(samoa, time.Hour), sundays)},
	}
}
