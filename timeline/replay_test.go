package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/timeline"
)

// The defects that other schedulers had, replayed: an evaluation that raced with a boundary, a gap that nobody owned over
// a restart, a deletion that nobody saw (R-TST-7), and a phase that creeps (R-TST-2).

// A ledger counts what was handed over, by key.
type ledger struct {
	mu    sync.Mutex
	times map[string]int
	late  map[string]time.Duration
}

func (l *ledger) deliver(_ context.Context, due time.Time, batch []timeline.Occurrence) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.times == nil {
		l.times, l.late = map[string]int{}, map[string]time.Duration{}
	}
	for _, o := range batch {
		l.times[o.Key()]++
		l.late[o.Key()] = time.Since(due)
	}
	return nil
}

// wantOnce checks that one schedule was handed over exactly once for each instant of [from, to), as the grid has them.
func (l *ledger) wantOnce(t *testing.T, id string, g grid, from, to time.Time) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for due := range g.Between(from, to) {
		if n := l.times[(timeline.Occurrence{ID: id, Due: due}).Key()]; n != 1 {
			t.Errorf("%s at %s was handed over %d times", id, due.Format("15:04:05.000"), n)
		}
	}
}

func (l *ledger) total() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, times := range l.times {
		n += times
	}
	return n
}

// R-TST-2, R-LOOP-2, R-WIN-1: by hand, with a phase that creeps by 1.5 ms a tick for an hour, over 60 minute boundaries and
// through the whole second 3.6 times over. Every minute is handed over once: arithmetic says 60.
func TestCreepingPhaseMissesNoBoundary(t *testing.T) {
	t.Parallel()
	r := newRig(t, timeline.Options{}, row("minutely", "1", every(time.Minute)))
	r.turn()
	seen := map[string]int{}
	for range 3600 {
		r.clock.pass(time.Second + 1500*time.Microsecond)
		r.reconcile()
		for _, o := range r.turn().Occurrences() {
			seen[o.Key()]++
		}
	}
	// 3600 ticks end at 13:00:05.4: the minutes from 12:00 to 13:00, both included.
	if len(seen) != 61 {
		t.Errorf("%d minutes were seen, want 61", len(seen))
	}
	for key, n := range seen {
		if n != 1 {
			t.Errorf("%s was handed over %d times", key, n)
		}
	}
}

// R-TST-2, R-LOOP-4: Run with work that takes a little longer each time. The phase does not follow it: no occurrence is later than
// the work that was going on when it fell due.
func TestCreepingWorkDoesNotMoveThePhase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var calls ledger
		work := time.Duration(0)
		l, err := timeline.New(&source{rows: []timeline.Row{row("a", "1", every(time.Second)), row("minutely", "1", every(time.Minute))}},
			&store{}, timeline.Options{Lease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			ended <- l.Run(t.Context(), func(ctx context.Context, due time.Time, batch []timeline.Occurrence) error {
				err := calls.deliver(ctx, due, batch)
				work = (work + 1500*time.Microsecond) % time.Second
				time.Sleep(work) // of the bubble
				return err
			})
		}()
		time.Sleep(time.Hour + 500*time.Millisecond) // of the bubble
		l.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		calls.wantOnce(t, "a", every(time.Second), began, began.Add(time.Hour))
		calls.wantOnce(t, "minutely", every(time.Minute), began, began.Add(time.Hour))
		for key, late := range calls.late {
			if late > time.Microsecond {
				t.Errorf("%s was %v late", key, late)
			}
		}
	})
}

// R-TST-3: 10,000 mixed schedules under ticks that jitter, over ten minutes, each occurrence exactly once. Division says
// how many there are.
func TestTenThousandUnderJitteryTicks(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	r := newRig(t, timeline.Options{})
	steps := []time.Duration{time.Second * 15, time.Minute, 97 * time.Second, 5 * time.Minute, time.Hour}
	for i := range 10_000 {
		g := grid{step: steps[i%len(steps)], phase: time.Duration(rng.Int64N(int64(time.Hour)/1000)) * time.Microsecond}
		r.src.rows = append(r.src.rows, row(fmt.Sprintf("s%05d", i), "1", g))
	}
	r.turn()
	seen := map[string]int{}
	last := map[string]time.Time{}
	for end := noon.Add(10 * time.Minute); r.clock.Now().Before(end); {
		r.clock.pass(time.Duration(rng.Int64N(int64(1900*time.Millisecond))) + 1)
		for _, o := range r.turn().Occurrences() {
			seen[o.ID]++
			if !o.Due.After(last[o.ID]) {
				t.Fatalf("%s came after %v", o.Key(), last[o.ID])
			}
			last[o.ID] = o.Due
		}
	}
	covered := r.store.record(t).CoveredUntil
	for _, row := range r.src.rows {
		if wanted := row.Data.(grid).count(noon, covered); seen[row.ID] != wanted {
			t.Errorf("%s was handed over %d times, want %d", row.ID, seen[row.ID], wanted)
		}
	}
}

