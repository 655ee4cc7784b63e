package trigger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/belfryhq/belfry/trigger"
	"pgregory.net/rapid"
)

// drawn is a random trigger and a window around a change of the clocks of its zone.
type drawn struct {
	model      model
	trigger    trigger.Trigger
	start, end time.Time
}

func draw(t *rapid.T) drawn {
	change := rapid.SampledFrom(changes).Draw(t, "change")
	z, err := time.LoadLocation(change.zone)
	if err != nil {
		t.Fatal(err)
	}
	centre, err := time.Parse(time.RFC3339, change.at)
	if err != nil {
		t.Fatal(err)
	}
	d := drawn{model: tree(t, centre, z, rapid.IntRange(0, 3).Draw(t, "depth"))}
	d.start = near(centre, 40*time.Hour).Draw(t, "start")
	d.end = d.start.Add(time.Duration(rapid.Int64Range(0, int64(72*time.Hour)).Draw(t, "length")))
	t.Logf("%s in [%s, %s)", d.model, d.start.Format(time.RFC3339Nano), d.end.Format(time.RFC3339Nano))
	d.trigger = d.model.build()
	return d
}

// R-TRG-1, R-TRG-2, R-TRG-9: any tree of triggers, compared with counting by hand. The same question twice has the
// same answer, since nothing but the arguments decides.
func TestTriggersAgreeWithCountingByHand(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		want := due(d.model, d.start, d.end)
		same(t, list(d.trigger, d.start, d.end), want)
		same(t, list(d.trigger, d.start, d.end), want)
	})
}

// R-TRG-3, R-WIN-3: adjacent windows select every occurrence of the whole exactly once, wherever they are split, down
// to the nanosecond, on an occurrence and beside it.
func TestAdjacentWindowsTile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		whole := list(d.trigger, d.start, d.end)
		splits := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Time {
			if len(whole) > 0 && rapid.Bool().Draw(t, "beside an occurrence") {
				step := rapid.IntRange(-1, 1).Draw(t, "step")
				return rapid.SampledFrom(whole).Draw(t, "occurrence").Add(time.Duration(step))
			}
			return d.start.Add(time.Duration(rapid.Int64Range(0, int64(d.end.Sub(d.start))).Draw(t, "split")))
		}), 0, 12).Draw(t, "splits")
		tile(t, d.trigger, d.start, d.end, splits)
	})
}

// tile compares the whole window with its parts, put together.
func tile(t rapid.TB, tr trigger.Trigger, start, end time.Time, splits []time.Time) {
	t.Helper()
	splits = append([]time.Time{start, end}, splits...)
	splits = slices.DeleteFunc(splits, func(at time.Time) bool { return at.Before(start) || at.After(end) })
	slices.SortFunc(splits, time.Time.Compare)
	var parts []time.Time
	for i := 1; i < len(splits); i++ {
		for due := range tr.Between(splits[i-1], splits[i]) {
			if due.Before(splits[i-1]) || !due.Before(splits[i]) {
				t.Fatalf("%s lies outside [%s, %s)", due, splits[i-1], splits[i])
			}
			parts = append(parts, due)
		}
	}
	same(t, parts, list(tr, start, end))
}

// Next is a walk through Between: it finds each occurrence in turn, from any instant before it, and none after the
// last one of a window that is still inside the window.
func TestNextAgreesWithBetween(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		var walked []time.Time
		for at := d.start.Add(-time.Nanosecond); ; {
			next, ok := d.trigger.Next(at)
			if !ok || !next.Before(d.end) {
				break
			}
			if !next.After(at) {
				t.Fatalf("after %s comes %s", at, next)
			}
			if early, ok := d.trigger.Next(next.Add(-time.Nanosecond)); !ok || !early.Equal(next) {
				t.Fatalf("a nanosecond before %s comes %s", next, early)
			}
			walked, at = append(walked, next), next
		}
		same(t, walked, list(d.trigger, d.start, d.end))
	})
}

// R-TRG-9: a shift is the same as moving the window back and every answer forward by hand.
func TestShiftedIsMovingByHand(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		by := time.Duration(rapid.Int64Range(-int64(1000*time.Hour), int64(1000*time.Hour)).Draw(t, "by")) / 1000 * 1000
		want := list(d.trigger, d.start, d.end)
		for i := range want {
			want[i] = want[i].Add(by)
		}
		same(t, list(trigger.Shifted(d.trigger, by), d.start.Add(by), d.end.Add(by)), want)
	})
}

// Count says what listing would, however it was computed, and stops where listing up to the limit would.
func TestCountAgreesWithBetween(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := draw(t)
		d.start = d.start.Add(-time.Duration(rapid.IntRange(0, 300).Draw(t, "days before")) * 24 * time.Hour)
		all := list(d.trigger, d.start, d.end)
		n, first, last := trigger.Count(d.trigger, d.start, d.end, 0)
		if n != len(all) {
			t.Fatalf("counted %d, listed %d", n, len(all))
		}
		if n > 0 && (!first.Equal(all[0]) || !last.Equal(all[n-1])) {
			t.Fatalf("counted from %s to %s, listed from %s to %s", first, last, all[0], all[n-1])
		}
		if n == 0 {
			return
		}
		limit := rapid.IntRange(1, n).Draw(t, "limit")
		_, _, last = trigger.Count(foreign{d.trigger}, d.start, d.end, limit)
		if !last.Equal(all[limit-1]) {
			t.Fatalf("the first %d end at %s, want %s", limit, last, all[limit-1])
		}
		// A maximum is found by counting up to it, in the cheapest way the trigger has.
		bounded := trigger.Bounded(d.trigger, trigger.Bounds{Start: d.start, Max: limit})
		same(t, list(bounded, d.start, d.end), all[:limit])
	})
}

// FuzzTiling splits a fixed set of awkward triggers at any nanosecond.
func FuzzTiling(f *testing.F) {
	f.Add(uint8(0), int64(0), int64(time.Hour), int64(time.Minute))
	f.Add(uint8(1), int64(1174698000), int64(90*time.Hour), int64(time.Hour+1))
	f.Add(uint8(2), int64(-62135596800), int64(time.Hour), int64(-1))
	f.Add(uint8(3), int64(253402300799), int64(time.Hour), int64(time.Second-1))
	triggers := awkward(f)
	f.Fuzz(func(t *testing.T, which uint8, startSeconds, length, split int64) {
		tr := triggers[int(which)%len(triggers)]
		length %= int64(96 * time.Hour)
		start := time.Unix(startSeconds, split%int64(time.Second))
		end := start.Add(time.Duration(length))
		tile(t, tr, start, end, []time.Time{start.Add(time.Duration(split)), start.Add(time.Duration(length / 2))})
		if n, _, _ := trigger.Count(tr, start, end, 0); n != len(list(tr, start, end)) {
			t.Fatalf("counted %d in [%s, %s)", n, start, end)
		}
	})
}
