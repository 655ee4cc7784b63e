package trigger_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/trigger"
	"pgregory.net/rapid"
)

// This file is the slow, obvious version of the package: it lists the occurrences of a trigger tree by looking at every
// minute of the wall clock and every point of a grid, and combines the lists. It shares no code with the package.

// named is one occurrence before merging: the instant, and the wall clock time that the rule named, written as if it
// were UTC.
type named struct {
	due, wall time.Time
}

// model is a trigger tree together with the way to compute it by hand.
type model interface {
	build() trigger.Trigger
	slow(start, end time.Time) []named // of [start, end), in any order, equal instants not merged
	String() string
}

// due lists a model's occurrences.
func due(m model, start, end time.Time) []time.Time {
	var all []time.Time
	for _, n := range m.slow(start, end) {
		all = append(all, n.due)
	}
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}

type modelInterval struct {
	every  time.Duration
	anchor time.Time
}

func (m modelInterval) String() string {
	return fmt.Sprintf("interval(%s from %s)", m.every, m.anchor.Format(time.RFC3339Nano))
}

func (m modelInterval) build() trigger.Trigger {
	i, err := trigger.Interval(m.every, m.anchor)
	if err != nil {
		panic(err)
	}
	return i
}

func (m modelInterval) slow(start, end time.Time) []named {
	t := m.anchor
	for t.After(start) {
		t = t.Add(-m.every)
	}
	var all []named
	for ; t.Before(end); t = t.Add(m.every) {
		if !t.Before(start) {
			all = append(all, named{t, t})
		}
	}
	return all
}

type modelAt []time.Time

func (m modelAt) String() string { return fmt.Sprintf("at%v", []time.Time(m)) }

func (m modelAt) build() trigger.Trigger { return foreign{trigger.At(m...)} } // one leaf from outside the package

func (m modelAt) slow(start, end time.Time) []named {
	var all []named
	for _, t := range m {
		if !t.Before(start) && t.Before(end) {
			all = append(all, named{t, t})
		}
	}
	return all
}

// modelCron is an expression of five fields with lists only, or with stars, read with no help from package cron.
type modelCron struct {
	minutes, hours, days []int // nil: star
	zone                 *time.Location
	gap                  cron.Gap
}

func (m modelCron) text() string {
	field := func(values []int) string {
		if values == nil {
			return "*"
		}
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(values), " ", ","), "[]")
	}
	return fmt.Sprintf("%s %s %s * *", field(m.minutes), field(m.hours), field(m.days))
}

func (m modelCron) String() string {
	return fmt.Sprintf("cron(%q %s gap %d)", m.text(), m.zone, m.gap)
}

func (m modelCron) build() trigger.Trigger {
	e, err := cron.Parse(m.text(), cron.Options{Gap: m.gap})
	if err != nil {
		panic(err)
	}
	return trigger.Cron(e, m.zone)
}

func (m modelCron) matches(wall time.Time) bool {
	in := func(values []int, v int) bool { return values == nil || slices.Contains(values, v) }
	return in(m.minutes, wall.Minute()) && in(m.hours, wall.Hour()) && in(m.days, wall.Day())
}

// slow visits every minute that a wall clock could show and finds the instants at which it does show it.
func (m modelCron) slow(start, end time.Time) []named {
	var all []named
	last := end.UTC().Add(3 * 24 * time.Hour)
	for wall := start.UTC().Truncate(time.Minute).Add(-3 * 24 * time.Hour); wall.Before(last); wall = wall.Add(time.Minute) {
		if !m.matches(wall) {
			continue
		}
		for _, at := range m.readings(wall) {
			if !at.Before(start) && at.Before(end) {
				all = append(all, named{at, wall})
			}
		}
	}
	return all
}

