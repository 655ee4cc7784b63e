package cron

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func count(e *Expr, start, end time.Time, z *time.Location) int {
	return len(slices.Collect(e.Between(start, end, z)))
}

// S-051: a repeated hour is not lost. Two hours of one local hour are 120 minutes.
func TestS051EveryMinuteCoversTheRepeatedHour(t *testing.T) {
	t.Parallel()
	e := parse(t, "* * * * *", Options{})
	if n := count(e, at(t, "2027-11-07T08:00:00Z"), at(t, "2027-11-07T10:00:00Z"), zone(t, "America/Los_Angeles")); n != 120 {
		t.Errorf("%d occurrences, want 120", n)
	}
}

// S-052, R-TZ-5: one skipped time stops nothing. It runs late under shift; under skip
// there is no occurrence and Effect names the time; where the late one meets an
// ordinary one they are one, and Effect says so. Fifty others are unaffected.
func TestS052ASkippedTimeIsLateOrSkippedAndNothingElseIs(t *testing.T) {
	t.Parallel()
	z := zone(t, "America/New_York")
	start, end := at(t, "2027-03-14T05:00:00Z"), at(t, "2027-03-15T04:00:00Z") // the local day
	for _, c := range []struct {
		text, effect string
		gap          Gap
		want         []time.Time
	}{
		{"30 2 * * *", "02:30 does not exist; runs at 03:30", GapShift, []time.Time{at(t, "2027-03-14T07:30:00Z")}},
		{"30 2 * * *", "02:30 does not exist; it is skipped", GapSkip, nil},
		{"30 2,3 * * *", "02:30 does not exist; runs at 03:30, which is one with the run due there anyway", GapShift, []time.Time{at(t, "2027-03-14T07:30:00Z")}},
	} {
		e := parse(t, c.text, Options{Gap: c.gap})
		if got := slices.Collect(e.Between(start, end, z)); !same(got, c.want) {
			t.Errorf("%s, %s: %v, want %v", c.text, c.gap, got, c.want)
		}
		effect := e.Effect(Transitions(z, start, end)[0], z)
		if effect.Text != c.effect || !same(effect.Occurrences, c.want) {
			t.Errorf("%s, %s: the effect is %q %v", c.text, c.gap, effect.Text, effect.Occurrences)
		}
	}
	for n := range 50 {
		hour := 3 + n%21 // all but the skipped hour and those before
		e := parse(t, fmt.Sprintf("%d %d * * *", n, hour), Options{})
		// Hours from 3 on stand four hours before UTC that day.
		want := at(t, "2027-03-14T04:00:00Z").Add(time.Duration(hour)*time.Hour + time.Duration(n)*time.Minute)
		if got := slices.Collect(e.Between(start, end, z)); !same(got, []time.Time{want}) {
			t.Errorf("%s: %v, want %v", e, got, want)
		}
	}
}

// S-053, R-TZ-3: of the two 02:05 one is due, or both where that was asked for; the
// other overrides take the first and the last.
func TestS053ARepeatedTimeRunsAsOftenAsThePolicySays(t *testing.T) {
	t.Parallel()
	z := zone(t, "Europe/Berlin")
	start, end := at(t, "2027-10-30T22:00:00Z"), at(t, "2027-10-31T23:00:00Z") // the local day
	first, second := at(t, "2027-10-31T00:05:00Z"), at(t, "2027-10-31T01:05:00Z")
	for repeat, want := range map[Repeat][]time.Time{
		RepeatAuto: {first}, RepeatFirst: {first}, RepeatLast: {second}, RepeatBoth: {first, second},
	} {
		e := parse(t, "5 2 * * *", Options{Repeat: repeat})
		if got := slices.Collect(e.Between(start, end, z)); !same(got, want) {
			t.Errorf("%s: %v, want %v", repeat, got, want)
		}
	}
}

// S-054, R-TZ-3: by default a fixed time is due once, at its first reading.
func TestS054AFixedTimeRunsOnceWhenClocksGoBack(t *testing.T) {
	t.Parallel()
	e := parse(t, "0 2 * * *", Options{})
	got := slices.Collect(e.Between(at(t, "2027-10-30T22:00:00Z"), at(t, "2027-10-31T23:00:00Z"), zone(t, "Europe/Berlin")))
	if !same(got, []time.Time{at(t, "2027-10-31T00:00:00Z")}) {
		t.Errorf("%v", got)
	}
}

// S-055: every hour of a year in twelve zones, next times never stand still and never
// fail.
func TestS055NextTimesAlwaysAdvance(t *testing.T) {
	t.Parallel()
	e := parse(t, "20 */4 * * *", Options{})
	for _, name := range zonesWithTransitions[:12] {
		z, before := zone(t, name), time.Time{}
		for hour := range 365 * 24 {
			now := at(t, "2027-01-01T00:00:00Z").Add(time.Duration(hour) * time.Hour)
			next, ok := e.Next(now, z)
			after, okAfter := e.Next(next, z)
			if !ok || !okAfter || !next.After(now) || !after.After(next) || next.Before(before) {
				t.Fatalf("%s: after %s come %s and %s", name, now, next, after)
			}
			before = next
		}
	}
}

