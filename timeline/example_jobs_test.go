package timeline_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/timeline/memory"
	"github.com/belfryhq/belfry/trigger"
)

// Jobs that come and go while the loop runs. ActiveFrom lets one that is due before the next read be late instead of lost.
type jobs struct {
	mu   sync.Mutex
	rows map[string]timeline.Row
	n    int
}

// add puts a job in, or gives one that is there another trigger.
func (j *jobs) add(id string, t trigger.Trigger) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.n++
	j.rows[id] = timeline.Row{ID: id, Version: strconv.Itoa(j.n), ActiveFrom: time.Now(), Data: t}
}

func (j *jobs) remove(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.rows, id)
}

func (j *jobs) Snapshot(context.Context) iter.Seq2[timeline.Row, error] {
	j.mu.Lock()
	rows := maps.Clone(j.rows)
	j.mu.Unlock()
	return func(yield func(timeline.Row, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (*jobs) Make(_ context.Context, r timeline.Row) (timeline.Entry, error) {
	return timeline.Entry{Trigger: r.Data.(trigger.Trigger)}, nil
}

// What NewJob, RemoveJob and one-time jobs are elsewhere. Reading this source costs next to nothing, so it is read often.
// A job that was due once is not due again, until it is added anew.
func Example_jobsThatComeAndGo() {
	all := &jobs{rows: map[string]timeline.Row{}}
	loop, err := timeline.New(all, &memory.Claims{}, timeline.Options{Sync: 100 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	all.add("never mind", trigger.After(time.Now(), time.Hour))
	all.add("greet", trigger.After(time.Now(), 200*time.Millisecond))
	err = loop.Run(context.Background(), func(_ context.Context, _ time.Time, batch []timeline.Occurrence) error {
		for _, o := range batch {
			fmt.Println(o.ID)
			if o.ID == "greet" {
				all.add("say goodbye", trigger.After(time.Now(), 300*time.Millisecond))
				all.remove("never mind")
			} else {
				loop.Stop()
			}
		}
		return nil
	})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(loop.Count(), "left")
	// Output:
	// greet
	// say goodbye
	// 0 left
}
