package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/sqlite"
	"github.com/belfryhq/belfry/timeline"
)

// held runs fn while somebody else has the write lock. In the bubble the store's waiting for it costs no time.
func held(t *testing.T, l *ledger, fn func(release func())) {
	t.Helper()
	db := raw(t, l.path)
	do(t, db, `BEGIN IMMEDIATE`)
	release := sync.OnceFunc(func() { do(t, db, `ROLLBACK`) })
	defer release()
	fn(release)
}

// A process that was stopped inside a transaction must not hang the others: they are told that it is busy.
func TestADatabaseThatStaysLockedIsBusyAfterFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t, 1)
		held(t, l, func(func()) {
			began := time.Now()
			err := l.Beat(t.Context(), store.Node{ID: l.node}, time.Minute)
			if !errors.Is(err, store.ErrBusy) {
				t.Errorf("error is %v", err)
			}
			if waited := time.Since(began); waited < 5*time.Second || waited > 6*time.Second {
				t.Errorf("waited %v", waited)
			}
		})
		l.must(l.Beat(t.Context(), store.Node{ID: l.node}, time.Minute))
	})
}

// One planner's poisoned plan and a node's heartbeat may share a transaction; they must not share its failure (A8).
func TestOneCallersPoisonIsNotAnothers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t, 1)
		l.commit(2)
		runs := l.take(2)
		poison := store.Commit{Old: l.claim, Next: l.claim, Plans: []store.Plan{{Schedule: l.ids[0], Change: l.changes[l.ids[0]], Gaps: []run.Gap{
			{ID: run.GapID(l.newID()), Schedule: l.ids[0], Reason: run.Missed, First: start, Last: start, Count: 1},
			{ID: run.GapID(l.newID()), Schedule: l.ids[0], Reason: run.Missed, First: start, Last: start, Count: 1},
		}}}}
		poison.Next.Nonce = "poisoned"
		var all sync.WaitGroup
		held(t, l, func(release func()) {
			all.Go(func() { l.must(l.Beat(t.Context(), store.Node{ID: l.node}, time.Minute)) }) // holds the turn while the rest gathers
			time.Sleep(time.Millisecond)
			all.Go(func() {
				if _, err := l.Commit(t.Context(), poison); !errors.Is(err, store.ErrPoison) {
					t.Errorf("the poisoned commit: %v", err)
				}
			})
			all.Go(func() { l.settle(runs) })
			synctest.Wait()
			release()
		})
		all.Wait()
		for _, r := range runs {
			if got, err := l.Run(t.Context(), r.ID); err != nil || got.Status != run.Succeeded {
				t.Errorf("the run beside the poison is %v (%v)", got.Status, err)
			}
		}
		if claim, _, err := l.Planner(t.Context(), 0); err != nil || claim.Nonce == "poisoned" {
			t.Errorf("the poisoned commit wrote its claim (%v)", err)
		}
	})
}

// A caller that gives up while its write still waits has written nothing; one that gives up later is told the truth.
func TestAWriteThatWasGivenUpBeforeItBeganIsNotWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t, 1)
		var all sync.WaitGroup
		held(t, l, func(release func()) {
			all.Go(func() { l.must(l.Beat(t.Context(), store.Node{ID: l.node}, time.Minute)) })
			time.Sleep(time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			next := l.claim
			next.Nonce = "given up"
			if swapped, err := l.For(0).Swap(ctx, &l.claim, next); swapped || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("swapped %v, error %v", swapped, err)
			}
			release()
		})
		all.Wait()
		if claim, _, err := l.Planner(t.Context(), 0); err != nil || claim.Nonce != l.claim.Nonce {
			t.Errorf("the claim has nonce %q (%v)", claim.Nonce, err)
		}
	})
}

// A panic of the counter is one call's error; the store goes on.
func TestACounterThatPanicsIsAnErrorOfOneCall(t *testing.T) {
	t.Parallel()
	count := func(schedule.ID, []byte, time.Time, time.Time) (int, time.Time, time.Time) { panic("no such zone") }
	l := newLedgerWith(t, filepath.Join(t.TempDir(), "belfry.db"), 1, sqlite.Options{Count: count, Poll: -1})
	_, err := l.Pause(t.Context(), l.ids[0], schedule.Pause{By: "x"})
	l.must(err)
	if _, err := l.Resume(t.Context(), l.ids[0], "x", false); err == nil || !strings.Contains(err.Error(), "no such zone") {
		t.Errorf("error is %v", err)
	}
	_, err = l.Resume(t.Context(), l.ids[0], "x", true)
	l.must(err)
}

