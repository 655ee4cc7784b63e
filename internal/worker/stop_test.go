package worker

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/target"
)

// S-036, R-LSE-6, D33: on the first signal running work ends and is recorded, with heartbeats meanwhile; what has not
// started goes back uncounted, and the node's row goes.
func TestStopLetsRunningWorkEnd(t *testing.T) {
	inBubble(t, func(w *world) {
		w.job = func(ctx context.Context, _ target.Delivery) error {
			time.Sleep(20 * time.Second)
			return ctx.Err()
		}
		ids := w.plan([]time.Duration{0})
		_, stop := w.work()
		time.Sleep(5 * time.Second)
		held := w.plan([]time.Duration{800 * time.Millisecond})
		time.Sleep(100 * time.Millisecond)
		w.expect(run.Claimed, held...)
		stop()
		w.expect(run.Succeeded, ids...)
		if r := w.row(held[0]); r.Status != run.Pending || r.Deliveries != 0 {
			w.Errorf("the held one is %s with %d deliveries", r.Status, r.Deliveries)
		}
		if took := w.clk.Now().Sub(w.begin); took < 20*time.Second || took > 21*time.Second {
			w.Errorf("it took %v", took)
		}
		if nodes, err := w.Living(w.Context()); err != nil || len(nodes) != 0 {
			w.Errorf("nodes left: %v, %v", nodes, err)
		}
	})
}

// D33: when the grace is over, or at the second signal, work is cancelled and left to recovery; nobody pretends to
// know how it would have ended.
func TestCancelledWorkIsLeftToRecovery(t *testing.T) {
	for name, c := range map[string]struct {
		kill bool
		want time.Duration
	}{
		"the grace is over": {false, 31 * time.Second},
		"the second signal": {true, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *world) {
				var cause error
				w.job = func(ctx context.Context, _ target.Delivery) error {
					<-ctx.Done()
					cause = context.Cause(ctx)
					return errors.New("cut off")
				}
				ids := w.plan([]time.Duration{0})
				x, stop := w.work()
				time.Sleep(time.Second)
				if c.kill {
					time.AfterFunc(2*time.Second, x.Kill)
				}
				stop()
				if took := w.clk.Now().Sub(w.begin); took < c.want || took > c.want+time.Second {
					w.Errorf("it took %v, want %v", took, c.want)
				}
				if !errors.Is(cause, target.ErrStop) {
					w.Errorf("the cause is %v", cause)
				}
				w.expect(run.Running, ids...)
				w.job = func(context.Context, target.Delivery) error { return nil }
				_, stop = w.work()
				time.Sleep(15 * time.Second)
				stop()
				if r := w.row(ids[0]); r.Status != run.Succeeded || r.Deliveries != 2 || r.Attempt != 1 {
					w.Errorf("then it is %s, deliveries %d, attempts %d", r.Status, r.Deliveries, r.Attempt)
				}
			})
		})
	}
}

// R-RTY-3, R-RTY-4 and PROTOCOL A6, by arithmetic.
func TestJudge(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	failed := target.Result{Code: target.CodeExit}
	lost := target.Result{Code: target.CodeLost}
	base := run.Run{MaxAttempts: 100, MaxDeliveries: 5, Deliveries: 1, OnLost: schedule.OnLostRedeliver}
	with := func(edit func(*run.Run)) run.Run { r := base; edit(&r); return r }
	for name, c := range map[string]struct {
		r        run.Run
		res      target.Result
		status   run.Status
		wait     time.Duration
		answered bool
	}{
		"success":              {base, target.Result{}, run.Succeeded, 0, true},
		"no backoff":           {base, failed, run.RetryScheduled, 0, true},
		"first":                {with(func(r *run.Run) { r.Backoff = time.Minute }), failed, run.RetryScheduled, time.Minute, true},
		"fourth":               {with(func(r *run.Run) { r.Backoff, r.Attempt = time.Minute, 3 }), failed, run.RetryScheduled, 8 * time.Minute, true},
		"a day is the cap":     {with(func(r *run.Run) { r.Backoff, r.Attempt = time.Minute, 80 }), failed, run.RetryScheduled, day, true},
		"unless it is longer":  {with(func(r *run.Run) { r.Backoff, r.Attempt = 3*day, 5 }), failed, run.RetryScheduled, 3 * day, true},
		"the last":             {with(func(r *run.Run) { r.Attempt = 99 }), failed, run.Failed, 0, true},
		"no attempts given":    {with(func(r *run.Run) { r.MaxAttempts = 0 }), failed, run.Failed, 0, true},
		"permanent":            {base, target.Result{Code: target.CodePermanent, Permanent: true}, run.Failed, 0, true},
		"the job knows better": {with(func(r *run.Run) { r.Backoff = time.Minute }), target.Result{Code: target.CodeInternal, RetryAfter: time.Second}, run.RetryScheduled, time.Second, true},
		"cancelled":            {base, target.Result{Code: target.CodeCancelled}, run.Cancelled, 0, true},
		"lapsed":               {base, lost, run.RetryScheduled, 0, false},
		"lapsed too often":     {with(func(r *run.Run) { r.Deliveries = 5 }), lost, run.DeadLetter, 0, false},
		"lapsed, at most once": {with(func(r *run.Run) { r.OnLost, r.MaxAttempts = schedule.OnLostFail, 1 }), lost, run.Failed, 0, true},
	} {
		v := judge(&c.r, &c.res, at)
		if v.status != c.status || v.answered != c.answered || c.status == run.RetryScheduled && !v.readyAt.Equal(at.Add(c.wait)) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{Lease: time.Second}, {Renew: 5 * time.Second}, {Ahead: 2 * time.Second}, {Pools: map[string]int{}},
		{Pools: map[string]int{"a": 0}}, {ShutdownGrace: -1},
	} {
		if _, err := New(nil, &target.Registry{}, o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if _, err := New(nil, &target.Registry{}, Options{}); err != nil {
		t.Error(err)
	}
	names := poolNames(map[string]int{"b": 1, "a": 1})
	if !slices.Equal(names, []string{"a", "b"}) {
		t.Error(names)
	}
}
