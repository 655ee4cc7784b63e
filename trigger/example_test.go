package trigger_test

import (
	"fmt"
	"time"

	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/trigger"
)

// A schedule on weekdays at nine in Berlin, closed on holidays, from the first of June on and five times at most.
func Example() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	nine, err := cron.Parse("0 9 * * 1-5", cron.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	daily := trigger.Except(trigger.Cron(nine, berlin), holidays{"2026-06-04": true})
	limited := trigger.Bounded(daily, trigger.Bounds{Start: time.Date(2026, 6, 1, 0, 0, 0, 0, berlin), Max: 5})

	watermark := time.Date(2026, 6, 3, 7, 0, 0, 0, time.UTC)
	for due := range limited.Between(watermark, watermark.AddDate(0, 1, 0)) {
		fmt.Println(due)
	}
	_, more := limited.Next(watermark.AddDate(0, 1, 0))
	fmt.Println("more:", more)
	// Output:
	// 2026-06-03 07:00:00 +0000 UTC
	// 2026-06-05 07:00:00 +0000 UTC
	// 2026-06-08 07:00:00 +0000 UTC
	// more: false
}

type holidays map[string]bool

// Excludes judges the date that the rule named, so a holiday in Berlin is one on Berlin's clock.
func (h holidays) Excludes(t time.Time) bool { return h[t.Format(time.DateOnly)] }

// Schedules that share an expression are spread over a minute by their ids, and each keeps its second for good.
func ExampleSpread() {
	hourly, err := trigger.Interval(time.Hour, time.Time{})
	if err != nil {
		fmt.Println(err)
		return
	}
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, id := range []string{"nightly-report", "sch_01"} {
		due, _ := trigger.Shifted(hourly, trigger.Spread(id, time.Minute)).Next(noon)
		fmt.Println(id, due.Format(time.TimeOnly))
	}
	// Output:
	// nightly-report 12:00:23
	// sch_01 12:00:43
}
