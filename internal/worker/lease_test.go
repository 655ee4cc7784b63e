package worker

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/target"
)

var errDown = errors.New("the store is down")

// R-LSE-1, R-LSE-8: work longer than the lease keeps it, without doing anything for it.
func TestLongWorkKeepsItsLease(t *testing.T) {
	inBubble(t, func(w *world) {
		w.job = func(context.Context, target.Delivery) error { time.Sleep(5 * time.Minute); return nil }
		ids := w.plan([]time.Duration{0})
		_, stop := w.work()
		_, stopOther := w.work()
		time.Sleep(6 * time.Minute)
		stop()
		stopOther()
		w.expect(run.Succeeded, ids...)
		if r := w.row(ids[0]); r.Deliveries != 1 {
			w.Errorf("%d deliveries, want 1", r.Deliveries)
		}
	})
}

// S-037, R-LSE-2, R-LSE-3: a worker that cannot renew ends its work before its lease runs out, its outcome is refused
// and logged, and the run is delivered again under a new node.
func TestUnrenewedLeaseEndsTheWork(t *testing.T) {
	inBubble(t, func(w *world) {
		var down atomic.Bool
		var cause atomic.Value
		var ended time.Time
		var deliveries atomic.Int32
		w.job = func(ctx context.Context, d target.Delivery) error {
			if deliveries.Add(1) > 1 {
				return nil
			}
			<-ctx.Done()
			cause.Store(context.Cause(ctx))
			ended = w.clk.Now()
			time.Sleep(30 * time.Second) // it goes on regardless
			return nil
		}
		w.beat = func(ctx context.Context, n store.Node, lease time.Duration) error {
			if down.Load() {
				return errDown
			}
			return w.Store.Beat(ctx, n, lease)
		}
		ids := w.plan([]time.Duration{500 * time.Millisecond})
		_, stop := w.work()
		time.Sleep(5500 * time.Millisecond) // the last renewal was sent at 5 s
		down.Store(true)
		time.Sleep(9 * time.Second)
		down.Store(false)
		time.Sleep(time.Minute)
		stop()
		if got, _ := cause.Load().(error); !errors.Is(got, target.ErrLeaseLost) {
			w.Errorf("the work was ended because of %v", got)
		}
		const lease = 10 * time.Second
		if want := w.begin.Add(5*time.Second + lease*2/3); !ended.Equal(want) {
			w.Errorf("the work was ended %v after the beginning, want %v", ended.Sub(w.begin), want.Sub(w.begin))
		}
		r := w.row(ids[0])
		if r.Status != run.Succeeded || r.Deliveries != 2 || deliveries.Load() != 2 {
			w.Errorf("the run is %s after %d deliveries", r.Status, r.Deliveries)
		}
		if !w.log.has("refused", ids[0].String(), "fence=1") {
			w.Error("the refused outcome is not in the log")
		}
	})
}

// A lease that somebody took ends the work at the next heartbeat, and the node's successor has another name.
func TestTakenLeaseEndsTheWork(t *testing.T) {
	inBubble(t, func(w *world) {
		nodes := map[run.NodeID]bool{}
		w.beat = func(ctx context.Context, n store.Node, lease time.Duration) error {
			nodes[n.ID] = true
			if len(nodes) == 1 && w.clk.Now().Sub(w.begin) > 4*time.Second {
				return store.ErrLost
			}
			return w.Store.Beat(ctx, n, lease)
		}
		var took time.Duration
		w.job = func(ctx context.Context, d target.Delivery) error {
			if d.Run.Deliveries == 1 {
				<-ctx.Done()
				took = w.clk.Now().Sub(w.begin)
			}
			return ctx.Err()
		}
		ids := w.plan([]time.Duration{0})
		_, stop := w.work()
		time.Sleep(time.Minute)
		stop()
		if took != 5*time.Second || len(nodes) != 2 {
			w.Errorf("ended after %v, %d nodes", took, len(nodes))
		}
		w.expect(run.Succeeded, ids...)
	})
}

