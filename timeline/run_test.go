package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/trigger"
)

// A stage is a loop that Run drives in virtual time. The bubble's clock starts at a whole minute.
type stage struct {
	t         *testing.T
	loop      *timeline.Loop
	src       *source
	store     *store
	calls     []string // "05 a b": the second of the minute at which what was handed over
	errors    []string
	meanwhile func(due time.Time) error
}

func newStage(t *testing.T, o timeline.Options, rows ...timeline.Row) *stage {
	t.Helper()
	s := &stage{t: t, src: &source{rows: rows}, store: &store{}}
	s.join(o)
	return s
}

func (s *stage) join(o timeline.Options) {
	s.t.Helper()
	if o.OnError == nil {
		o.OnError = func(stage timeline.Stage, id string, err error) {
			s.errors = append(s.errors, fmt.Sprintf("%s %s: %v", stage, id, err))
		}
	}
	l, err := timeline.New(s.src, s.store, o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.loop = l
}

func (s *stage) deliver(_ context.Context, due time.Time, batch []timeline.Occurrence) error {
	text := time.Now().UTC().Format("05")
	if late := time.Since(due); late < 0 {
		s.t.Errorf("handed over %v before %v", -late, due)
	} else if late > time.Microsecond {
		text += "(" + due.Format("05") + ")"
	}
	for _, o := range batch {
		if !o.Due.Equal(due) {
			s.t.Errorf("%s was handed over with %v", o.Key(), due)
		}
		text += " " + o.ID
	}
	s.calls = append(s.calls, text)
	if s.meanwhile != nil {
		return s.meanwhile(due)
	}
	return nil
}

// runFor lets Run go on for d, then stops it and waits until it has returned.
func (s *stage) runFor(d time.Duration) error {
	s.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.loop.Run(s.t.Context(), s.deliver) }()
	time.Sleep(d) // of the bubble
	s.loop.Stop()
	return <-ended
}

func (s *stage) wants(calls ...string) {
	s.t.Helper()
	if !slices.Equal(s.calls, calls) {
		s.t.Errorf("handed over %q, want %q", s.calls, calls)
	}
}

func (s *stage) wantsReleased(covered time.Time) {
	s.t.Helper()
	c := s.store.record(s.t)
	if !c.ExpiresAt.IsZero() || c.CoveredUntil.Before(covered) {
		s.t.Errorf("the claim ends at %v and covers until %v, want it released and %v", c.ExpiresAt, c.CoveredUntil, covered)
	}
}

// R-LOOP-3, R-LOOP-7, R-DEL-3: one call for each due instant, in their order, with all that is due then; Stop from
// outside ends Run at once between two ticks, and leaves a released claim.
func TestRunHandsOverEachInstantOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := newStage(t, timeline.Options{}, row("b", "1", every(10*time.Second)), row("a", "1", every(5*time.Second)),
			row("c", "1", grid{step: 10 * time.Second, phase: 1500 * time.Millisecond}))
		if err := s.runFor(21200 * time.Millisecond); err != nil {
			t.Error(err)
		}
		s.wants("00 a b", "01 c", "05 a", "10 a b", "11 c", "15 a", "20 a b")
		if took := time.Since(began); took != 21200*time.Millisecond {
			t.Errorf("it ended after %v", took)
		}
		s.wantsReleased(began.Add(20 * time.Second))
		if len(s.errors) > 0 {
			t.Errorf("errors: %q", s.errors)
		}
	})
}

// R-DEL-1, R-DEL-2, R-WIN-9: with a lead what is selected is held until its instant, and a slow callback makes late what
// falls due meanwhile and nothing after it.
func TestRunHoldsUntilTheInstant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, timeline.Options{Lead: 8 * time.Second}, row("a", "1", every(2*time.Second)))
		s.meanwhile = func(due time.Time) error {
			if due.Second() == 4 {
				time.Sleep(3 * time.Second) // of the bubble
			}
			return nil
		}
		if err := s.runFor(9 * time.Second); err != nil {
			t.Error(err)
		}
		// Stop comes while up to 14 is held, and the current tick is completed.
		s.wants("00 a", "02 a", "04 a", "07(06) a", "08 a", "10 a", "12 a", "14 a")
	})
}

// R-LOOP-5, R-WIN-4: an error of the callback ends Run before the commit, and the tick is handed over again.
func TestCallbackErrorEndsRunBeforeTheCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := newStage(t, timeline.Options{}, row("a", "1", every(5*time.Second)))
		refuses := errors.New("the queue is full")
		s.meanwhile = func(due time.Time) error {
			if due.Second() == 5 {
				return refuses
			}
			return nil
		}
		if err := s.loop.Run(t.Context(), s.deliver); !errors.Is(err, refuses) {
			t.Fatalf("run: %v", err)
		}
		s.wants("00 a", "05 a")
		if c := s.store.record(t); !c.ExpiresAt.IsZero() || c.CoveredUntil.After(began.Add(5*time.Second)) {
			t.Errorf("the claim is %+v", c)
		}
		s.calls, s.meanwhile = nil, nil
		time.Sleep(2 * time.Second) // of the bubble
		if err := s.runFor(4 * time.Second); err != nil {
			t.Error(err)
		}
		s.wants("07(05) a", "10 a")
	})
}

