package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/timeline"
)

// A database is what the engine has: one lock over the claim, the pins and a ledger, so that a window is settled with
// its claim or not at all. It fails in every way that the loop has to survive.
type database struct {
	store
	rng    *rand.Rand
	lock   sync.Mutex
	grids  map[string]grid
	pins   map[string]time.Time
	ledger map[string]int
	late   []func() // transactions whose client gave up on them
}

func (d *database) Snapshot(context.Context) iter.Seq2[timeline.Row, error] {
	return func(yield func(timeline.Row, error) bool) {
		d.lock.Lock()
		defer d.lock.Unlock()
		breaks := d.rng.IntN(10) == 0
		for id := range d.grids {
			if breaks && d.rng.IntN(100) == 0 {
				yield(timeline.Row{}, errSource)
				return
			}
			if !yield(timeline.Row{ID: id, Version: "1", Pin: d.pins[id]}, nil) {
				return
			}
		}
	}
}

func (d *database) Make(_ context.Context, r timeline.Row) (timeline.Entry, error) {
	return timeline.Entry{Trigger: d.grids[r.ID]}, nil
}

// settle is the transaction: it holds some schedules back, as a planner does with a backlog.
func (d *database) settle(w timeline.Window) timeline.Swapper {
	write := func(old, next timeline.Claim, hold map[string]time.Time) (timeline.Verdict, error) {
		d.lock.Lock()
		defer d.lock.Unlock()
		swapped, err := d.Claims.Swap(context.Background(), &old, next)
		if err != nil || !swapped {
			return timeline.Verdict{}, err
		}
		for _, s := range w.Stretches {
			to, held := hold[s.ID]
			if !held {
				to = s.To
			}
			for due := range s.Trigger.Between(s.From, to) {
				d.ledger[s.ID+"@"+due.Format(time.RFC3339)]++
			}
			if delete(d.pins, s.ID); held {
				d.pins[s.ID] = to
			}
		}
		return timeline.Verdict{Swapped: true, Pinned: hold}, nil
	}
	return func(_ context.Context, old, next timeline.Claim) (timeline.Verdict, error) {
		hold := map[string]time.Time{}
		for _, s := range w.Stretches {
			if d.rng.IntN(4) == 0 {
				at := s.From.Add(time.Duration(d.rng.Int64N(int64(s.To.Sub(s.From)) + 1)))
				hold[s.ID] = at.Truncate(time.Microsecond)
				if hold[s.ID].Before(s.From) {
					hold[s.ID] = s.From
				}
			}
		}
		switch d.rng.IntN(12) {
		case 0:
			return timeline.Verdict{}, errStore // nothing written
		case 1:
			_, _ = write(old, next, hold)
			return timeline.Verdict{}, errStore // written, the answer lost
		case 2:
			d.late = append(d.late, func() { _, _ = write(old, next, hold) })
			return timeline.Verdict{}, errStore // perhaps written later
		}
		return write(old, next, hold)
	}
}

// R-WIN-3, R-LEAD-6, R-LEAD-10, R-TST-3, S-004: three loops on one database, with lost replies, late writes, failing
// reads, freezes, releases, restarts, schedules held back and clocks that are set. Every occurrence up to the watermark
// is in the ledger exactly once, less what is pinned. Division says which those are.
func TestEveryOccurrenceIsSettledOnce(t *testing.T) {
	t.Parallel()
	for n := range 6 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("%d", n), func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", seed)
			runModel(t, rand.New(rand.NewPCG(seed, 1)))
		})
	}
}

