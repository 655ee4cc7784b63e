package cron_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/belfryhq/belfry/cron"
)

// When clocks go forward, a skipped time is due late by the length of the gap.
func ExampleExpr_Between() {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := cron.Parse("30 2 * * *", cron.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.Describe())
	start := time.Date(2027, 3, 27, 0, 0, 0, 0, berlin)
	for due := range e.Between(start, start.AddDate(0, 0, 3), berlin) {
		fmt.Println(due.Format(time.RFC3339))
	}
	// Output:
	// At 02:30, every day
	// 2027-03-27T02:30:00+01:00
	// 2027-03-28T03:30:00+02:00
	// 2027-03-29T02:30:00+02:00
}

// An error says where the fault is and what to write instead.
func ExampleParse() {
	_, err := cron.Parse("0 22-3 * * *", cron.Options{})
	fmt.Println(err)
	_, err = cron.Parse("0 0 31 2 *", cron.Options{})
	fmt.Println(errors.Is(err, cron.ErrNever))
	// Output:
	// cron: hour "22-3" at byte 2: the range ends before it starts (for a range over the end write 22-23,0-3)
	// true
}