// PROTOCOL B20: a second process learns of a commit within the poll interval, and the same process at once.
func TestCommitsWakeThisProcessAtOnceAndOthersWithinThePollInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "belfry.db")
		l := newLedgerWith(t, path, 1, sqlite.Options{Count: noCount, Clock: clock.Bubble{}})
		other, err := sqlite.Open(t.Context(), path, sqlite.Options{Count: noCount, Clock: clock.Bubble{}})
		l.must(err)
		defer other.Close()
		ctx, cancel := context.WithCancel(t.Context())
		here, there := l.Wake(ctx), other.Wake(ctx)
		time.Sleep(time.Second)
		drain(here)
		drain(there)
		began := time.Now()
		l.commit(1)
		<-here
		if waited := time.Since(began); waited != 0 {
			t.Errorf("this process was woken after %v", waited)
		}
		<-there
		if waited := time.Since(began); waited > 50*time.Millisecond {
			t.Errorf("the other process was woken after %v", waited)
		}
		time.Sleep(time.Second)
		drain(here)
		select {
		case <-there:
			t.Error("a hint without a commit")
		case <-time.After(time.Minute):
		}
		cancel()
		for range here { // closed when ctx ends
		}
		for range there {
		}
	})
}

func drain(hints <-chan struct{}) {
	select {
	case <-hints:
	default:
	}
}

// Everything works in a bubble: the simulations of the loops run on this store for a virtual day.
func TestTheStoreRunsInABubbleWithTheBubblesClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedgerWith(t, filepath.Join(t.TempDir(), "belfry.db"), 3, sqlite.Options{Count: noCount, Clock: clock.Bubble{}, Poll: -1})
		time.Sleep(time.Hour)
		now, err := l.Now(t.Context())
		l.must(err)
		if !now.Equal(time.Now().Truncate(time.Microsecond)) {
			t.Errorf("the store's clock shows %v, the bubble's %v", now, time.Now())
		}
		next := timeline.Claim{Token: "b", Epoch: 2, Nonce: "b", CoveredUntil: now}
		if swapped, err := l.For(0).Swap(t.Context(), &l.claim, next); !swapped || err != nil {
			t.Errorf("swapped %v, error %v", swapped, err)
		}
	})
}

// Outcomes must not hold up the claim's renewal: what arrives while a group is under way goes into the next one, in as
// few commits as fit.
func TestConcurrentSettlesAreAllRecorded(t *testing.T) {
	t.Parallel()
	l := newLedger(t, 10)
	l.commit(400)
	runs := l.take(400)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() { l.settle(runs[i*10 : (i+1)*10]) })
	}
	all.Wait()
	db := raw(t, l.path)
	if n := text(t, db, `SELECT COUNT(*) FROM belfry_runs WHERE status = 7 AND attempt = 1 AND lease_node IS NULL AND ready_at IS NULL`); n != "400" {
		t.Errorf("%s runs succeeded, want 400", n)
	}
	if ok := text(t, db, `PRAGMA integrity_check`); ok != "ok" {
		t.Error(ok)
	}
}

// D30: two processes share the work of one file. Neither may starve the other at the write lock: each gets at least a
// fifth of what there is.
func TestTwoHandlesShareTheWork(t *testing.T) {
	t.Parallel()
	const runs = 2000
	l := newLedger(t, 100)
	for range runs / 500 {
		l.commit(500)
	}
	var shares [2]int
	var all sync.WaitGroup
	for i := range shares {
		s, err := sqlite.Open(t.Context(), l.path, sqlite.Options{Count: noCount, Clock: l.clk, Poll: -1})
		l.must(err)
		defer s.Close()
		w := &ledger{TB: t, Store: s, clk: l.clk, node: run.NodeID{byte(i + 1)}}
		l.must(s.Beat(t.Context(), store.Node{ID: w.node}, time.Hour))
		all.Go(func() {
			for taken := w.take(16); len(taken) > 0; taken = w.take(16) {
				w.settle(taken)
				shares[i] += len(taken)
			}
		})
	}
	all.Wait()
	if shares[0]+shares[1] != runs || min(shares[0], shares[1]) < runs/5 {
		t.Errorf("the two settled %v of %d runs", shares, runs)
	}
	t.Logf("shares %v", shares)
}