func runModel(t *testing.T, rng *rand.Rand) {
	d := &database{rng: rng, grids: map[string]grid{}, pins: map[string]time.Time{}, ledger: map[string]int{}}
	for i := range 200 {
		d.grids[fmt.Sprintf("s%03d", i)] = grid{step: time.Duration(1+rng.IntN(60)) * time.Second}
	}
	first := timeline.Claim{Token: "nobody", CoveredUntil: noon, SyncedUntil: noon}
	if ok, err := d.Claims.Swap(t.Context(), nil, first); !ok || err != nil {
		t.Fatal(ok, err)
	}
	c := newClock(noon)
	o := engine
	o.MaxPinned = 20
	start := func() *rig {
		r := &rig{t: t, clock: c, store: &d.store}
		r.join(d, o)
		return r
	}
	loops := []*rig{start(), start(), start()}
	commits := 0
	for range 1000 {
		c.pass(time.Duration(rng.Int64N(int64(800 * time.Millisecond))))
		i := rng.IntN(len(loops))
		switch rng.IntN(60) {
		case 0:
			loops[i] = start() // killed
		case 1:
			c.step(time.Duration(rng.Int64N(int64(4*time.Second))) - 2*time.Second)
		case 2:
			c.pass(time.Duration(rng.Int64N(int64(15 * time.Second))))
		case 3:
			_ = loops[i].Release(t.Context())
		case 4:
			d.store.plan([]fault{fails}, []fault{fails, loses})
		case 5, 6, 7, 8:
			for _, land := range d.late {
				land()
			}
			d.late = nil
		}
		if stepModel(t, d, loops[i]) {
			commits++
		}
	}
	d.store.plan(nil, nil)
	checkModel(t, d)
	if commits < 60 {
		t.Errorf("%d commits only: the test shows little", commits)
	}
}

func stepModel(t *testing.T, d *database, r *rig) bool {
	before, had, _ := d.Claims.Load(t.Context())
	_ = r.Reconcile(t.Context())
	w, leads, _ := r.Tick(t.Context())
	if !leads {
		return false
	}
	if d.rng.IntN(10) == 0 {
		return false // frozen, with a window open
	}
	ok, err := r.CommitIn(t.Context(), d.settle(w))
	if err != nil && !errors.Is(err, errStore) && !errors.Is(err, timeline.ErrFenced) && !errors.Is(err, timeline.ErrNotLeader) {
		t.Fatal(err)
	}
	after, _, _ := d.Claims.Load(t.Context())
	if had && after.CoveredUntil.Before(before.CoveredUntil) {
		t.Fatalf("the watermark went from %v to %v", before.CoveredUntil, after.CoveredUntil)
	}
	return ok
}

func checkModel(t *testing.T, d *database) {
	t.Helper()
	watermark := d.record(t).CoveredUntil
	total := 0
	for id, g := range d.grids {
		to := watermark
		if pin, pinned := d.pins[id]; pinned && pin.Before(to) {
			to = pin
		}
		for due := range g.Between(noon, to) {
			total++
			if n := d.ledger[id+"@"+due.Format(time.RFC3339)]; n != 1 {
				t.Errorf("%s at %v is settled %d times", id, due, n)
			}
		}
	}
	if total == 0 || len(d.ledger) != total {
		t.Errorf("%d in the ledger, %d settled by arithmetic", len(d.ledger), total)
	}
}

// R-REC-11, R-REC-13, R-REC-15, R-LEAD-9, R-LEAD-10: the pure mode in the same weather, while definitions are added all
// the time. Each occurrence from a definition's start on is handed over at least once, and none from before it.
func TestPureModeLosesNothing(t *testing.T) {
	t.Parallel()
	for n := range 6 {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("%d", n), func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", seed)
			runPure(t, rand.New(rand.NewPCG(seed, 1)))
		})
	}
}

