package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/timeline"
)

// seeds runs a test in virtual time with random numbers of its own, which a failure prints.
func seeds(t *testing.T, n int, test func(t *testing.T, rng *rand.Rand)) {
	for i := range n {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				t.Logf("seed %d", seed)
				test(t, rand.New(rand.NewPCG(seed, 1)))
			})
		})
	}
}

// A term is one process: a loop that runs until it is stopped, cancelled, or its callback fails.
type term struct {
	loop    *timeline.Loop
	cancel  context.CancelFunc
	ended   chan error
	stopped bool
}

func (p *term) alive() bool {
	select {
	case err := <-p.ended:
		p.ended <- err
		return false
	default:
		return true
	}
}

// R-LOOP-5, R-WIN-4, R-LEAD-8, R-LEAD-9, R-LEAD-10, R-KEY-13: three processes on one claim, which stop, are cancelled and
// fail in their callbacks, over a store that fails, loses answers, hangs and writes late. Every occurrence up to the
// watermark was handed over, and none before its instant.
func TestRunLosesNothing(t *testing.T) {
	t.Parallel()
	seeds(t, 8, func(t *testing.T, rng *rand.Rand) {
		src := &source{}
		for i := range 30 {
			g := grid{step: time.Duration(1+rng.IntN(20)) * time.Second, phase: time.Duration(rng.IntN(1000)) * time.Millisecond}
			src.rows = append(src.rows, row(fmt.Sprint("s", i), "1", g))
		}
		s, calls, chance := &store{}, &ledger{}, rand.New(rand.NewPCG(rng.Uint64(), 2))
		lead := time.Duration(rng.IntN(4)) * time.Second
		deliver := func(ctx context.Context, due time.Time, batch []timeline.Occurrence) error {
			if time.Now().Before(due) {
				t.Errorf("what is due at %v came at %v", due, time.Now())
			}
			calls.mu.Lock()
			what, pause := chance.IntN(300), time.Duration(chance.IntN(300))*time.Millisecond
			calls.mu.Unlock()
			if what == 0 {
				return errors.New("the queue is full")
			}
			if what < 30 {
				time.Sleep(pause) // of the bubble
			}
			return calls.deliver(ctx, due, batch)
		}
		start := func() *term {
			l, err := timeline.New(&source{rows: src.rows}, s, timeline.Options{
				Lead: lead, Recover: -1, OnError: func(timeline.Stage, string, error) {},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			p := &term{loop: l, cancel: cancel, ended: make(chan error, 1)}
			go func() { p.ended <- l.Run(ctx, deliver) }()
			return p
		}
		began := time.Now()
		processes := []*term{start(), start(), start()}
		for range 400 {
			time.Sleep(time.Duration(rng.Int64N(int64(1500 * time.Millisecond)))) // of the bubble
			i := rng.IntN(len(processes))
			switch rng.IntN(12) {
			case 0:
				processes[i].loop.Stop()
				processes[i].stopped = true
			case 1:
				processes[i].cancel()
			case 2:
				s.plan([]fault{fails}, []fault{fault(rng.IntN(5)), fault(rng.IntN(5))})
			}
			if !processes[i].alive() {
				processes[i] = start()
			}
		}
		s.plan(nil, nil)
		last := start()
		time.Sleep(time.Minute) // of the bubble
		for _, p := range append(processes, last) {
			p.cancel()
			if err := <-p.ended; err == nil && !p.stopped {
				t.Error("Run returned nil, and nobody stopped it")
			}
		}
		checkRun(t, src, s, calls, began)
	})
}

func checkRun(t *testing.T, src *source, s *store, calls *ledger, began time.Time) {
	t.Helper()
	covered := s.record(t).CoveredUntil
	wanted := 0
	for _, r := range src.rows {
		for due := range r.Data.(grid).Between(began, covered) {
			wanted++
			if key := (timeline.Occurrence{ID: r.ID, Due: due}).Key(); calls.times[key] == 0 {
				t.Errorf("%s was never handed over", key)
			}
		}
	}
	if covered.Sub(began) < 2*time.Minute || wanted == 0 { // of about six
		t.Errorf("covered %v, %d calls for %d occurrences", covered.Sub(began), calls.total(), wanted)
	}
}

// R-REC-11, R-REC-16, R-DEL-4: one process whose definitions are rewritten all the time, with and without a lead, while its
// callback takes its time. Each definition's occurrences from its own start to the start of the next are handed over, and
// none from before the first.
func TestEditsLoseNothing(t *testing.T) {
	t.Parallel()
	seeds(t, 8, func(t *testing.T, rng *rand.Rand) {
		type part struct {
			grid grid
			from time.Time
		}
		history := map[string][]part{}
		src, calls := &source{}, &ledger{}
		sync := time.Duration(1+rng.IntN(8)) * time.Second
		edit := func() {
			id := fmt.Sprint("s", rng.IntN(40))
			if n := len(history[id]); n > 0 && time.Since(history[id][n-1].from) < sync+time.Second {
				return // a definition that was rewritten before it was read was never known
			}
			g := grid{step: time.Duration(1+rng.IntN(10)) * time.Second, phase: time.Duration(rng.IntN(1000)) * time.Millisecond}
			now := time.Now().Truncate(time.Microsecond)
			src.change(func(s *source) {
				history[id] = append(history[id], part{g, now})
				s.set(active(row(id, fmt.Sprint(len(history[id])), g), now))
			})
		}
		for range 40 {
			edit()
		}
		l, err := timeline.New(src, &store{}, timeline.Options{
			Lead: time.Duration(rng.IntN(3)) * 3 * time.Second, Sync: sync,
		})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		pauses := rand.New(rand.NewPCG(rng.Uint64(), 2))
		go func() {
			ended <- l.Run(t.Context(), func(ctx context.Context, due time.Time, batch []timeline.Occurrence) error {
				src.change(func(*source) {
					for _, o := range batch {
						if o.Due.Before(history[o.ID][0].from) {
							t.Errorf("%s is from before its definition", o.Key())
						}
					}
				})
				time.Sleep(time.Duration(pauses.IntN(100)) * time.Millisecond) // of the bubble
				return calls.deliver(ctx, due, batch)
			})
		}()
		for range 300 {
			time.Sleep(time.Duration(rng.Int64N(int64(time.Second)))) // of the bubble
			edit()
		}
		end := time.Now()
		time.Sleep(time.Minute) // of the bubble
		l.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		total := 0
		for id, parts := range history {
			for i, p := range parts {
				to := end
				if i+1 < len(parts) {
					to = parts[i+1].from
				}
				for due := range p.grid.Between(p.from, to) {
					total++
					if key := (timeline.Occurrence{ID: id, Due: due}).Key(); calls.times[key] == 0 {
						t.Errorf("%s of version %d was never handed over", key, i+1)
					}
				}
			}
		}
		if total < 200 {
			t.Errorf("%d occurrences only: the test shows little", total)
		}
	})
}