// R-TST-7: whoever evaluates "is it due now" just before and just after a boundary loses what lies between. Ticks stand
// within a microsecond of the boundary on either side here.
func TestBoundaryIsNeitherLostNorDoubled(t *testing.T) {
	t.Parallel()
	for _, steps := range [][]time.Duration{
		{59999999 * time.Microsecond, 2 * time.Microsecond},
		{time.Minute, time.Microsecond},
		{time.Minute - 1, 1, 1},
		{time.Minute, time.Minute},
		{time.Minute + 1, time.Minute - 1},
	} {
		r := newRig(t, timeline.Options{}, row("a", "1", every(time.Minute)))
		r.clock.pass(time.Microsecond)
		r.turn()
		seen := map[string]int{}
		for _, step := range steps {
			for _, part := range []time.Duration{step - time.Microsecond, time.Microsecond} {
				r.clock.pass(part)
				for _, o := range r.turn().Occurrences() {
					seen[o.Key()]++
				}
			}
		}
		for due := range every(time.Minute).Between(noon.Add(time.Microsecond), r.store.record(t).CoveredUntil) {
			if n := seen[(timeline.Occurrence{ID: "a", Due: due}).Key()]; n != 1 {
				t.Errorf("%v: %v was handed over %d times", steps, due, n)
			}
		}
	}
}

// R-TST-7, R-LEAD-9, R-KEY-5: what falls due between the end of one process and the start of the next is nobody's unless
// somebody keeps where the first one stopped. Here processes are stopped, or die while they hand over, and each successor
// goes on from the watermark: nothing is missing, and what was handed over twice has the same key.
func TestNobodysGapOverARestart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var calls ledger
		s := &store{}
		for n := range 20 {
			l, err := timeline.New(&source{rows: []timeline.Row{row("a", "1", every(time.Second))}}, s, timeline.Options{
				OnError: func(timeline.Stage, string, error) {},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- l.Run(ctx, calls.deliver) }()
			time.Sleep(time.Duration(3+n%4)*time.Second + 300*time.Millisecond) // of the bubble
			if n%2 == 0 {
				s.plan(nil, []fault{fails, fails, fails}) // it dies without a word: neither a commit nor a release arrives
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			s.plan(nil, nil)
			time.Sleep(time.Duration(n) * time.Second) // of the bubble; nobody runs
		}
		covered := s.record(t).CoveredUntil
		missing := 0
		for due := range every(time.Second).Between(began, covered) {
			if calls.times[(timeline.Occurrence{ID: "a", Due: due}).Key()] == 0 {
				missing++
			}
		}
		if missing > 0 || covered.Sub(began) < 200*time.Second {
			t.Errorf("%d are missing until %v", missing, covered)
		}
	})
}

// R-TST-7, R-REC-2: a row that is simply gone is seen with the next full read, though no feed of changes shows it.
func TestHardDeleteIsSeen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &feed{}
		f.rows = []timeline.Row{row("a", "1", every(5*time.Second)), row("b", "1", every(5*time.Second))}
		var calls ledger
		l, err := timeline.New(f, &store{}, timeline.Options{Sync: 5 * time.Second, Snapshot: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.AfterFunc(7*time.Second, func() { f.change(func(s *source) { s.delete("a") }) })
		ended := make(chan error, 1)
		go func() { ended <- l.Run(t.Context(), calls.deliver) }()
		time.Sleep(60 * time.Second) // of the bubble
		if n := l.Count(); n != 1 {
			t.Errorf("%d are loaded", n)
		}
		l.Stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		// At 0, 5, 10 and 15; at 20 the full set is read before anything is handed over.
		calls.wantOnce(t, "a", every(5*time.Second), began, began.Add(20*time.Second))
		calls.wantOnce(t, "b", every(5*time.Second), began, began.Add(60*time.Second))
		if calls.total() != 4+12 {
			t.Errorf("%d were handed over", calls.total())
		}
	})
}

// A store that loses its record while loops live costs nothing: they go on from what they know (R-WIN-7 is for a first
// start). One that comes back with an older record costs repeats with the same keys.
func TestVanishedRecordIsRemembered(t *testing.T) {
	t.Parallel()
	for _, older := range []bool{false, true} {
		r := newRig(t, timeline.Options{}, row("a", "1", every(10*time.Second)))
		r.turn()
		r.clock.pass(11 * time.Second)
		want(t, r.turn(), "a 12:00:00", "a 12:00:10")
		before := r.store.record(t)
		r.store.forget()
		if older {
			backup := before
			backup.CoveredUntil, backup.Nonce = noon.Add(5*time.Second), "backup"
			if ok, err := r.store.Claims.Swap(t.Context(), nil, backup); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		r.clock.pass(20 * time.Second)
		wanted := []string{"a 12:00:20", "a 12:00:30"}
		if older {
			wanted = append([]string{"a 12:00:10"}, wanted...)
		}
		r.follows() // the renewal is refused
		want(t, r.turn(), wanted...)
		if c := r.store.record(t); c.Epoch != before.Epoch+1 {
			t.Errorf("epoch %d after %d", c.Epoch, before.Epoch)
		}
	}
}
