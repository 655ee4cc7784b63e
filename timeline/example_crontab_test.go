package timeline_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/timeline/memory"
	"github.com/belfryhq/belfry/trigger"
)

// A job is a line of the table: when, and what.
type job struct {
	when string
	do   func(ctx context.Context, o timeline.Occurrence)
}

// A table of jobs by name is the source of the loop.
type table map[string]job

func (t table) Snapshot(context.Context) iter.Seq2[timeline.Row, error] {
	return func(yield func(timeline.Row, error) bool) {
		for name, j := range t {
			if !yield(timeline.Row{ID: name, Version: j.when, Data: j}, nil) {
				return
			}
		}
	}
}

func (t table) Make(_ context.Context, r timeline.Row) (timeline.Entry, error) {
	j := r.Data.(job)
	expr, err := cron.Parse(j.when, cron.Options{})
	if err != nil {
		return timeline.Entry{}, err
	}
	return timeline.Entry{Trigger: trigger.Cron(expr, time.UTC), Payload: j.do}, nil
}

// run starts all jobs of an instant at once and waits for them, since returning says that they are done.
func run(ctx context.Context, _ time.Time, batch []timeline.Occurrence) error {
	var group sync.WaitGroup
	for _, o := range batch {
		group.Go(func() { o.Payload.(func(context.Context, timeline.Occurrence))(ctx, o) })
	}
	group.Wait()
	return nil
}

// just is a clock that begins a moment before nine, so that the example is short. A program leaves Options.Clock alone.
type just struct{ began time.Time }

func (j just) Now() time.Time {
	return time.Date(2026, 7, 1, 8, 59, 58, 0, time.UTC).Add(time.Since(j.began))
}

// What cron.New, AddFunc and Run are elsewhere: a table of functions by cron expression, in one process. Ctrl-C or SIGTERM
// would end ctx here:
//
//	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
//	defer stop()
func Example_crontab() {
	ctx := context.Background()
	var loop *timeline.Loop
	jobs := table{
		"report": {"0 9 * * 1-5", func(_ context.Context, o timeline.Occurrence) {
			fmt.Println(o.Key())
			loop.Stop()
		}},
		"cleanup": {"30 3 * * *", func(context.Context, timeline.Occurrence) {}},
	}
	loop, err := timeline.New(jobs, &memory.Claims{}, timeline.Options{Clock: just{time.Now()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := loop.Run(ctx, run); err != nil {
		fmt.Println(err)
	}
	fmt.Println(loop.Count(), "jobs")
	// Output:
	// report@2026-07-01T09:00:00Z
	// 2 jobs
}
