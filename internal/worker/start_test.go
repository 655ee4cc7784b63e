package worker

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/target"
)

// starts records when runs were handed over.
type starts struct {
	mu sync.Mutex
	at map[run.ID][]time.Time
}

func (s *starts) note(id run.ID, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[run.ID][]time.Time{}
	}
	s.at[id] = append(s.at[id], at)
}

// R-DEL-1, R-DEL-2, R-DEL-3: each run starts at its own instant, from a local timer, however long others take; what is
// late starts at once. No planner leads meanwhile: running needs none (R-LOOP-13).
func TestRunsStartAtTheirInstant(t *testing.T) {
	inBubble(t, func(w *world) {
		var seen starts
		w.job = func(_ context.Context, d target.Delivery) error {
			seen.note(d.Run.ID, w.clk.Now())
			time.Sleep(10 * time.Second)
			return nil
		}
		ids := w.plan(spaced(10, -time.Second, 333*time.Millisecond))
		_, stop := w.work()
		time.Sleep(20 * time.Second)
		stop()
		for i, id := range ids {
			want := w.begin.Add(max(time.Duration(i)*333*time.Millisecond-time.Second, 0))
			if at := seen.at[id]; len(at) != 1 || !at[0].Equal(want) {
				w.Errorf("run %d started at %v, want %v", i, at, want)
			}
		}
		w.expect(run.Succeeded, ids...)
	})
}

// S-033: a timer that fires up to 10 ms early by a clock that drifts starts nothing early, a thousand times.
func TestNothingStartsBeforeItsInstant(t *testing.T) {
	begin := time.Now()
	drift := func() time.Duration { return -(time.Since(begin) % time.Second) / 100 } // one per cent slow, set right each second
	inBubbleWith(t, clock.Skewed{Clock: clock.Bubble{}, Offset: drift}, func(w *world) {
		var early, ran atomic.Int32
		w.job = func(_ context.Context, d target.Delivery) error {
			late := w.clk.Now().Sub(d.Run.Due)
			if late < 0 || late > 20*time.Millisecond {
				early.Add(1)
				w.Errorf("%s started %v after its instant", d.Run.ID, late)
			}
			ran.Add(1)
			return nil
		}
		ids := w.plan(spaced(1000, 2*time.Second, 7*time.Millisecond))
		_, stop := w.work()
		time.Sleep(12 * time.Second)
		stop()
		if ran.Load() != 1000 {
			w.Errorf("%d runs, want 1000", ran.Load())
		}
		w.expect(run.Succeeded, ids...)
	})
}

// A worker whose clock is 400 ms ahead of the store's starts nothing 400 ms early (PROTOCOL A9).
func TestTheStoresClockCounts(t *testing.T) {
	inBubble(t, func(w *world) {
		var seen starts
		w.job = func(_ context.Context, d target.Delivery) error {
			seen.note(d.Run.ID, w.clk.Now())
			return nil
		}
		ids := w.plan(spaced(5, time.Second, 100*time.Millisecond))
		_, stop := w.work(func(o *Options) {
			o.Clock = clock.Skewed{Clock: w.clk, Offset: func() time.Duration { return 400 * time.Millisecond }}
		})
		time.Sleep(5 * time.Second)
		stop()
		for i, id := range ids {
			if at := seen.at[id]; len(at) != 1 || !at[0].Equal(w.begin.Add(time.Second+time.Duration(i)*100*time.Millisecond)) {
				w.Errorf("run %d started at %v", i, at)
			}
		}
	})
}

// What was taken ahead and taken back in the meantime does not start; what was confirmed starts (PROTOCOL A2).
func TestHeldRunsAreConfirmed(t *testing.T) {
	for name, c := range map[string]struct {
		before time.Duration // of the instant, when the schedule is paused
		starts bool
	}{
		"while it is held":   {500 * time.Millisecond, false},
		"once it is running": {100 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				var ran atomic.Bool
				w.job = func(context.Context, target.Delivery) error { ran.Store(true); return nil }
				ids := w.plan([]time.Duration{3 * time.Second})
				_, stop := w.work()
				time.Sleep(3*time.Second - c.before)
				change, err := w.Pause(w.Context(), w.id, schedule.Pause{By: "test"})
				w.must(err)
				if (len(change.NotRevoked) == 1) != c.starts || (change.Unplanned == 1) == c.starts {
					w.Errorf("the pause answers %+v", change)
				}
				time.Sleep(3 * time.Second)
				stop()
				if ran.Load() != c.starts {
					w.Errorf("it ran: %v, want %v", ran.Load(), c.starts)
				}
				if c.starts {
					w.expect(run.Succeeded, ids...)
				}
			})
		})
	}
}

