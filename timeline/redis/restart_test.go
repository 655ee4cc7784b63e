package redis_test

import (
	"context"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/timeline/redis"
)

// step is the time between two occurrences of the schedule that runs while Redis is killed.
const step = 100 * time.Millisecond

type often struct{}

func (often) Next(after time.Time) (time.Time, bool) {
	return after.Truncate(step).Add(step), true
}

func (o often) Between(start, end time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for due, _ := o.Next(start.Add(-1)); due.Before(end) && yield(due); due = due.Add(step) {
		}
	}
}

type source struct{}

func (source) Snapshot(context.Context) iter.Seq2[timeline.Row, error] {
	return func(yield func(timeline.Row, error) bool) { yield(timeline.Row{ID: "often", Version: "1"}, nil) }
}

func (source) Make(context.Context, timeline.Row) (timeline.Entry, error) {
	return timeline.Entry{Trigger: often{}}, nil
}

// A ledger counts what was handed over, by key.
type ledger struct {
	mu    sync.Mutex
	times map[string]int
	last  time.Time
}

func (l *ledger) deliver(_ context.Context, due time.Time, batch []timeline.Occurrence) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range batch {
		l.times[o.Key()]++
	}
	if due.After(l.last) {
		l.last = due
	}
	return nil
}

// waitFor waits until something that fell due after the given instant was handed over, and returns the last of it.
func (l *ledger) waitFor(t *testing.T, after time.Time) time.Time {
	t.Helper()
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(step / 2) {
		l.mu.Lock()
		last := l.last
		l.mu.Unlock()
		if last.After(after) {
			return last
		}
	}
	t.Fatalf("nothing from after %v was handed over in 30 s", after)
	return time.Time{}
}

// R-LEAD-2, R-LEAD-18, R-TST-5: Redis is killed and started again, twice, under two loops that share a claim. They go on by
// themselves, and no occurrence is missing. Then the leader ends, and the other one goes on from where it was.
func TestKilledRedisLosesNothing(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	l := &ledger{times: map[string]int{}}
	claims := redis.New(s.client().do, "claim")
	ended := make(chan error, 2)
	loops := make([]*timeline.Loop, 2)
	for i := range loops {
		loop, err := timeline.New(source{}, redis.New(s.client().do, "claim"), timeline.Options{
			Tick: step, Lease: 2 * time.Second, OnError: func(timeline.Stage, string, error) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		loops[i] = loop
		go func() { ended <- loop.Run(t.Context(), l.deliver) }()
	}
	first := l.waitFor(t, time.Now())
	for range 2 {
		s.kill()
		time.Sleep(3 * step) // meanwhile something falls due
		s.start()
		l.waitFor(t, time.Now())
	}
	leader := 0
	if loops[1].Leading() {
		leader = 1
	}
	loops[leader].Stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	l.waitFor(t, time.Now())
	loops[1-leader].Stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	claim, found, err := claims.Load(t.Context())
	if err != nil || !found {
		t.Fatal(found, err)
	}
	for due := range (often{}).Between(first, claim.CoveredUntil) {
		if key := (timeline.Occurrence{ID: "often", Due: due}).Key(); l.times[key] == 0 {
			t.Errorf("%s is missing", key)
		}
	}
	if claim.Epoch < 2 {
		t.Errorf("epoch %d: nobody took over", claim.Epoch)
	}
}
