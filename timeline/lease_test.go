package timeline_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/timeline"
)

var lease6 = timeline.Options{Lease: 6 * time.Second, Tick: time.Second}

// R-LEAD-7, R-LEAD-19: two loops on one store elect exactly one, and each change of holder raises the epoch.
func TestTwoLoopsElectOne(t *testing.T) {
	t.Parallel()
	a := newRig(t, lease6, row("x", "1", every(time.Second)))
	b := a.beside(lease6)
	for range 60 {
		a.turn()
		b.follows()
		a.clock.pass(time.Second)
	}
	if !a.Leading() || b.Leading() {
		t.Errorf("leading: %v and %v", a.Leading(), b.Leading())
	}
	if c := a.store.record(t); c.Epoch != 1 || !c.CoveredUntil.Equal(noon.Add(59*time.Second)) {
		t.Errorf("the record is %+v", c)
	}
}

// R-LEAD-8, R-LEAD-9: nothing is heard of the leader any more; the follower takes over when the lease is over, not
// before, and starts from the watermark.
func TestAbandonedClaimIsTakenAtExpiry(t *testing.T) {
	t.Parallel()
	a := newRig(t, lease6, row("x", "1", every(time.Second)))
	b := a.beside(lease6)
	a.turn()
	b.reconcile()
	b.follows()
	if wake := b.NextWake(); !wake.Equal(noon.Add(time.Second)) {
		t.Errorf("a follower wakes at %v", wake)
	}
	a.clock.pass(6*time.Second - time.Microsecond)
	b.follows()
	a.clock.pass(time.Microsecond)
	w := b.turn()
	want(t, w, "x 12:00:00", "x 12:00:01", "x 12:00:02", "x 12:00:03", "x 12:00:04", "x 12:00:05")
	if c := b.store.record(t); c.Epoch != 2 {
		t.Errorf("epoch %d", c.Epoch)
	}
}

// R-LEAD-8: a release hands over at once and keeps the watermark.
func TestReleaseHandsOverAtOnce(t *testing.T) {
	t.Parallel()
	a := newRig(t, lease6, row("x", "1", every(time.Second)))
	b := a.beside(lease6)
	a.turn()
	a.clock.pass(2 * time.Second)
	a.turn()
	if err := a.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a.Leading() {
		t.Error("it leads after its release")
	}
	if w := b.tick(); !w.Start.Equal(noon.Add(2 * time.Second)) {
		t.Errorf("the successor starts at %v", w.Start)
	}
	if err := a.Release(t.Context()); err != nil { // it has nothing to release
		t.Error(err)
	}
	a.follows()
	if len(a.errors) > 0 {
		t.Error(a.errors)
	}
}

// R-LOOP-7: after Stop the open window can be committed, and the next tick gives the claim up.
func TestStopReleasesAfterTheCommit(t *testing.T) {
	t.Parallel()
	a := newRig(t, lease6, row("x", "1", every(time.Second)))
	b := a.beside(lease6)
	a.tick()
	a.Stop()
	a.commit()
	a.follows()
	b.turn()
}

// R-LEAD-10, P4: a leader that did nothing for three leases commits what it had selected.
func TestFrozenLeaderIsFenced(t *testing.T) {
	t.Parallel()
	a := newRig(t, lease6, row("x", "1", every(time.Second)))
	b := a.beside(lease6)
	a.turn()
	a.clock.pass(time.Second)
	a.tick()
	a.clock.pass(18 * time.Second)
	b.turn()
	before := a.store.record(t)
	if a.Leading() {
		t.Error("it trusts a lease of 18 s ago")
	}
	ok, err := a.Commit(t.Context())
	if ok || !errors.Is(err, timeline.ErrFenced) {
		t.Fatalf("the late commit: %v, %v", ok, err)
	}
	if after := a.store.record(t); after != before {
		t.Errorf("it changed the record from %+v to %+v", before, after)
	}
	if ok, err := a.Commit(t.Context()); ok || !errors.Is(err, timeline.ErrNotLeader) {
		t.Errorf("one more commit: %v, %v", ok, err)
	}
	a.follows()
	if len(a.errors) != 1 || !strings.HasPrefix(a.errors[0], "lease ") { // R-LEAD-13
		t.Errorf("errors: %q", a.errors)
	}
}