// S-039, R-WRK-12, R-LSE-5: what a dead node held is recovered within lease, two looks and a second, in every pool.
func TestSilentNodesAreRecovered(t *testing.T) {
	inBubble(t, func(w *world) {
		ctx := w.Context()
		dead := store.Node{ID: run.NodeID{1}}
		w.must(w.Beat(ctx, dead, 10*time.Second))
		ids := w.plan(spaced(250, 0, 0), func(r *run.Run) { r.Due = r.Due.Add(time.Duration(w.made) * time.Microsecond) })
		other := w.plan([]time.Duration{-time.Second}, func(r *run.Run) { r.Pool = "elsewhere" })
		taken, err := w.Take(ctx, store.Take{Node: dead.ID, Pools: []store.PoolRoom{{Pool: "default", Free: 300}, {Pool: "elsewhere", Free: 1}}})
		w.must(err)
		if len(taken.Runs) != 251 {
			w.Fatalf("%d runs taken", len(taken.Runs))
		}
		_, stop := w.work()
		time.Sleep(13 * time.Second)
		w.expect(run.Succeeded, ids...)
		w.expect(run.Pending, other...)
		stop()
	})
}

// S-038, PROTOCOL B5: a step of the store's clock makes every lease look old, and recovers nobody.
func TestSteppedClockRecoversNobody(t *testing.T) {
	var step atomic.Int64
	clk := clock.Skewed{Clock: clock.Bubble{}, Offset: func() time.Duration { return time.Duration(step.Load()) }}
	inBubbleWith(t, clk, func(w *world) {
		w.job = func(ctx context.Context, _ target.Delivery) error {
			return errors.Join(ctx.Err(), func() error { time.Sleep(20 * time.Second); return ctx.Err() }())
		}
		ids := w.plan(spaced(4, 0, time.Microsecond))
		_, stopOne := w.work(func(o *Options) { o.Pools = map[string]int{"default": 2} })
		_, stopTwo := w.work(func(o *Options) { o.Pools = map[string]int{"default": 2} })
		time.Sleep(5500 * time.Millisecond)
		step.Store(int64(time.Minute))
		time.Sleep(20 * time.Second)
		stopOne()
		stopTwo()
		for _, id := range ids {
			if r := w.row(id); r.Status != run.Succeeded || r.Deliveries != 1 {
				w.Errorf("%s is %s after %d deliveries", id, r.Status, r.Deliveries)
			}
		}
	})
}

// PROTOCOL A9, B5: the clock was two hours ahead, a worker died, and the clock was set right. What the dead one held is
// recovered after its lease, measured by the sweeper's own clock; who lives is left alone.
func TestANodeOfTheFutureIsRecovered(t *testing.T) {
	var step atomic.Int64
	clk := clock.Skewed{Clock: clock.Bubble{}, Offset: func() time.Duration { return time.Duration(step.Load()) }}
	inBubbleWith(t, clk, func(w *world) {
		ctx := w.Context()
		w.job = func(context.Context, target.Delivery) error {
			time.Sleep(20 * time.Second)
			return nil
		}
		ids := w.plan(spaced(2, 0, time.Microsecond))
		dead := store.Node{ID: run.NodeID{1}}
		w.must(w.Beat(ctx, dead, 10*time.Second))
		_, err := w.Take(ctx, store.Take{Node: dead.ID, Pools: []store.PoolRoom{{Pool: "default", Free: 1}}})
		w.must(err)
		_, stop := w.work()
		time.Sleep(500 * time.Millisecond)
		step.Store(int64(-2 * time.Hour))
		time.Sleep(9 * time.Second)
		if nodes, err := w.Silent(ctx); err != nil || len(nodes) != 1 {
			w.Errorf("%d nodes are silent before a lease is over: %v", len(nodes), err)
		}
		time.Sleep(20 * time.Second)
		stop()
		w.expect(run.Pending, ids[0]) // it is not due for another two hours
		w.expect(run.Succeeded, ids[1])
		if r := w.row(ids[1]); r.Deliveries != 1 {
			w.Errorf("what the living one held was delivered %d times", r.Deliveries)
		}
	})
}

