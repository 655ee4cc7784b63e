package cron

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// randomSchedule gives an expression that can match, with random options.
func randomSchedule(r *rand.Rand) *Expr {
	for {
		seconds := r.IntN(8) == 0
		if e, err := Parse(randomExpr(r, seconds), randomOptions(r, seconds)); err == nil {
			return e
		}
	}
}

// randomInstant is a nanosecond of the years 1970 to 2069.
func randomInstant(r *rand.Rand) time.Time {
	return time.Unix(r.Int64N(100*365*secondsPerDay), r.Int64N(1e9)).UTC()
}

// nearTransition is a nanosecond within two days of one of the zone's changes.
func nearTransition(t *testing.T, r *rand.Rand, z *time.Location) time.Time {
	t.Helper()
	list := Transitions(z, at(t, "1975-01-01T00:00:00Z"), at(t, "2060-01-01T00:00:00Z"))
	c := list[r.IntN(len(list))].At
	return c.Add(time.Duration(r.Int64N(int64(4*24*time.Hour))) - 2*24*time.Hour)
}

// Adjacent windows select each occurrence once, at any split to the nanosecond, and
// an occurrence late from a gap is found by the window that holds it, however late
// that opens. Instants of occurrences themselves are among the splits.
func TestWindowsTile(t *testing.T) {
	t.Parallel()
	r := newRandom(t)
	for _, name := range zonesWithTransitions {
		z := zone(t, name)
		for range 50 {
			e, start := randomSchedule(r), nearTransition(t, r, z)
			end := start.Add(time.Duration(r.Int64N(int64(3 * 24 * time.Hour))))
			whole := slices.Collect(e.Between(start, end, z))
			splits := []time.Time{start, end}
			for range r.IntN(8) {
				splits = append(splits, start.Add(time.Duration(r.Int64N(int64(end.Sub(start))+1))))
			}
			if len(whole) > 0 {
				o := whole[r.IntN(len(whole))]
				splits = append(splits, o, o.Add(1))
			}
			slices.SortFunc(splits, time.Time.Compare)
			var parts []time.Time
			for i := 1; i < len(splits); i++ {
				parts = append(parts, slices.Collect(e.Between(splits[i-1], splits[i], z))...)
			}
			if !same(parts, whole) {
				t.Fatalf("%q %+v in %s, split at %v: %s", e, e.Options(), name, splits, firstDifference(parts, whole))
			}
		}
	}
}

// Next, Prev, Between and Match are four views of one set of instants.
func TestNextPrevBetweenAndMatchAgree(t *testing.T) {
	t.Parallel()
	r := newRandom(t)
	for range 2000 {
		e, z := randomSchedule(r), zone(t, zonesWithTransitions[r.IntN(len(zonesWithTransitions))])
		start := randomInstant(r)
		if r.IntN(2) == 0 {
			start = nearTransition(t, r, z)
		}
		end := start.Add(time.Duration(r.Int64N(int64(24 * time.Hour))))
		between := slices.Collect(e.Between(start, end, z))
		if got := walk(e, start, end, z); !same(got, between) {
			t.Fatalf("%q %+v in %s from %s: Next %s", e, e.Options(), z, start, firstDifference(got, between))
		}
		if got := walkBack(e, start, end, z); !same(got, between) {
			t.Fatalf("%q %+v in %s from %s: Prev %s", e, e.Options(), z, start, firstDifference(got, between))
		}
		probe(t, e, z, start.Add(time.Duration(r.Int64N(int64(24*time.Hour)))).Truncate(time.Minute), daysAround(e, start, z))
		if next, ok := e.Next(start, z); ok {
			if back, ok := e.Prev(next.Add(1), z); !ok || !back.Equal(next) || !e.Match(next, z) {
				t.Fatalf("%q %+v in %s: Next(%s) is %s, and Prev finds %s", e, e.Options(), z, start, next, back)
			}
		}
	}
}

// daysAround lists three days, a superset of what probe looks at.
func daysAround(e *Expr, start time.Time, z *time.Location) []time.Time {
	return slices.Collect(e.Between(start.Add(-24*time.Hour), start.Add(48*time.Hour), z))
}

// The canonical text means the same and is its own canonical text.
func TestCanonicalTextRoundTrips(t *testing.T) {
	t.Parallel()
	r := newRandom(t)
	for range 5000 {
		e := randomSchedule(r)
		again := parse(t, e.String(), e.Options())
		if *again != *e {
			t.Fatalf("%q reads as %+v, written from %+v", e, *again, *e)
		}
	}
	for given, want := range map[string]string{
		" 00  0 ?\t* sun ":     "0 0 * * 0",
		"@weekly":              "0 0 * * 0",
		"30,5,5 9 * JAN-DEC 7": "5,30 9 * * 0",
		"*/1 * */1 */1 */1":    "* * */1 * */1",
		"*,5 0 *,5 *,5 *":      "* 0 */1,5 * *",
		"0 0 *,* * MON":        "0 0 */1 * 1",
		"5-5/3 7-7 l-0,lw * *": "5-5/3 7 L,LW * *",
		"0 0 * * fri-sun,7#2":  "0 0 * * 5-7,0#2",
		"0 0 09w,1,l-02 * 5L":  "0 0 1,9W,L-2 * 5L",
		"0-59 0-23 * * *":      "0-59 0-23 * * *",
	} {
		if got := parse(t, given, Options{}).String(); got != want {
			t.Errorf("%q is %q, want %q", given, got, want)
		}
	}
}