// PROTOCOL B20: a lease that is over and that nobody took still commits.
func TestExpiredLeaseNobodyTookStillCommits(t *testing.T) {
	t.Parallel()
	a := newRig(t, lease6, row("x", "1", every(time.Second)))
	a.turn()
	a.clock.pass(time.Second)
	a.tick()
	a.clock.pass(18 * time.Second)
	a.commit()
	if c := a.store.record(t); c.Epoch != 1 || !c.ExpiresAt.Equal(noon.Add(25*time.Second)) {
		t.Errorf("the record is %+v", c)
	}
}

// R-LOOP-12, R-LEAD-13: a tick renews when half of the lease is spent, so that a long hand-over keeps leading.
func TestTickRenewsAtHalfTheLease(t *testing.T) {
	t.Parallel()
	a := newRig(t, lease6, row("x", "1", every(time.Second)))
	b := a.beside(lease6)
	a.turn()
	a.clock.pass(3*time.Second - time.Microsecond)
	a.tick()
	if c := a.store.record(t); !c.ExpiresAt.Equal(noon.Add(6 * time.Second)) {
		t.Errorf("it renewed early: %v", c.ExpiresAt)
	}
	a.clock.pass(time.Microsecond)
	for range 20 { // no commit for a minute
		a.tick()
		b.follows()
		a.clock.pass(3 * time.Second)
	}
	want := noon // not moved by a renewal
	if c := a.store.record(t); c.Epoch != 1 || !c.CoveredUntil.Equal(want) {
		t.Errorf("the record is %+v", c)
	}
}

// R-LEAD-3, R-LEAD-18, the heartbeat guard: while renewals fail, selection goes on for 90 % of the lease and then
// stops, until one succeeds.
func TestHeartbeatGuardStopsAnUnrenewedLeader(t *testing.T) {
	t.Parallel()
	o := lease6
	o.Lease = 10 * time.Second
	a := newRig(t, o, row("x", "1", every(time.Second)))
	a.turn()
	a.store.plan(nil, []fault{everFailing})
	a.clock.pass(9*time.Second - time.Microsecond)
	a.tick()
	if !a.Leading() {
		t.Error("it gave up before 90 % of the lease")
	}
	a.clock.pass(time.Microsecond)
	if a.Leading() {
		t.Error("it leads after 90 % of the lease")
	}
	if _, ok, err := a.Tick(t.Context()); ok || !errors.Is(err, errStore) {
		t.Fatalf("tick: %v, %v", ok, err)
	}
	a.store.plan(nil, nil)
	a.clock.pass(time.Second / 2)
	a.tick()
	if !a.Leading() || a.store.record(t).Epoch != 1 {
		t.Errorf("after a renewal: leads %v, %+v", a.Leading(), a.store.record(t))
	}
}

// PROTOCOL A9: a clock that was set back, or one that stood still while the machine slept, must not keep a lease young.
func TestHeartbeatGuardBelievesTheLargerClock(t *testing.T) {
	t.Parallel()
	o := lease6
	o.Lease = 10 * time.Second
	a := newRig(t, o, row("x", "1", every(time.Second)))
	a.turn()
	a.clock.step(-5 * time.Second) // elapsed 9 s, wall 4 s
	a.clock.pass(9 * time.Second)
	if a.Leading() {
		t.Error("it believes a wall clock that was set back")
	}
	a.store.plan(nil, []fault{everFailing})
	if _, ok, _ := a.Tick(t.Context()); ok {
		t.Error("it selects on a lease of 9 s ago, by elapsed time")
	}
	b := newRig(t, o, row("x", "1", every(time.Second)))
	b.turn()
	b.clock.step(9 * time.Second) // elapsed 0, wall 9 s
	if b.Leading() {
		t.Error("it believes an elapsed clock that stood still")
	}
	b.store.plan(nil, []fault{everFailing})
	if _, ok, _ := b.Tick(t.Context()); ok {
		t.Error("it selects on a lease of 9 s ago, by the wall clock")
	}
}

