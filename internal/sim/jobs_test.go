package sim

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"time"

	"github.com/belfryhq/belfry/target"
)

// recorder is where jobs write down what happens to them, outside of the engine.
type recorder struct {
	w  *world
	mu sync.Mutex
	at []Start
}

// begin writes down a start, and returns where its end is to be written.
func (r *recorder) begin(d target.Delivery) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = append(r.at, Start{Run: d.Run.ID, Key: d.Key, Fence: d.Run.Fence, Clock: r.w.clk.Now(), At: time.Now().UTC()})
	return len(r.at) - 1
}

func (r *recorder) end(i int, said Said) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[i].End, r.at[i].Said = time.Now().UTC(), said
}

var errOnPurpose = errors.New("this attempt was to fail")

// jobKinds says how each job behaves: how long it works, and whether it then fails. Both follow from the key, so that
// every delivery of a run does the same.
var jobKinds = map[string]struct {
	work  func(draw byte) time.Duration
	fails func(attempt int, draw byte) bool
	panic bool
}{
	"instant": {work: func(byte) time.Duration { return 0 }},
	"short":   {work: func(draw byte) time.Duration { return time.Duration(draw) * 10 * time.Millisecond }},
	"long":    {work: func(draw byte) time.Duration { return 20*time.Second + time.Duration(draw)*time.Second }},
	"flaky": {work: func(draw byte) time.Duration { return time.Duration(draw) * time.Millisecond },
		fails: func(attempt int, draw byte) bool { return attempt == 1 && draw%2 == 0 }},
	"broken": {work: func(byte) time.Duration { return time.Second }, fails: func(_ int, draw byte) bool { return draw%3 == 0 }},
	"panics": {work: func(byte) time.Duration { return 0 }, fails: func(attempt int, draw byte) bool { return attempt == 1 && draw%4 == 0 }, panic: true},
}

// jobs are the handlers of one process. When it is killed they stop where they are.
func (r *recorder) jobs(p *process) map[string]target.Handler {
	handlers := map[string]target.Handler{}
	for name, kind := range jobKinds {
		handlers[name] = func(ctx context.Context, d target.Delivery) error {
			if p.killed() {
				return context.Canceled // a dead process starts nothing
			}
			i := r.begin(d)
			draw := sha256.Sum256([]byte(d.Key))[0]
			timer := time.NewTimer(kind.work(draw))
			defer timer.Stop()
			select {
			case <-p.dead:
				r.end(i, SaidKilled)
				return context.Canceled
			case <-ctx.Done():
				r.end(i, SaidEnded)
				return ctx.Err()
			case <-timer.C:
			}
			if kind.fails == nil || !kind.fails(d.Attempt(), draw) {
				r.end(i, SaidOK)
				return nil
			}
			r.end(i, SaidError)
			if kind.panic {
				panic(errOnPurpose)
			}
			return errOnPurpose
		}
	}
	return handlers
}