// R-LOOP-7: Stop from the callback ends Run after the current tick, which may hold more.
func TestStopFromTheCallback(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, timeline.Options{Lead: 2 * time.Second}, row("a", "1", every(time.Second)))
		s.meanwhile = func(due time.Time) error {
			if due.Second() == 4 {
				s.loop.Stop()
				s.loop.Stop()
			}
			return nil
		}
		if err := s.loop.Run(t.Context(), s.deliver); err != nil {
			t.Error(err)
		}
		last := s.calls[len(s.calls)-1]
		if len(s.calls) < 5 || last < "04 a" || last > "06 a" {
			t.Errorf("handed over %q", s.calls)
		}
		covered := s.store.record(t).CoveredUntil
		if wanted := covered.Add(-time.Microsecond).Format("05"); last != wanted+" a" {
			t.Errorf("covered until %v, but %q was the last", covered, last)
		}
		s.wantsReleased(covered)
		if err := s.loop.Run(t.Context(), s.deliver); err != nil || s.calls[len(s.calls)-1] != last {
			t.Errorf("a stopped loop ran: %v, %q", err, s.calls)
		}
	})
}

// A context that ends cuts a hold short. What was handed over is committed, and the successor goes on from there (R-DEL-12).
func TestEndedContextLeavesTheRestToTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, timeline.Options{Lead: 10 * time.Second}, row("a", "1", every(4*time.Second)))
		ended := errors.New("the power is going")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Second, func() { cancel(ended) })
		if err := s.loop.Run(ctx, s.deliver); !errors.Is(err, ended) {
			t.Fatalf("run: %v", err)
		}
		s.wants("00 a", "04 a")
		s.calls = nil
		s.join(timeline.Options{})
		if err := s.runFor(8 * time.Second); err != nil {
			t.Error(err)
		}
		s.wants("08 a", "12 a")
	})
}

// R-DEL-7: a backlog is committed piece by piece, so that an error repeats little of it; and a definition that began within
// it is not covered from before.
func TestLongBacklogIsCommittedInPieces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := newStage(t, timeline.Options{})
		covered := timeline.Claim{Token: "before", CoveredUntil: began, SyncedUntil: began}
		if ok, err := s.store.Claims.Swap(t.Context(), nil, covered); !ok || err != nil {
			t.Fatal(ok, err)
		}
		time.Sleep(100 * time.Second) // of the bubble
		// The watermark is at 0 and two definitions began later, of which one has no other coverage but its own.
		s.src.set(active(row("a", "1", every(10*time.Second)), began.Add(-time.Hour)))
		s.src.set(active(row("b", "1", every(10*time.Second)), began.Add(75*time.Second)))
		var calls ledger
		broken := false
		run := func() error {
			return s.loop.Run(t.Context(), func(ctx context.Context, due time.Time, batch []timeline.Occurrence) error {
				time.Sleep(400 * time.Millisecond) // of the bubble
				if !broken && due.Equal(began.Add(90*time.Second)) {
					broken = true
					return errSource
				}
				if due.Equal(began.Add(100 * time.Second)) {
					s.loop.Stop()
				}
				return calls.deliver(ctx, due, batch)
			})
		}
		if err := run(); !errors.Is(err, errSource) {
			t.Fatal(err)
		}
		// A tick of a second has three calls of 0.4 s: 0 to 20, 30 to 50, 60 to 80; and the fourth fails with its first.
		if c := s.store.record(t); !c.CoveredUntil.Equal(began.Add(90 * time.Second)) {
			t.Errorf("covered until %v", c.CoveredUntil)
		}
		if err := run(); err != nil {
			t.Error(err)
		}
		calls.wantOnce(t, "a", every(10*time.Second), began, began.Add(101*time.Second))
		calls.wantOnce(t, "b", every(10*time.Second), began.Add(75*time.Second), began.Add(101*time.Second))
		if calls.total() != 11+3 {
			t.Errorf("%d were handed over: %v", calls.total(), calls.times)
		}
	})
}

// R-DEL-4, R-DEL-8, R-REC-16: while an occurrence is held, definitions go on being read. One that was paused, deleted or
// rewritten meanwhile is not handed over under its old definition, from the instant of the change on.
func TestHeldOccurrencesFollowTheirDefinitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		at := func(seconds int) trigger.Trigger { return trigger.At(began.Add(time.Duration(seconds) * time.Second)) }
		s := newStage(t, timeline.Options{Lead: 20 * time.Second, Sync: time.Second},
			row("deleted", "1", at(12)), row("kept", "1", at(12)), row("paused", "1", at(12)), row("moved", "1", every(3*time.Second)))
		paused := row("paused", "2", nil)
		paused.Inactive = true
		time.AfterFunc(6500*time.Millisecond, func() {
			s.src.change(func(src *source) {
				src.delete("deleted")
				src.set(paused)
				src.set(active(row("moved", "2", every(4*time.Second)), began.Add(6500*time.Millisecond)))
			})
		})
		if err := s.runFor(15 * time.Second); err != nil {
			t.Error(err)
		}
		// The tick that began at 0 was held until 12; what the new definition owed by then came after it.
		s.wants("00 moved", "03 moved", "06 moved", "12 kept", "12(08) moved", "12 moved", "16 moved",
			"20 moved", "24 moved", "28 moved")
		if len(s.errors) > 0 {
			t.Errorf("errors: %q", s.errors)
		}
	})
}

