package trigger_test

import (
	"testing"
	"time"

	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/trigger"
)

// A planner asks Next for every schedule it holds; garbage there would cost it latency. Not parallel: allocations are
// counted for the whole process. A calendar costs one on the day after a change of the clocks, which is not this one.
func TestNextDoesNotAllocate(t *testing.T) {
	start := instant(t, "2027-04-01T00:00:00Z")
	berlin := expression(t, "*/5 * * * *", "Europe/Berlin", cron.Options{})
	hourly := interval(t, time.Hour, time.Time{})
	mondays := calendarFunc(func(t time.Time) bool { return t.Weekday() == time.Monday })
	for name, tr := range map[string]trigger.Trigger{
		"cron":     berlin,
		"interval": hourly,
		"at":       trigger.At(start.Add(time.Hour)),
		"shifted":  trigger.Shifted(berlin, time.Minute),
		"union":    trigger.Union(berlin, hourly),
		"except":   trigger.Except(berlin, mondays),
		"bounded":  trigger.Bounded(berlin, trigger.Bounds{Start: start, Max: 1000}),
		"nested":   trigger.Bounded(trigger.Except(trigger.Shifted(trigger.Union(berlin, hourly), time.Second), mondays), trigger.Bounds{Start: start}),
	} {
		at := start
		if n := testing.AllocsPerRun(200, func() {
			if due, ok := tr.Next(at); ok {
				at = due
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations a call, want none", name, n)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	start := instant(b, "2027-03-20T00:00:00Z")
	berlin := expression(b, "*/5 * * * *", "Europe/Berlin", cron.Options{})
	hourly := interval(b, time.Hour, time.Time{})
	weekends := calendarFunc(func(t time.Time) bool { return t.Weekday() == time.Saturday })
	for _, c := range []struct {
		name string
		tr   trigger.Trigger
	}{
		{"cron", berlin}, {"interval", hourly}, {"shifted", trigger.Shifted(berlin, time.Minute)},
		{"union", trigger.Union(berlin, hourly)}, {"except", trigger.Except(berlin, weekends)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			at := start
			for b.Loop() {
				due, ok := c.tr.Next(at)
				if at = due; !ok {
					at = start
				}
			}
		})
	}
}

func BenchmarkCountOfAYear(b *testing.B) {
	start, end := instant(b, "2026-01-01T00:00:00Z"), instant(b, "2027-01-01T00:00:00Z")
	minutely := expression(b, "* * * * *", "Europe/Berlin", cron.Options{})
	never := calendarFunc(func(time.Time) bool { return false })
	for _, c := range []struct {
		name string
		tr   trigger.Trigger
	}{
		{"minutes", minutely},
		{"seconds", expression(b, "* * * * * *", "Europe/Berlin", cron.Options{Seconds: true})},
		{"interval", interval(b, time.Second, time.Time{})},
		{"minutes one by one", foreign{minutely}},
		{"minutes under a calendar", trigger.Except(minutely, never)},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				trigger.Count(c.tr, start, end, 0)
			}
		})
	}
}
