package cron

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

const (
	differentialCases   = 20_000
	windowsPerZone      = 5
	differentialReach   = 36 * time.Hour // on either side of the transition
	probesPerExpression = 4
)

// The package and the oracle must agree on 20,000 random expressions in forty zones,
// in windows around changes of the clocks: R-CRON-2 to R-CRON-6, R-TZ-3 to R-TZ-5.
func TestPackageAgreesWithTheMinuteByMinuteOracle(t *testing.T) {
	t.Parallel()
	r := newRandom(t)
	for _, name := range zonesWithTransitions {
		z, seed := zone(t, name), r.Uint64()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 0))
			windows := oracleWindows(t, z, r)
			for n := range differentialCases / len(zonesWithTransitions) {
				compareWithOracle(t, z, windows[n%len(windows)], r)
				if t.Failed() {
					return
				}
			}
		})
	}
}

// oracleWindows picks changes of the zone's offset by asking for it every six hours,
// and opens a window around each.
func oracleWindows(t *testing.T, z *time.Location, r *rand.Rand) []oracleWindow {
	t.Helper()
	offset := func(u time.Time) int { _, o := u.In(z).Zone(); return o }
	var changes []time.Time
	end := time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC)
	for u := time.Date(1975, 1, 1, 0, 0, 0, 0, time.UTC); u.Before(end); u = u.Add(6 * time.Hour) {
		if offset(u) != offset(u.Add(6*time.Hour)) {
			changes = append(changes, u)
		}
	}
	if len(changes) == 0 {
		t.Fatal("the zone's clocks never change")
	}
	windows := make([]oracleWindow, windowsPerZone)
	for i := range windows {
		c := changes[r.IntN(len(changes))]
		windows[i] = newOracleWindow(z, c.Add(-differentialReach), c.Add(differentialReach))
	}
	return windows
}

func compareWithOracle(t *testing.T, z *time.Location, w oracleWindow, r *rand.Rand) {
	t.Helper()
	seconds := r.IntN(10) == 0
	text, options := randomExpr(r, seconds), randomOptions(r, seconds)
	o := newOracle(text, seconds, options.Gap.String(), options.Repeat.String())
	e, err := Parse(text, options)
	if err != nil {
		if !errors.Is(err, ErrNever) || oracleEver(o) {
			t.Errorf("%q: %v", text, err)
		}
		return
	}
	want := o.occurrences(w)
	if got := slices.Collect(e.Between(w.start, w.end, z)); !same(got, want) {
		t.Errorf("%q %+v in %s from %s: %s", text, options, z, w.start, firstDifference(got, want))
		return
	}
	for range probesPerExpression {
		at := w.start.Add(time.Duration(r.Int64N(int64(w.end.Sub(w.start)))))
		if r.IntN(2) == 0 && len(want) > 0 {
			at = want[r.IntN(len(want))]
		}
		probe(t, e, z, at, want)
	}
}

// probe asks Next, Prev and Match at one instant about a list that is complete around
// it.
func probe(t *testing.T, e *Expr, z *time.Location, at time.Time, want []time.Time) {
	t.Helper()
	i, is := slices.BinarySearchFunc(want, at, time.Time.Compare)
	if got := e.Match(at, z); got != is {
		t.Errorf("%q %+v in %s: Match(%s) is %t", e, e.Options(), z, at, got)
	}
	if i > 0 {
		if got, ok := e.Prev(at, z); !ok || !got.Equal(want[i-1]) {
			t.Errorf("%q %+v in %s: Prev(%s) is %s, want %s", e, e.Options(), z, at, got, want[i-1])
		}
	}
	if is {
		i++
	}
	if i < len(want) {
		if got, ok := e.Next(at, z); !ok || !got.Equal(want[i]) {
			t.Errorf("%q %+v in %s: Next(%s) is %s, want %s", e, e.Options(), z, at, got, want[i])
		}
	}
}

// oracleEver tells whether the oracle finds a day in forty years, after which the
// longest wait of the calendar is over.
func oracleEver(o oracle) bool {
	for d := time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() < 2041; d = d.AddDate(0, 0, 1) {
		if o.day(d) {
			return true
		}
	}
	return false
}

func firstDifference(got, want []time.Time) string {
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return "misses " + want[i].String()
		case i >= len(want):
			return "has " + got[i].String() + " too many"
		case !got[i].Equal(want[i]):
			return "has " + got[i].String() + ", want " + want[i].String()
		}
	}
	return "no difference"
}