// A store that cannot confirm delays a held run, and does not let it start unconfirmed.
func TestUnconfirmedRunsWait(t *testing.T) {
	inBubble(t, func(w *world) {
		var seen starts
		w.job = func(_ context.Context, d target.Delivery) error { seen.note(d.Run.ID, w.clk.Now()); return nil }
		back := w.begin.Add(4 * time.Second)
		w.start = func(ctx context.Context, s []store.Started) ([]store.Held, error) {
			if w.clk.Now().Before(back) {
				return nil, store.ErrBusy
			}
			return w.Store.Start(ctx, s)
		}
		ahead := w.plan([]time.Duration{2 * time.Second})
		late := w.plan([]time.Duration{0})
		once := w.plan([]time.Duration{-time.Second}, func(r *run.Run) { r.OnLost = schedule.OnLostFail })
		_, stop := w.work()
		time.Sleep(6 * time.Second)
		stop()
		for what, c := range map[string]struct {
			id run.ID
			at time.Time
		}{
			"a run that was late starts at once":  {late[0], w.begin},
			"a held one waits":                    {ahead[0], back},
			"an at-most-once one waits (A6, D15)": {once[0], back},
		} {
			at := seen.at[c.id]
			if len(at) != 1 || at[0].Before(c.at) || at[0].After(c.at.Add(100*time.Millisecond)) {
				w.Errorf("%s: started at %v, want %v", what, at, c.at)
			}
		}
		w.expect(run.Succeeded, ahead[0], late[0], once[0])
	})
}

// R-WRK-9, PROTOCOL C12: no more is taken than can execute.
func TestNoMoreIsTakenThanHasRoom(t *testing.T) {
	inBubble(t, func(w *world) {
		var now, peak atomic.Int32
		w.job = func(context.Context, target.Delivery) error {
			peak.Store(max(peak.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(time.Second)
			return nil
		}
		w.take = func(ctx context.Context, t store.Take) (store.Taken, error) {
			for _, p := range t.Pools {
				if p.Pool == "default" && int32(p.Free)+now.Load() > 4 {
					w.Errorf("%d more are asked for while %d execute", p.Free, now.Load())
				}
			}
			return w.Store.Take(ctx, t)
		}
		ids := w.plan(spaced(20, -time.Minute, time.Second))
		_, stop := w.work(func(o *Options) { o.Pools = map[string]int{"default": 4, "other": 1} })
		time.Sleep(6 * time.Second)
		stop()
		if peak.Load() != 4 {
			w.Errorf("%d at once, want 4", peak.Load())
		}
		w.expect(run.Succeeded, ids...)
	})
}

// A worker with nothing to do asks seldom, though its store hints at every call, its own takes included.
func TestIdleWorkerAsksSeldom(t *testing.T) {
	inBubble(t, func(w *world) {
		var takes atomic.Int32
		w.take = func(ctx context.Context, t store.Take) (store.Taken, error) {
			takes.Add(1)
			return w.Store.Take(ctx, t)
		}
		_, stop := w.work()
		time.Sleep(time.Minute)
		idle := takes.Load()
		ids := w.plan([]time.Duration{0})
		at := w.clk.Now()
		for w.row(ids[0]).Status != run.Succeeded {
			time.Sleep(time.Millisecond)
		}
		if took := w.clk.Now().Sub(at); took > 100*time.Millisecond {
			w.Errorf("a hint at work was answered after %v", took)
		}
		stop()
		if idle > 60*5 {
			w.Errorf("%d takes in an idle minute", idle)
		}
	})
}