// R-DEL-5, R-LEAD-10: a loop that loses its claim while it holds hands over nothing more of the tick.
func TestDeposedWhileHolding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, timeline.Options{Lead: 10 * time.Second}, row("a", "1", every(5*time.Second)))
		time.AfterFunc(7*time.Second, func() {
			old := s.store.record(t)
			next := old
			next.Token, next.Nonce, next.Epoch = "somebody else", "theirs", old.Epoch+1
			next.ExpiresAt = time.Now().Add(5 * time.Minute)
			if ok, err := s.store.Claims.Swap(context.Background(), &old, next); !ok || err != nil {
				t.Error(ok, err)
			}
		})
		if err := s.runFor(30 * time.Second); err != nil {
			t.Error(err)
		}
		s.wants("00 a", "05 a")
		if s.store.record(t).Token != "somebody else" || len(s.errors) == 0 {
			t.Errorf("the claim is %+v, errors %q", s.store.record(t), s.errors)
		}
	})
}

// R-LEAD-8, R-LOOP-12: a hold that is longer than the lease renews it, so that a standby stays one.
func TestHoldRenewsTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		o := timeline.Options{Lead: 60 * time.Second, Lease: 122 * time.Second, Renew: 2 * time.Second, StoreTimeout: time.Second}
		s := newStage(t, o, row("a", "1", trigger.At(began.Add(50*time.Second))))
		standby := &stage{t: t, src: s.src, store: s.store}
		standby.join(timeline.Options{})
		go func() { _ = standby.loop.Run(t.Context(), standby.deliver) }()
		synctest.Wait()
		standby.loop.Stop()
		synctest.Wait()
		if err := s.runFor(55 * time.Second); err != nil {
			t.Error(err)
		}
		s.wants("50 a")
		if s.store.tried < 50/2 {
			t.Errorf("%d swaps in 50 s", s.store.tried)
		}
	})
}

// R-LOOP-6, R-LOOP-17: with an OnError the last good view goes on when the source fails; without one Run returns what
// failed, a read as well as a row.
func TestRunRaisesWithoutOnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		breaks  func(*source)
		message string
	}{
		{"read", func(s *source) { s.failAt = 1 }, "timeline: read definitions: the source is broken"},
		{"row", func(s *source) {
			s.broken = map[string]error{"b": errSource}
			s.set(row("b", "2", every(time.Second)))
		}, `timeline: make "b": the source is broken`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, timeline.Options{Sync: 10 * time.Second}, row("a", "1", every(5*time.Second)), row("b", "1", every(time.Hour)))
				time.AfterFunc(12*time.Second, func() { s.src.change(c.breaks) })
				if err := s.runFor(26 * time.Second); err != nil || len(s.errors) != 1 {
					t.Errorf("with OnError: %v, %q", err, s.errors)
				}
				s.wants("00 a b", "05 a", "10 a", "15 a", "20 a", "25 a")

				l, err := timeline.New(s.src, s.store, timeline.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if err := l.Run(t.Context(), s.deliver); !errors.Is(err, errSource) || err.Error() != c.message {
					t.Errorf("without: %v", err)
				}
			})
		})
	}
}

// R-LOOP-2: ticks stand on the clock. A follower looks at whole multiples of Tick, whatever its own work takes.
func TestTicksStandOnTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond) // of the bubble
		s := newStage(t, timeline.Options{})
		var commits []string
		s.join(timeline.Options{Tick: 2 * time.Second, Metrics: observer(func(signal timeline.Signal, _ timeline.Stage, _ float64, _ int) {
			if signal == timeline.SignalTick {
				commits = append(commits, time.Now().UTC().Format("05.000"))
				time.Sleep(700 * time.Millisecond) // of the bubble
			}
		})})
		if err := s.runFor(9 * time.Second); err != nil {
			t.Error(err)
		}
		if !slices.Equal(commits, []string{"02.000", "04.000", "06.000", "08.000"}) {
			t.Errorf("committed at %q", commits)
		}
	})
}

// R-LEAD-19: a second Run at the same time is refused, and so is Run with pins.
func TestRunIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, timeline.Options{}, row("a", "1", every(time.Second)))
		s.meanwhile = func(time.Time) error {
			defer s.loop.Stop()
			return s.loop.Run(t.Context(), s.deliver)
		}
		if err := s.loop.Run(t.Context(), s.deliver); !errors.Is(err, timeline.ErrRunning) {
			t.Errorf("a second Run: %v", err)
		}
		s.join(timeline.Options{Pinned: true})
		if err := s.loop.Run(t.Context(), s.deliver); !errors.Is(err, timeline.ErrOptions) {
			t.Errorf("Run with pins: %v", err)
		}
	})
}
