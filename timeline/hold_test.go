package timeline_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/trigger"
)

// A moved clock runs with the bubble's, and can be set.
type movedClock struct{ by atomic.Int64 }

func (c *movedClock) Now() time.Time { return time.Now().Add(time.Duration(c.by.Load())) }

// R-DEL-2: a hold waits for an instant on the wall clock and not for a duration: when the clock is set, the instant comes
// sooner or later, and is noticed within a second.
func TestHoldFollowsTheWallClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ set, atLeast, atMost time.Duration }{
		{0, 40 * time.Second, 40 * time.Second},
		{20 * time.Second, 20 * time.Second, 21 * time.Second},
		{time.Hour, 10 * time.Second, 11 * time.Second},
		{-10 * time.Second, 50 * time.Second, 50 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			s := &store{}
			wall := &movedClock{}
			src := &source{rows: []timeline.Row{row("a", "1", trigger.At(began.Add(40*time.Second)))}}
			l, err := timeline.New(src, s, timeline.Options{Lead: time.Minute, Clock: wall})
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(10*time.Second, func() { wall.by.Store(int64(c.set)) })
			err = l.Run(t.Context(), func(context.Context, time.Time, []timeline.Occurrence) error {
				if after := time.Since(began); after < c.atLeast || after > c.atMost {
					t.Errorf("the clock was set by %v, and the hold ended after %v", c.set, after)
				}
				l.Stop()
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// R-LEAD-1, R-LEAD-8, R-LEAD-10, R-LEAD-13: a process hangs in its callback. The standby takes over when its lease ends, and
// hands the tick over again under the same keys; what the first one commits when it wakes up is fenced, and it stands by.
func TestStandbyTakesOverFromAHungCallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		hung := newStage(t, timeline.Options{}, row("a", "1", every(5*time.Second)))
		standby := &stage{t: t, src: &source{rows: hung.src.rows}, store: hung.store}
		standby.join(timeline.Options{})
		hung.meanwhile = func(due time.Time) error {
			if due.Second() == 10 {
				time.Sleep(12 * time.Second) // of the bubble
			}
			return nil
		}
		ended := make(chan error, 2)
		go func() { ended <- hung.loop.Run(t.Context(), hung.deliver) }()
		synctest.Wait()
		go func() { ended <- standby.loop.Run(t.Context(), standby.deliver) }()
		time.Sleep(28 * time.Second) // of the bubble
		if hung.loop.Leading() || !standby.loop.Leading() {
			t.Error("the standby does not lead, or not alone")
		}
		hung.loop.Stop()
		standby.loop.Stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		hung.wants("00 a", "05 a", "10 a")
		// It renewed on the way to 10, and the lease is three seconds.
		again := standby.calls[0]
		if !slices.Contains([]string{"11(10) a", "12(10) a", "13(10) a"}, again) {
			t.Errorf("the standby began with %q", again)
		}
		standby.wants(again, "15 a", "20 a", "25 a")
		if c := hung.store.record(t); c.Epoch != 2 || c.CoveredUntil.Before(began.Add(25*time.Second)) {
			t.Errorf("the claim is %+v", c)
		}
	})
}

// R-LOOP-6, R-LEAD-18: a store that is gone for a while ends nothing. What fell due meanwhile is handed over when it is
// back, once.
func TestStoreThatIsGoneForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := newStage(t, timeline.Options{}, row("a", "1", every(2*time.Second)))
		time.AfterFunc(9500*time.Millisecond, func() { s.store.plan([]fault{everFailing}, []fault{everFailing}) })
		time.AfterFunc(19500*time.Millisecond, func() { s.store.plan(nil, nil) })
		if err := s.runFor(25 * time.Second); err != nil {
			t.Error(err)
		}
		seen := map[string]int{}
		for _, call := range s.calls {
			if len(call) > 4 {
				call = call[3:5] // handed over late: the instant
			} else {
				call = call[:2]
			}
			seen[call]++
		}
		for due := range every(2*time.Second).Between(began, began.Add(25*time.Second)) {
			// What was handed over just before the store went may come again.
			if n := seen[due.Format("05")]; n < 1 || n > 2 {
				t.Errorf("what was due at %s was handed over %d times", due.Format("05"), n)
			}
		}
		if len(s.errors) == 0 {
			t.Error("nobody was told")
		}
	})
}
