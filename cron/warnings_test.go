package cron

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Each warning comes for what it is about, and for nothing else: a warning that cries
// wolf is not read.
func TestWarningsComeWhereTheyAreDue(t *testing.T) {
	t.Parallel()
	from, to := at(t, "2027-01-01T00:00:00Z"), at(t, "2028-01-01T00:00:00Z")
	for _, c := range []struct {
		expr, zone string
		codes      string
	}{
		{"0 3 * * *", "UTC", ""},
		{"* * * * *", "America/New_York", ""},
		{"0 * * * *", "America/New_York", ""},
		{"*/15 * * * *", "America/New_York", ""},
		{"0 3 L * *", "UTC", ""},
		{"0 3 1-31 * *", "UTC", ""},
		{"0 3 31 1,3,5 *", "UTC", ""},
		{"0 3 13 * FRI", "UTC", "EITHER_DAY"},
		{"0 3 31 * *", "UTC", "SKIPS_SHORT_MONTHS"},
		{"0 3 29-31 * *", "UTC", "SKIPS_SHORT_MONTHS"},
		{"0 3 L-29 * *", "UTC", "SKIPS_SHORT_MONTHS"},
		{"0 3 29 * *", "UTC", "SKIPS_SHORT_MONTHS"},
		{"0 3 29 2 *", "UTC", "LEAP_DAY"},
		{"0 3 * * FRI#5", "UTC", "FIFTH_WEEKDAY"},
		{"0 3 * 2 SUN#5", "UTC", "FIFTH_WEEKDAY RARE"},
		{"* 3 * * *", "UTC", "EVERY_MINUTE"},
		{"0,30 0 3 * * *", "UTC", "RUNS_VERY_OFTEN"},
		{"*/7 * * * *", "UTC", "UNEVEN_STEP"},
		{"0 */5 * * *", "UTC", "UNEVEN_STEP"},
		{"0 3 */2 * *", "UTC", "UNEVEN_STEP"},
		{"*/90 * * * *", "UTC", "STEP_TOO_WIDE"},
		{"30 2 * * *", "America/New_York", "DST_GAP"},
		{"30 1 * * *", "America/New_York", "DST_REPEAT"},
		{"0 1,2 * * *", "America/New_York", "DST_GAP DST_REPEAT"},
		{"*/15 2 * * *", "America/New_York", "DST_GAP"},
		{"*/15 1 * * *", "America/New_York", "DST_REPEAT"},
		{"*/20 * * * *", "Australia/Lord_Howe", "DST_GAP"},
		{"0 12 * * *", "America/New_York", ""},
		{"30 2 * * 1", "America/New_York", ""},
	} {
		e := parse(t, c.expr, Options{Seconds: len(strings.Fields(c.expr)) == 6})
		var codes []string
		for _, w := range e.Warnings(from, to, zone(t, c.zone)) {
			codes = append(codes, w.Code)
			if w.Message == "" || w.Fix == "" && w.Code != CodeRare {
				t.Errorf("%s: %+v lacks words", c.expr, w)
			}
		}
		if got := strings.Join(codes, " "); got != c.codes {
			t.Errorf("%s in %s: %q, want %q", c.expr, c.zone, got, c.codes)
		}
	}
}

