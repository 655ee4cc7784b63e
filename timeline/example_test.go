package timeline_test

import (
	"context"
	"fmt"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/timeline/memory"
)

// By hand a loop does nothing on its own: tests drive it through a day in a moment, and a program with a queue of its own
// writes a window and the claim in one transaction (CommitIn).
func ExampleLoop_Tick() {
	ctx := context.Background()
	now := time.Date(2026, 7, 1, 12, 0, 30, 0, time.UTC)
	loop, err := timeline.New(minutely{}, &memory.Claims{}, timeline.Options{Clock: at(now), Lead: 2 * time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := loop.Reconcile(ctx); err != nil {
		fmt.Println(err)
	}
	for range 2 {
		window, leads, err := loop.Tick(ctx) // the same again until a commit
		if err != nil || !leads {
			fmt.Println(leads, err)
			return
		}
		for _, o := range window.Occurrences() {
			fmt.Println(o.Key(), loop.IsCurrent(o))
		}
	}
	fmt.Println(loop.Commit(ctx))
	fmt.Println("next", loop.NextWake().Sub(now))
	// Output:
	// minutely@2026-07-01T12:01:00Z true
	// minutely@2026-07-01T12:02:00Z true
	// minutely@2026-07-01T12:01:00Z true
	// minutely@2026-07-01T12:02:00Z true
	// true <nil>
	// next 10s
}

// Each shard runs on a claim of its own; here two of them run in one process.
func ExampleShard() {
	for n := range 2 {
		part, err := timeline.Shard(minutely{}, n, 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		for row, err := range part.Snapshot(context.Background()) {
			fmt.Println("shard", n, "has", row.ID, err)
		}
	}
	// Output:
	// shard 0 has minutely <nil>
}