// readings returns the instants that belong to a wall clock time: usually one; two where it repeats and there is a
// star in the minute or the hour; where it is skipped, the instant of the clock as it went before the jump.
func (m modelCron) readings(wall time.Time) []time.Time {
	offsetAt := func(t time.Time) time.Duration {
		_, seconds := t.In(m.zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	before, after := offsetAt(wall.Add(-40*time.Hour)), offsetAt(wall.Add(40*time.Hour))
	var all []time.Time
	for _, offset := range []time.Duration{max(before, after), min(before, after)} {
		at := wall.Add(-offset)
		if offsetAt(at) == offset && !slices.ContainsFunc(all, at.Equal) {
			all = append(all, at)
		}
	}
	switch {
	case len(all) == 2 && m.minutes != nil && m.hours != nil:
		return all[:1]
	case len(all) == 0 && m.gap == cron.GapShift:
		return []time.Time{wall.Add(-before)}
	}
	return all
}

type modelShifted struct {
	inner model
	by    time.Duration
}

func (m modelShifted) String() string { return fmt.Sprintf("shifted(%s by %s)", m.inner, m.by) }

func (m modelShifted) build() trigger.Trigger { return trigger.Shifted(m.inner.build(), m.by) }

func (m modelShifted) slow(start, end time.Time) []named {
	all := m.inner.slow(start.Add(-m.by), end.Add(-m.by))
	for i := range all {
		all[i].due, all[i].wall = all[i].due.Add(m.by), all[i].wall.Add(m.by)
	}
	return all
}

type modelUnion []model

func (m modelUnion) String() string { return fmt.Sprintf("union%v", []model(m)) }

func (m modelUnion) build() trigger.Trigger {
	var all []trigger.Trigger
	for _, member := range m {
		all = append(all, member.build())
	}
	return trigger.Union(all...)
}

func (m modelUnion) slow(start, end time.Time) []named {
	var all []named
	for _, member := range m {
		all = append(all, member.slow(start, end)...)
	}
	return all
}

// modelExcept excludes every n-th day by its date, and so tells a nominal date from the date of the run.
type modelExcept struct {
	inner     model
	nth, rest int
}

func (m modelExcept) String() string {
	return fmt.Sprintf("except(%s, days %d mod %d)", m.inner, m.rest, m.nth)
}

func (m modelExcept) Excludes(t time.Time) bool { return t.YearDay()%m.nth == m.rest }

func (m modelExcept) build() trigger.Trigger { return trigger.Except(m.inner.build(), m) }

func (m modelExcept) slow(start, end time.Time) []named {
	return slices.DeleteFunc(m.inner.slow(start, end), func(n named) bool { return m.Excludes(n.wall) })
}

type modelBounded struct {
	inner  model
	bounds trigger.Bounds // with a start
}

func (m modelBounded) String() string { return fmt.Sprintf("bounded(%s, %v)", m.inner, m.bounds) }

func (m modelBounded) build() trigger.Trigger { return trigger.Bounded(m.inner.build(), m.bounds) }

func (m modelBounded) slow(start, end time.Time) []named {
	all := m.inner.slow(m.bounds.Start, end)
	instants := make([]time.Time, 0, len(all))
	for _, n := range all {
		instants = append(instants, n.due)
	}
	slices.SortFunc(instants, time.Time.Compare)
	instants = slices.CompactFunc(instants, time.Time.Equal)
	return slices.DeleteFunc(all, func(n named) bool {
		i, _ := slices.BinarySearchFunc(instants, n.due, time.Time.Compare)
		return n.due.Before(start) || !m.bounds.End.IsZero() && !n.due.Before(m.bounds.End) || m.bounds.Max > 0 && i >= m.bounds.Max
	})
}

// near draws an instant around a centre, sometimes on a whole minute and sometimes a nanosecond beside one.
func near(centre time.Time, within time.Duration) *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		at := centre.Add(time.Duration(rapid.Int64Range(-int64(within), int64(within)).Draw(t, "offset")))
		switch rapid.IntRange(0, 3).Draw(t, "edge") {
		case 0:
			return at
		case 1:
			return at.Truncate(time.Minute)
		case 2:
			return at.Truncate(time.Minute).Add(-time.Nanosecond)
		}
		return at.Truncate(time.Minute).Add(time.Nanosecond)
	})
}

// changes are days on which clocks changed: by an hour either way, by half an hour, at midnight, and by a whole day.
var changes = []struct{ zone, at string }{
	{"Europe/Berlin", "2027-03-28T01:00:00Z"},
	{"Europe/Berlin", "2027-10-31T01:00:00Z"},
	{"America/New_York", "2027-03-14T07:00:00Z"},
	{"America/New_York", "2027-11-07T06:00:00Z"},
	{"Australia/Lord_Howe", "2027-10-02T15:30:00Z"},
	{"Australia/Lord_Howe", "2027-04-03T15:00:00Z"},
	{"America/Santiago", "2026-09-06T04:00:00Z"},
	{"Pacific/Apia", "2011-12-30T10:00:00Z"},
	{"UTC", "2028-02-29T00:00:00Z"},
}

// tree draws a trigger tree whose interesting instants lie around a centre.
func tree(t *rapid.T, centre time.Time, zone *time.Location, depth int) model {
	kinds := 7
	if depth == 0 {
		kinds = 3
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		every := time.Duration(rapid.IntRange(300, 200_000).Draw(t, "every")) * time.Second
		return modelInterval{every: every, anchor: near(centre, 200*time.Hour).Draw(t, "anchor").Truncate(time.Microsecond)}
	case 1:
		at := rapid.SliceOfN(near(centre, 80*time.Hour), 0, 5).Draw(t, "at")
		for i := range at {
			at[i] = at[i].Truncate(time.Microsecond)
		}
		return modelAt(at)
	case 2:
		return drawCron(t, zone)
	case 3:
		return modelShifted{tree(t, centre, zone, depth-1), time.Duration(rapid.Int64Range(-int64(50*time.Hour), int64(50*time.Hour)).Draw(t, "by") / 1000 * 1000)}
	case 4:
		var u modelUnion
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			u = append(u, tree(t, centre, zone, depth-1))
		}
		return u
	case 5:
		nth := rapid.IntRange(1, 4).Draw(t, "nth")
		return modelExcept{tree(t, centre, zone, depth-1), nth, rapid.IntRange(0, nth-1).Draw(t, "rest")}
	}
	b := trigger.Bounds{Start: near(centre, 60*time.Hour).Draw(t, "starts"), Max: rapid.IntRange(0, 40).Draw(t, "max")}
	if rapid.Bool().Draw(t, "ends?") {
		b.End = near(centre, 60*time.Hour).Draw(t, "ends")
	}
	return modelBounded{tree(t, centre, zone, depth-1), b}
}

func drawCron(t *rapid.T, zone *time.Location) model {
	some := func(name string, low, high, most int) []int {
		if rapid.IntRange(0, 2).Draw(t, name+"?") == 0 {
			return nil
		}
		values := rapid.SliceOfNDistinct(rapid.IntRange(low, high), 1, most, rapid.ID[int]).Draw(t, name)
		slices.Sort(values)
		return values
	}
	return modelCron{
		minutes: some("minutes", 0, 59, 3), hours: some("hours", 0, 4, 3), days: some("days", 1, 28, 9), zone: zone,
		gap: rapid.SampledFrom([]cron.Gap{cron.GapShift, cron.GapShift, cron.GapSkip}).Draw(t, "gap"),
	}
}