// The clock warnings name the day, the zone and what happens, and count the rest.
func TestClockWarningsSayWhatHappens(t *testing.T) {
	t.Parallel()
	z := zone(t, "Europe/Berlin")
	e := parse(t, "30 2 * * *", Options{})
	got := e.Warnings(at(t, "2027-01-01T00:00:00Z"), at(t, "2029-01-01T00:00:00Z"), z)
	want := []Warning{
		{
			Code: "DST_GAP", Fix: "dst_gap: skip", At: at(t, "2027-03-28T01:00:00Z"),
			Message: "on 2027-03-28 the clocks of Europe/Berlin go forward from 02:00 to 03:00: 02:30 does not exist; runs at 03:30 (and 1 more such change)",
		},
		{
			Code: "DST_REPEAT", Fix: "dst_repeat: both", At: at(t, "2027-10-31T01:00:00Z"),
			Message: "on 2027-10-31 the clocks of Europe/Berlin go back from 03:00 to 02:00: 02:30 comes twice; it runs once, at the first reading (and 1 more such change)",
		},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// An effect is written for one time, two, many and for a whole day.
func TestEffectsAreWrittenPlainly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expr, zone, from, effect string
		options                  Options
		occurrences              int
	}{
		{"30 2 * * *", "Europe/Berlin", "2027-03-01T00:00:00Z", "02:30 does not exist; runs at 03:30", Options{}, 1},
		{"0,30 2 * * *", "Europe/Berlin", "2027-03-01T00:00:00Z", "02:00 and 02:30 do not exist; they run at 03:00 and 03:30", Options{}, 2},
		{"*/15 2 * * *", "Europe/Berlin", "2027-03-01T00:00:00Z", "4 times from 02:00 to 02:45 do not exist; they run at 4 times from 03:00 to 03:45", Options{}, 4},
		{"*/15 2 * * *", "Europe/Berlin", "2027-03-01T00:00:00Z", "4 times from 02:00 to 02:45 do not exist; they are skipped", Options{Gap: GapSkip}, 0},
		{"0,30 2 * * *", "Australia/Lord_Howe", "2027-10-01T00:00:00Z", "02:00 does not exist; runs at 02:30, which is one with the run due there anyway", Options{}, 1},
		{"0 12 * * *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2011-12-30 12:00 does not exist; runs at 2011-12-31 12:00, which is one with the run due there anyway", Options{}, 1},
		{"15 30 2 * * *", "Europe/Berlin", "2027-03-01T00:00:00Z", "02:30:15 does not exist; runs at 03:30:15", Options{Seconds: true}, 1},
		{"30 2 * * *", "Europe/Berlin", "2027-10-01T00:00:00Z", "02:30 comes twice; it runs once, at the last reading", Options{Repeat: RepeatLast}, 1},
		{"*/30 2 * * *", "Europe/Berlin", "2027-10-01T00:00:00Z", "02:00 and 02:30 come twice; they run at both readings", Options{}, 4},
		{"* * * * *", "Europe/Berlin", "2027-03-01T00:00:00Z", "", Options{}, 0},
		{"* * * * *", "Europe/Berlin", "2027-10-01T00:00:00Z", "", Options{}, 0},
		{"0 12 * * *", "Europe/Berlin", "2027-10-01T00:00:00Z", "", Options{}, 0},
	} {
		z := zone(t, c.zone)
		e := parse(t, c.expr, c.options)
		changes := Transitions(z, at(t, c.from), at(t, c.from).AddDate(0, 1, 0))
		if len(changes) != 1 {
			t.Errorf("%s has %d changes", c.zone, len(changes))
			continue
		}
		got := e.Effect(changes[0], z)
		if got.Text != c.effect || len(got.Occurrences) != c.occurrences {
			t.Errorf("%s %+v in %s: %q %v", c.expr, c.options, c.zone, got.Text, got.Occurrences)
		}
	}
}

// Transitions are those that package time shows, at the instant, with the readings of
// the clock on either side, in a half-open window.
func TestTransitionsShowTheClocksOnEitherSide(t *testing.T) {
	t.Parallel()
	berlin := zone(t, "Europe/Berlin")
	got := Transitions(berlin, at(t, "2027-03-28T01:00:00Z"), at(t, "2027-10-31T01:00:00Z"))
	if len(got) != 1 || got[0].Kind != TransitionGap || got[0].Kind.String() != "gap" || got[0].Shift != time.Hour ||
		!got[0].At.Equal(at(t, "2027-03-28T01:00:00Z")) ||
		!got[0].LocalFrom.Equal(at(t, "2027-03-28T02:00:00Z")) || !got[0].LocalTo.Equal(at(t, "2027-03-28T03:00:00Z")) {
		t.Errorf("spring: %+v", got)
	}
	got = Transitions(berlin, at(t, "2027-03-28T01:00:00.000000001Z"), at(t, "2027-10-31T01:00:00.000000001Z"))
	if len(got) != 1 || got[0].Kind != TransitionOverlap || got[0].Kind.String() != "overlap" || got[0].Shift != -time.Hour ||
		!got[0].LocalFrom.Equal(at(t, "2027-10-31T03:00:00Z")) || !got[0].LocalTo.Equal(at(t, "2027-10-31T02:00:00Z")) {
		t.Errorf("autumn: %+v", got)
	}
	if n := len(Transitions(berlin, at(t, "0001-01-01T00:00:00Z"), at(t, "9999-01-01T00:00:00Z"))); n != MaxTransitions {
		t.Errorf("%d transitions, want the bound %d", n, MaxTransitions)
	}
	for _, name := range zonesWithTransitions {
		compareTransitions(t, zone(t, name))
	}
}

// compareTransitions looks for changes of offset hour by hour instead. Leap years and
// years in which a rule takes over from recorded changes are in the range.
func compareTransitions(t *testing.T, z *time.Location) {
	t.Helper()
	offset := func(u time.Time) time.Duration { _, o := u.In(z).Zone(); return time.Duration(o) * time.Second }
	from, to := at(t, "2003-01-01T00:00:00Z"), at(t, "2042-01-01T00:00:00Z")
	list := Transitions(z, from, to)
	const step = 6 * time.Hour
	before := offset(from)
	for u := from.Add(step); u.Before(to); u = u.Add(step) {
		now := offset(u)
		if now == before {
			continue
		}
		if len(list) == 0 {
			t.Errorf("%s: the change before %s is missing", z, u)
			return
		}
		c := list[0]
		list = list[1:]
		if c.At.After(u) || u.Sub(c.At) >= step || c.Shift != now-before || offset(c.At) != now || offset(c.At.Add(-1)) != before {
			t.Errorf("%s: %+v, want a change by %s before %s", z, c, now-before, u)
			return
		}
		before = now
	}
	if len(list) > 0 {
		t.Errorf("%s: %+v is no change", z, list[0])
	}
}