// PROTOCOL A9: the lease counts from before the renewal was sent, not from when its answer came.
func TestLeaseCountsFromBeforeItWasSent(t *testing.T) {
	t.Parallel()
	o := lease6
	o.Lease = 10 * time.Second
	a := newRig(t, o, row("x", "1", every(time.Second)))
	a.turn()
	a.clock.pass(5 * time.Second)
	a.tick()
	sent := a.clock.Now()
	ok, err := a.CommitIn(t.Context(), func(ctx ctx, old, next timeline.Claim) (timeline.Verdict, error) {
		a.clock.pass(2 * time.Second) // the answer takes its time
		swapped, err := a.store.Swap(ctx, &old, next)
		return timeline.Verdict{Swapped: swapped}, err
	})
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if c := a.store.record(t); !c.ExpiresAt.Equal(sent.Add(10 * time.Second)) {
		t.Errorf("expires at %v", c.ExpiresAt)
	}
	a.clock.pass(7*time.Second - time.Microsecond)
	if !a.Leading() {
		t.Error("it gave up before 9 s")
	}
	a.clock.pass(time.Microsecond)
	if a.Leading() {
		t.Error("it counts from the answer")
	}
}

// PROTOCOL B2: the answer to a commit is lost. The nonce tells whether it happened.
func TestLostReplyIsResolvedByNonce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		fault     fault
		committed bool
	}{{"written", loses, true}, {"not written", fails, false}} {
		a := newRig(t, lease6, row("x", "1", every(time.Second)))
		a.turn()
		a.clock.pass(time.Second)
		a.tick()
		a.store.plan(nil, []fault{c.fault})
		if ok, err := a.Commit(t.Context()); ok || !errors.Is(err, errStore) || errors.Is(err, timeline.ErrFenced) {
			t.Fatalf("%s: commit: %v, %v", c.name, ok, err)
		}
		a.clock.pass(time.Second)
		w := a.tick()
		if c.committed {
			want(t, w, "x 12:00:01")
		} else {
			want(t, w, "x 12:00:00", "x 12:00:01")
		}
		a.commit()
		if rec := a.store.record(t); rec.Epoch != 1 || len(a.errors) > 0 {
			t.Errorf("%s: the record is %+v, errors %q", c.name, rec, a.errors)
		}
	}
}

// The same, but the caller commits again instead of selecting again.
func TestCommitAgainAfterALostReply(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{loses, fails} {
		a := newRig(t, lease6, row("x", "1", every(time.Second)))
		a.turn()
		a.clock.pass(time.Second)
		a.tick()
		a.store.plan(nil, []fault{f})
		if ok, err := a.Commit(t.Context()); ok || err == nil {
			t.Fatal(ok, err)
		}
		a.commit()
		want(t, a.turn())
		if rec := a.store.record(t); !rec.CoveredUntil.Equal(noon.Add(time.Second)) {
			t.Errorf("the watermark is %v", rec.CoveredUntil)
		}
	}
}

// PROTOCOL B2 while the election's answer is lost, and another loop was quicker.
func TestLostReplyToAnElection(t *testing.T) {
	t.Parallel()
	a := newRig(t, lease6, row("x", "1", every(time.Second)))
	b := a.beside(lease6)
	a.store.plan(nil, []fault{fails})
	if _, ok, err := a.Tick(t.Context()); ok || err == nil {
		t.Fatal(ok, err)
	}
	b.turn()
	a.follows()
	if err := b.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.store.plan(nil, []fault{loses})
	if _, ok, err := a.Tick(t.Context()); ok || err == nil {
		t.Fatal(ok, err)
	}
	a.turn()
	if c := a.store.record(t); c.Epoch != 2 || len(a.errors) > 0 {
		t.Errorf("epoch %d, errors %q", c.Epoch, a.errors)
	}
}

// PROTOCOL B22, R-LEAD-2: a call that hangs costs the claim, not the loop; what it writes after all is found by its
// nonce.
func TestHungCallIsALostClaimNotAHungLoop(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault fault
		next  []string
	}{
		{hangs, []string{"x 12:00:00", "x 12:00:01", "x 12:00:02"}},
		{writesLate, []string{"x 12:00:01", "x 12:00:02"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newRig(t, lease6, row("x", "1", every(time.Second)))
			a.turn()
			a.clock.pass(time.Second)
			a.tick()
			a.store.plan(nil, []fault{c.fault})
			began := time.Now()
			ok, err := a.Commit(t.Context())
			if ok || !errors.Is(err, timeline.ErrStoreTimeout) || time.Since(began) != 2*time.Second {
				t.Fatalf("commit: %v, %v after %v", ok, err, time.Since(began))
			}
			if a.Leading() {
				t.Error("it leads, and its store does not answer")
			}
			time.Sleep(2 * time.Second) // of the bubble: the late write lands
			a.clock.pass(2 * time.Second)
			w := a.tick()
			want(t, w, c.next...)
			a.commit()
		})
	}
}