// Next allocates nothing, whether the zone is known or seen for the first time.
func TestNextDoesNotAllocate(t *testing.T) {
	for _, text := range []string{"* * * * *", "*/15 9-17 * * 1-5", "0 0 29 2 *", "0 0 L * *", "0 0 15W,LW * FRI#5,2L"} {
		for _, name := range []string{"UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"} {
			e, z := parse(t, text, Options{}), zone(t, name)
			from := at(t, "2011-12-29T12:00:00Z")
			allocs := testing.AllocsPerRun(200, func() {
				next, ok := e.Next(from, z)
				if prev, was := e.Prev(next, z); !ok || !was || !prev.Before(next) {
					t.Fatal("lost")
				}
				from = next
			})
			if allocs != 0 {
				t.Errorf("%q in %s allocates %v times", text, name, allocs)
			}
		}
	}
}

// The cache of segments is shared by all; torn entries would move occurrences. The
// zones are asked in turn from many goroutines so that they push each other out.
func TestConcurrentCallersGetTheSameAnswers(t *testing.T) {
	t.Parallel()
	e := parse(t, "30 2 * * *", Options{})
	start, end := at(t, "2020-01-01T00:00:00Z"), at(t, "2024-01-01T00:00:00Z")
	want := map[string][]time.Time{}
	for _, name := range zonesWithTransitions {
		want[name] = slices.Collect(e.Between(start, end, zone(t, name)))
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range zonesWithTransitions {
				name := zonesWithTransitions[(n*7+g*5)%len(zonesWithTransitions)]
				z, err := time.LoadLocation(name) // another Location of the same name
				if err != nil {
					t.Error(err)
					return
				}
				if got := slices.Collect(e.Between(start, end, z)); !same(got, want[name]) {
					t.Errorf("%s: %s", name, firstDifference(got, want[name]))
				}
			}
		})
	}
	wg.Wait()
}

// A skipped time that is skipped every year is never due, and Next comes back with
// that after one cycle of the calendar instead of searching for ever.
func TestNextGivesUpOnATimeThatIsAlwaysSkipped(t *testing.T) {
	t.Parallel()
	z := zone(t, "America/New_York")
	e := parse(t, "30 2 * 3 SUN#2", Options{Gap: GapSkip})
	if next, ok := e.Next(at(t, "2026-01-01T00:00:00Z"), z); ok {
		t.Errorf("Next is %s", next)
	}
	// The rule of the second Sunday is from 2007; before, the day was an ordinary one.
	if prev, ok := e.Prev(at(t, "2026-01-01T00:00:00Z"), z); !ok || !prev.Equal(at(t, "2006-03-12T02:30:00-05:00")) {
		t.Errorf("Prev is %s", prev)
	}
	if w := e.Warnings(at(t, "2026-01-01T00:00:00Z"), at(t, "2027-01-01T00:00:00Z"), z); len(w) == 0 || w[0].Code != CodeNeverInZone {
		t.Errorf("warnings are %+v", w)
	}
}

// The calendar ends where RFC 3339 ends, and extreme instants are no trouble.
func TestTheCalendarHasTwoEnds(t *testing.T) {
	t.Parallel()
	z := zone(t, "Europe/Berlin")
	e := parse(t, "0 0 1 1 *", Options{})
	if next, ok := e.Next(at(t, "9999-01-01T00:00:00Z"), nil); ok {
		t.Errorf("after 9999 comes %s", next)
	}
	if prev, ok := e.Prev(at(t, "0001-01-01T00:00:00Z"), nil); ok {
		t.Errorf("before the year 1 comes %s", prev)
	}
	if prev, ok := e.Prev(at(t, "9999-12-31T23:59:59Z").AddDate(100, 0, 0), z); !ok || prev.Year() != 9999 {
		t.Errorf("the last is %s", prev)
	}
	if next, ok := e.Next(time.Time{}.AddDate(-100, 0, 0), z); !ok || next.Year() != 1 {
		t.Errorf("the first is %s", next)
	}
	for range e.Between(time.Unix(1<<62, 0), time.Unix(1<<62, 5), z) {
		t.Error("an occurrence at the end of time")
	}
}

// Options with no meaning are refused, and their words are a manifest's.
func TestOptionsAreWords(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{Gap: 2}, {Repeat: 4}} {
		if _, err := Parse("* * * * *", o); !errors.Is(err, ErrSyntax) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for word, want := range map[string]Repeat{"": RepeatAuto, "auto": RepeatAuto, "first": RepeatFirst, "last": RepeatLast, "both": RepeatBoth} {
		got := RepeatLast
		if word == "last" {
			got = RepeatAuto
		}
		if err := got.UnmarshalText([]byte(word)); err != nil || got != want {
			t.Errorf("%q is %v, %v", word, got, err)
		}
		if text, err := got.MarshalText(); err != nil || word != "" && string(text) != word {
			t.Errorf("%v is written %q, %v", got, text, err)
		}
	}
	var g Gap
	if err := g.UnmarshalText([]byte("skip")); err != nil || g != GapSkip {
		t.Errorf("skip is %v, %v", g, err)
	}
	var fault *Error
	if err := g.UnmarshalText([]byte("shfit")); !errors.As(err, &fault) || fault.Hint != "did you mean shift?" {
		t.Errorf("shfit: %v", err)
	}
}