func runPure(t *testing.T, rng *rand.Rand) {
	r := newRig(t, timeline.Options{})
	o := timeline.Options{Recover: -1, Lease: 5 * time.Second, Sync: 3 * time.Second, Lead: time.Duration(rng.IntN(2)) * time.Second}
	began := map[string]time.Time{}
	seen := map[string]bool{}
	add := func() {
		id := fmt.Sprintf("s%04d", len(began))
		began[id] = r.clock.Now()
		r.src.set(active(row(id, "1", every(time.Duration(1+rng.IntN(90))*time.Second)), r.clock.Now()))
	}
	start := func() *rig {
		other := &rig{t: t, clock: r.clock, store: r.store}
		other.join(r.src, o)
		return other
	}
	loops := []*rig{start(), start(), start()}
	loops[0].turn()
	turn := func(l *rig) {
		_ = l.Reconcile(t.Context())
		w, leads, _ := l.Tick(t.Context())
		if !leads {
			return
		}
		for _, o := range w.Occurrences() {
			if seen[o.Key()] = true; o.Due.Before(began[o.ID]) {
				t.Errorf("%s is from before %v", o.Key(), began[o.ID])
			}
		}
		if rng.IntN(10) > 0 {
			_, _ = l.Commit(t.Context())
		}
	}
	for range 1000 {
		r.clock.pass(time.Duration(rng.Int64N(int64(800 * time.Millisecond))))
		i := rng.IntN(len(loops))
		switch rng.IntN(40) {
		case 0:
			loops[i] = start()
		case 1:
			r.clock.pass(time.Duration(rng.Int64N(int64(15 * time.Second))))
		case 2:
			_ = loops[i].Release(t.Context())
		case 3:
			r.store.plan([]fault{fails}, []fault{fails, loses})
		case 4:
			r.src.failAt = rng.IntN(len(r.src.rows) + 1)
		case 5, 6, 7, 8, 9:
			r.src.failAt = 0
			add()
		}
		turn(loops[i])
	}
	r.store.plan(nil, nil)
	r.src.failAt = 0
	for range 10 {
		r.clock.pass(5 * time.Second)
		turn(loops[0])
	}
	for _, src := range r.src.rows {
		for due := range src.Data.(grid).Between(began[src.ID], r.store.record(t).CoveredUntil) {
			if key := (timeline.Occurrence{ID: src.ID, Due: due}).Key(); !seen[key] {
				t.Errorf("%s was never handed over", key)
			}
		}
	}
	if len(seen) < 1000 {
		t.Errorf("%d handed over only: the test shows little", len(seen))
	}
}

// A loop driven by NextWake alone is not late by more than the microsecond that a half-open window needs, and does not
// wake for nothing.
func TestNextWakeIsEnough(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		src := &source{rows: []timeline.Row{row("a", "1", every(7*time.Second)), row("b", "1", every(13*time.Second))}}
		l, err := timeline.New(src, &store{}, timeline.Options{Sync: time.Minute, Lease: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		turns, seen := 0, 0
		for time.Since(began) < 10*time.Minute {
			turns++
			if err := l.Reconcile(t.Context()); err != nil {
				t.Fatal(err)
			}
			w, ok, err := l.Tick(t.Context())
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			for _, o := range w.Occurrences() {
				seen++
				if late := time.Since(o.Due); late < 0 || late > time.Microsecond {
					t.Errorf("%s is %v late", o.Key(), late)
				}
			}
			if len(w.Stretches) > 0 {
				if ok, err := l.Commit(t.Context()); err != nil || !ok {
					t.Fatal(ok, err)
				}
			}
			time.Sleep(time.Until(l.NextWake())) // of the bubble
		}
		wanted := every(7*time.Second).count(began, time.Now()) + every(13*time.Second).count(began, time.Now())
		if seen < wanted-2 || seen > wanted || turns > wanted+10+2 { // one more for each sync
			t.Errorf("%d seen in %d turns, want %d", seen, turns, wanted)
		}
	})
}

// PROTOCOL A9: the planner sets a watermark that ran ahead back, under a new epoch; the loop goes on from there.
func TestCorrectedWatermarkIsTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t, engine, row("a", "1", every(10*time.Second)))
	r.turn()
	r.clock.step(8 * time.Hour)
	r.turn()
	r.clock.step(-8 * time.Hour)
	r.clock.pass(time.Second)
	r.tick()
	ahead := r.Claim()
	if !ahead.CoveredUntil.Equal(noon.Add(8 * time.Hour)) {
		t.Fatalf("the watermark is %v", ahead.CoveredUntil)
	}
	back := ahead
	back.Epoch, back.Nonce, back.CoveredUntil = ahead.Epoch+1, "corrected", r.clock.Now()
	if ok, err := r.store.Swap(t.Context(), &ahead, back); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if ok, err := r.Commit(t.Context()); ok || !errors.Is(err, timeline.ErrFenced) {
		t.Fatal(ok, err)
	}
	r.clock.pass(20 * time.Second)
	w := r.turn()
	want(t, w, "a 12:00:10", "a 12:00:20")
	if c := r.store.record(t); c.Epoch != 3 {
		t.Errorf("epoch %d", c.Epoch)
	}
}