// A late write that lands after the claim was read still is this loop's own: it is not deposed, and loses nothing.
func TestWriteLandingAfterTheReloadIsOwn(t *testing.T) {
	t.Parallel()
	a := newRig(t, lease6, row("x", "1", every(time.Second)))
	a.turn()
	a.clock.pass(time.Second)
	a.tick()
	var land func()
	_, err := a.CommitIn(t.Context(), func(ctx ctx, old, next timeline.Claim) (timeline.Verdict, error) {
		land = func() {
			if ok, err := a.store.Swap(t.Context(), &old, next); !ok || err != nil {
				t.Error(ok, err)
			}
		}
		return timeline.Verdict{}, errStore
	})
	if err == nil {
		t.Fatal("no error")
	}
	a.clock.pass(time.Second)
	want(t, a.tick(), "x 12:00:00", "x 12:00:01")
	land()
	if ok, err := a.Commit(t.Context()); ok || err != nil {
		t.Fatalf("commit over a late own write: %v, %v", ok, err)
	}
	want(t, a.tick(), "x 12:00:01")
	a.commit()
	if c := a.store.record(t); c.Epoch != 1 || len(a.errors) > 0 {
		t.Errorf("the record is %+v, errors %q", c, a.errors)
	}
}

// With a store that never answers, every call returns in time and the goroutines left behind are bounded.
func TestDeadStoreIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newRig(t, lease6, row("x", "1", every(time.Second)))
		a.turn()
		forever := make(chan struct{})
		var asked atomic.Int64
		for i := range 20 {
			a.clock.pass(time.Second)
			_, err := a.CommitIn(t.Context(), func(ctx, timeline.Claim, timeline.Claim) (timeline.Verdict, error) {
				asked.Add(1)
				<-forever
				return timeline.Verdict{}, errStore
			})
			if i == 0 && err != nil {
				t.Fatal(err) // nothing is open
			}
			if _, _, err := a.Tick(t.Context()); err != nil && !errors.Is(err, timeline.ErrStoreTimeout) {
				t.Fatal(err)
			}
		}
		if n := asked.Load(); n == 0 || n > 8 {
			t.Errorf("%d calls are waiting", n)
		}
		close(forever)
		synctest.Wait()
		a.turn()
	})
}

// R-LEAD-12: a process that was restarted under its own token does not wait for its own lease.
func TestOwnOldClaimIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	o := lease6
	o.Token = "node-1"
	a := newRig(t, o, row("x", "1", every(time.Second)))
	a.turn()
	a.clock.pass(time.Second)
	again := a.beside(o)
	want(t, again.turn(), "x 12:00:00")
	if c := a.store.record(t); c.Epoch != 2 {
		t.Errorf("epoch %d", c.Epoch)
	}
	if ok, err := a.Commit(t.Context()); ok || err != nil {
		t.Errorf("nothing was open: %v, %v", ok, err)
	}
}

// R-LEAD-11.
func TestOptionsThatCannotWorkAreNamed(t *testing.T) {
	t.Parallel()
	for field, o := range map[string]timeline.Options{
		"Lease":        {Lease: 1999 * time.Millisecond},
		"StoreTimeout": {StoreTimeout: time.Minute},
		"Renew":        {Lease: 10 * time.Second, Renew: 9 * time.Second},
		"Lead":         {Lead: -1},
		"Sync":         {Sync: -1},
		"Snapshot":     {Snapshot: time.Second},
		"MaxPinned":    {MaxPinned: -1},
	} {
		_, err := timeline.New(&source{}, &store{}, o)
		if !errors.Is(err, timeline.ErrOptions) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, o := range []timeline.Options{{}, {Lease: 2 * time.Second}, {Lead: 2 * time.Second, Lease: 5 * time.Second, Pinned: true}} {
		if _, err := timeline.New(&source{}, &store{}, o); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
