package timeline_test

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/timeline/memory"
	"github.com/belfryhq/belfry/trigger"
)

// minutely is a source of one definition.
type minutely struct{}

func (minutely) Snapshot(context.Context) iter.Seq2[timeline.Row, error] {
	return func(yield func(timeline.Row, error) bool) { yield(timeline.Row{ID: "minutely", Version: "1"}, nil) }
}

func (minutely) Make(context.Context, timeline.Row) (timeline.Entry, error) {
	every, err := trigger.Interval(time.Minute, time.Time{})
	return timeline.Entry{Trigger: every}, err
}

// at is a clock that stands still.
type at time.Time

func (a at) Now() time.Time { return time.Time(a) }

// A process ends at 11:58 and another one begins at 12:01:30. The claim says up to where everything was handed over, so
// that what fell due meanwhile comes at once, oldest first. With the claim in Redis or in a database this holds for every
// crash; a standby that waits on the same claim makes the time in between as short as the lease.
func Example_restart() {
	claims := &memory.Claims{}
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

	first, err := timeline.New(minutely{}, claims, timeline.Options{Clock: at(noon.Add(-2 * time.Minute))})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	_, leads, err := first.Tick(ctx) // what Run does each second
	fmt.Println(leads, err, first.Release(ctx))

	second, err := timeline.New(minutely{}, claims, timeline.Options{Clock: at(noon.Add(90 * time.Second))})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = second.Run(ctx, func(_ context.Context, due time.Time, _ []timeline.Occurrence) error {
		fmt.Println(due.Format(time.TimeOnly))
		second.Stop() // after this tick, which has more
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// true <nil> <nil>
	// 11:58:00
	// 11:59:00
	// 12:00:00
	// 12:01:00
}