// S-048: what was revoked while it ran is ended within a heartbeat.
func TestRevokedRunIsEnded(t *testing.T) {
	inBubble(t, func(w *world) {
		w.lost = func(_ context.Context, held []store.Held) ([]store.Held, error) {
			if w.clk.Now().Sub(w.begin) > 3500*time.Millisecond {
				return held, nil
			}
			return nil, nil
		}
		var took time.Duration
		w.job = func(ctx context.Context, d target.Delivery) error {
			if d.Run.Deliveries > 1 {
				return nil // this store did not mean it
			}
			<-ctx.Done()
			took = w.clk.Now().Sub(w.begin)
			return context.Cause(ctx)
		}
		w.plan([]time.Duration{0})
		_, stop := w.work()
		time.Sleep(5 * time.Second)
		stop()
		if took != 4*time.Second {
			w.Errorf("ended after %v, want 4s", took)
		}
	})
}

// A process that slept over its lease starts nothing when it wakes, until the lease is renewed: the run may be another's
// by then. The step of the wall clock is how such a sleep looks here. R-LSE-2.
func TestNothingStartsUnderAnOldLease(t *testing.T) {
	var step atomic.Int64
	clk := clock.Skewed{Clock: clock.Bubble{}, Offset: func() time.Duration { return time.Duration(step.Load()) }}
	inBubbleWith(t, clk, func(w *world) {
		begin := time.Now()
		var renewed, began atomic.Int64
		w.job = func(context.Context, target.Delivery) error { began.Store(int64(time.Since(begin))); return nil }
		w.beat = func(ctx context.Context, n store.Node, lease time.Duration) error {
			if step.Load() != 0 && time.Since(begin) < 4*time.Second {
				return errDown
			}
			err := w.Store.Beat(ctx, n, lease)
			if err == nil && step.Load() != 0 && renewed.Load() == 0 {
				renewed.Store(int64(time.Since(begin)))
			}
			return err
		}
		ids := w.plan([]time.Duration{2 * time.Second})
		_, stop := w.work()
		time.Sleep(1900 * time.Millisecond) // it is confirmed
		step.Store(int64(8 * time.Second))
		time.Sleep(8 * time.Second)
		stop()
		w.expect(run.Succeeded, ids...)
		if began.Load() < renewed.Load() || renewed.Load() == 0 {
			w.Errorf("it started after %v, and the lease was renewed after %v", time.Duration(began.Load()), time.Duration(renewed.Load()))
		}
	})
}

// A claim whose reply was lost is found and given back: nobody else would look while this node lives (PROTOCOL B2).
func TestLostReplyToTakeIsRepaired(t *testing.T) {
	inBubble(t, func(w *world) {
		lose := true
		w.take = func(ctx context.Context, t store.Take) (store.Taken, error) {
			taken, err := w.Store.Take(ctx, t)
			if err == nil && len(taken.Runs) > 0 && lose {
				lose = false
				return store.Taken{}, errDown
			}
			return taken, err
		}
		ids := w.plan(spaced(5, 0, time.Microsecond))
		_, stop := w.work()
		time.Sleep(5 * time.Second)
		stop()
		w.expect(run.Succeeded, ids...)
		if r := w.row(ids[0]); r.Deliveries != 1 || lose {
			w.Errorf("%d deliveries, want 1", r.Deliveries)
		}
	})
}

// R-LSE-4: at most once, a lost lease counts as the attempt.
func TestLostLeaseOfAnAtMostOnceRunFailsIt(t *testing.T) {
	inBubble(t, func(w *world) {
		ctx := w.Context()
		w.must(w.Beat(ctx, store.Node{ID: run.NodeID{1}}, 10*time.Second))
		ids := w.plan(spaced(2, 0, time.Microsecond), func(r *run.Run) { r.OnLost = schedule.OnLostFail })
		taken, err := w.Take(ctx, store.Take{Node: run.NodeID{1}, Pools: []store.PoolRoom{{Pool: "default", Free: 2}}})
		w.must(err)
		_, err = w.Start(ctx, []store.Started{{Held: store.Held{Run: ids[0], Fence: taken.Runs[0].Fence}, At: w.clk.Now()}})
		w.must(err)
		_, stop := w.work()
		time.Sleep(20 * time.Second)
		stop()
		if r := w.row(ids[0]); r.Status != run.Failed || r.ErrorCode != "LOST_WORKER" {
			w.Errorf("the running one is %s %s", r.Status, r.ErrorCode)
		}
		w.expect(run.Succeeded, ids[1]) // it had not started
	})
}