// S-057: a weekly time stands on the wall clock, whenever it is computed.
func TestS057AWeeklyTimeSeenFromBeforeTheChange(t *testing.T) {
	t.Parallel()
	e := parse(t, "0 6 * * MON", Options{})
	z := zone(t, "America/New_York")
	for _, seen := range []string{"2027-11-05T12:00:00Z", "2027-11-07T05:30:00Z", "2027-11-07T06:30:00Z", "2027-11-08T10:59:59Z"} {
		if next, _ := e.Next(at(t, seen), z); !next.Equal(at(t, "2027-11-08T11:00:00Z")) {
			t.Errorf("seen from %s it is %s", seen, next)
		}
	}
}

// S-058, R-TZ-4: the local day of 25 hours has 25 full hours.
func TestS058HourlyRunsInBothRepeatedHours(t *testing.T) {
	t.Parallel()
	e := parse(t, "0 * * * *", Options{})
	if n := count(e, at(t, "2027-11-07T07:00:00Z"), at(t, "2027-11-08T08:00:00Z"), zone(t, "US/Pacific")); n != 25 {
		t.Errorf("%d occurrences, want 25", n)
	}
}

// S-059: at both changes, every minute stays every minute and 15 seconds stay 15.
func TestS059EvenDistancesStayEven(t *testing.T) {
	t.Parallel()
	z := zone(t, "Europe/London")
	for text, apart := range map[string]time.Duration{"* * * * *": time.Minute, "*/15 * * * * *": 15 * time.Second} {
		e := parse(t, text, Options{Seconds: apart < time.Minute})
		for _, day := range []string{"2027-03-28T00:00:00Z", "2027-10-31T00:00:00Z"} {
			before := at(t, day).Add(-apart)
			for next := range e.Between(at(t, day), at(t, day).Add(6*time.Hour), z) {
				if next.Sub(before) != apart {
					t.Fatalf("%s: %s follows %s", text, next, before)
				}
				before = next
			}
			if want := at(t, day).Add(6*time.Hour - apart); !before.Equal(want) {
				t.Errorf("%s ends at %s, want %s", text, before, want)
			}
		}
	}
}

// S-060: whoever asks beforehand is told of the skipped time, and it goes by the
// policy.
func TestS060ASkipIsWarnedOf(t *testing.T) {
	t.Parallel()
	z := zone(t, "US/Pacific")
	from, to := at(t, "2027-03-01T00:00:00Z"), at(t, "2027-04-01T00:00:00Z")
	for gap, want := range map[Gap][]time.Time{GapShift: {at(t, "2027-03-14T10:00:00Z")}, GapSkip: nil} {
		e := parse(t, "0 2 * * *", Options{Gap: gap})
		warnings := e.Warnings(from, to, z)
		if len(warnings) != 1 || warnings[0].Code != CodeDSTGap || !warnings[0].At.Equal(at(t, "2027-03-14T10:00:00Z")) ||
			!strings.Contains(warnings[0].Message, "02:00 does not exist") {
			t.Errorf("%s: %+v", gap, warnings)
		}
		if got := slices.Collect(e.Between(at(t, "2027-03-14T08:00:00Z"), at(t, "2027-03-15T07:00:00Z"), z)); !same(got, want) {
			t.Errorf("%s: %v, want %v", gap, got, want)
		}
	}
}

// S-062: with changes of half an hour and at midnight, each local day of the year has
// its one occurrence, and late is late by the length of the gap.
func TestS062EachLocalDayHasItsOccurrence(t *testing.T) {
	t.Parallel()
	start := at(t, "2027-01-01T00:00:00Z")
	for _, name := range []string{"Australia/Lord_Howe", "America/Santiago", "Asia/Beirut", "Africa/Cairo", "Africa/Casablanca"} {
		z := zone(t, name)
		for _, text := range []string{"0 0 * * *", "15 2 * * *"} {
			e := parse(t, text, Options{})
			days := map[string]int{}
			for o := range e.Between(start.Add(-24*time.Hour), start.Add(366*24*time.Hour), z) {
				days[o.Format(time.DateOnly)]++
			}
			for d := range 365 {
				if day := start.AddDate(0, 0, d).Format(time.DateOnly); days[day] != 1 {
					t.Errorf("%s in %s: %d on %s", text, name, days[day], day)
				}
			}
		}
	}
	e := parse(t, "15 2 * * *", Options{})
	if !e.Match(at(t, "2027-10-03T02:45:00+11:00"), zone(t, "Australia/Lord_Howe")) {
		t.Error("02:15 on Lord Howe does not run at 02:45")
	}
}

// S-067: leap days, from far before, from inside one, and across 2100, which has none.
func TestS067LeapDays(t *testing.T) {
	t.Parallel()
	e := parse(t, "0 0 29 2 *", Options{})
	for from, want := range map[string]string{
		"2026-12-01T00:00:00Z": "2028-02-29T00:00:00Z",
		"2028-02-29T12:00:00Z": "2032-02-29T00:00:00Z",
		"2096-02-28T00:00:00Z": "2096-02-29T00:00:00Z",
		"2096-02-29T00:00:00Z": "2104-02-29T00:00:00Z",
	} {
		if next, ok := e.Next(at(t, from), nil); !ok || !next.Equal(at(t, want)) {
			t.Errorf("after %s comes %s, want %s", from, next, want)
		}
	}
	// A leap February begins on a Monday every 28 years. A year without its leap day
	// (2100, 2200, 2300) moves the weekdays on, which makes one of the waits 40 years.
	fifth := parse(t, "0 0 ? 2 MON#5", Options{})
	for _, z := range []*time.Location{time.UTC, zone(t, "Europe/Berlin")} {
		longest, before := time.Duration(0), at(t, "2000-01-01T00:00:00Z")
		for o, ok := fifth.Next(before, z); ok && o.Year() < 2400; o, ok = fifth.Next(o, z) {
			longest, before = max(longest, o.Sub(before)), o
		}
		if years := longest.Hours() / 24 / 365.2425; years < 39.9 || years > 40.1 || before.Year() < 2360 {
			t.Errorf("%s: the longest wait is %.2f years, want 40; the last is %s", z, years, before)
		}
	}
}

// S-068, R-CRON-8: a date that does not exist is refused when it is read; the check
// looks at 14 kinds of months at most, twelve times.
func TestS068ImpossibleDatesAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0 0 30 2 *", "0 0 31 4 *", "0 0 L-30 2 *", "0 0 31W 6 ?"} {
		_, err := Parse(text, Options{})
		var fault *Error
		if !errors.Is(err, ErrNever) || !errors.As(err, &fault) || fault.Field != "day of month" || fault.Pos != 4 {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// S-069, R-CRON-5: two restricted day fields mean either, and the description, the
// warning and the engine say the same.
func TestS069EitherDayIsSaidAndDone(t *testing.T) {
	t.Parallel()
	e := parse(t, "0 2 29 2 0", Options{})
	var days []int
	for o := range e.Between(at(t, "2028-01-01T00:00:00Z"), at(t, "2029-01-01T00:00:00Z"), nil) {
		days = append(days, o.YearDay()-31)
	}
	// February 2028 begins on a Tuesday: Sundays are the 6th to the 27th.
	if !slices.Equal(days, []int{6, 13, 20, 27, 29}) {
		t.Errorf("days of February: %v", days)
	}
	if !strings.Contains(e.Describe(), "either is enough") {
		t.Errorf("described as %q", e.Describe())
	}
	if w := e.Warnings(at(t, "2028-01-01T00:00:00Z"), at(t, "2029-01-01T00:00:00Z"), nil); len(w) == 0 || w[0].Code != CodeEitherDay {
		t.Errorf("warnings: %+v", w)
	}
}

// R-TZ-5 with seconds: the first and the last second of a gap are late, and the
// seconds on either side of it are on time.
func TestEverySecondOfAGapIsLate(t *testing.T) {
	t.Parallel()
	z := zone(t, "America/New_York")
	for text, want := range map[string]string{
		"59 59 1 * * *": "2027-03-14T01:59:59-05:00",
		"0 0 2 * * *":   "2027-03-14T03:00:00-04:00",
		"59 59 2 * * *": "2027-03-14T03:59:59-04:00",
		"0 0 3 * * *":   "2027-03-14T03:00:00-04:00",
		"59 59 3 * * *": "2027-03-14T03:59:59-04:00",
		"0 0 4 * * *":   "2027-03-14T04:00:00-04:00",
	} {
		e, w := parse(t, text, Options{Seconds: true}), at(t, want)
		next, _ := e.Next(w.Add(-1), z)
		prev, _ := e.Prev(w.Add(1), z)
		if !next.Equal(w) || !prev.Equal(w) || !e.Match(w, z) {
			t.Errorf("%s: Next %s, Prev %s, want %s", text, next, prev, want)
		}
	}
}

// R-TZ-6: in UTC no clock changes, and every day has the same times.
func TestUTCIsUnaffectedByDaylightSaving(t *testing.T) {
	t.Parallel()
	e := parse(t, "30 2 * * *", Options{})
	want := at(t, "2027-01-01T02:30:00Z")
	for _, z := range []*time.Location{nil, time.UTC, zone(t, "Etc/UTC"), time.FixedZone("UTC", 0)} {
		next := want
		for got := range e.Between(want, want.AddDate(1, 0, 0), z) {
			if !got.Equal(next) {
				t.Fatalf("%s, want %s", got, next)
			}
			next = next.Add(24 * time.Hour)
		}
		if !next.Equal(want.AddDate(1, 0, 0)) || len(Transitions(z, want, next)) != 0 {
			t.Errorf("the year ends at %s", next)
		}
	}
}
