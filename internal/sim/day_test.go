package sim

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/internal/planner"
	"github.com/belfryhq/belfry/internal/worker"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

var (
	seeds = flag.Int("sim.seeds", 1, "how many seeds the simulation of a day runs")
	from  = flag.Uint64("sim.from", 1, "the first of the seeds")
)

// A day is a day, but the race detector makes SQLite twenty times slower. With it the scripts are played within less
// time; `make sim` plays them whole.
const (
	day    = 24 * time.Hour / (1 + 15*raced)
	hours  = 2 * time.Hour / (1 + 14*raced)
	rounds = 80 / (1 + 9*raced)
)

// promptness is longer than any stretch in which neither worker can do anything, and the leases that then run out.
const promptness = 15 * time.Minute

// days are those on which the bubble's year, 2000, changes clocks: the 26th of March in Europe (forward) and Australia
// (back), the 29th of October in Europe and America (back), the 27th of August in Australia (forward).
var days = []time.Time{date(time.March, 26), date(time.October, 29), date(time.August, 27)}

func date(month time.Month, day int) time.Time {
	return time.Date(2000, month, day, 0, 0, 0, 0, time.UTC)
}

// simulate plays a script of one seed and returns the evidence.
func simulate(t *testing.T, seed uint64, length time.Duration, o settings) Evidence {
	t.Helper()
	time.Sleep(time.Until(days[int(seed)%len(days)]))
	w := newWorld(t, seed, o)
	op := w.operator(fifty(rand.New(rand.NewPCG(seed, 0)), w.begin))
	op.declare(op.set...)
	s := drawScript(seed, length)
	s.play(w, op)
	w.settle()
	w.lives.Wait()
	e := w.evidence(op)
	e.Outages = s.seen
	w.close()
	return e
}

// settle lets two healthy processes finish what the day left.
func (w *world) settle() {
	w.calm.Store(true)
	p, x := w.startPlanner(0), w.startWorker(1)
	time.Sleep(15 * time.Minute)
	p.stop()
	x.stop()
}

// evidence reads the ledger. Everything that was due until ten minutes ago must have come to its end.
func (w *world) evidence(o *operator) Evidence {
	w.Helper()
	ctx, s := w.Context(), w.handles[1]
	e := Evidence{Schedules: o.histories(), Starts: w.rec.at, NotRevoked: o.notRevoked, Lease: w.settings.planner.Lease, Lead: 2 * time.Second, Prompt: promptness,
		Until: w.clk.Now().Add(-10 * time.Minute), Attempts: map[run.ID][]run.Attempt{}, History: map[run.ID][]run.Event{}}
	for page := (store.Page{Limit: 1000}); ; {
		items, next, err := s.Runs(ctx, store.RunQuery{Page: page})
		w.must(err)
		e.Runs = append(e.Runs, items...)
		if page.After = next; next == "" {
			break
		}
	}
	for page := (store.Page{Limit: 1000}); ; {
		items, next, err := s.Gaps(ctx, store.GapQuery{Page: page})
		w.must(err)
		e.Gaps = append(e.Gaps, items...)
		if page.After = next; next == "" {
			break
		}
	}
	for _, r := range e.Runs {
		var err error
		e.Attempts[r.ID], err = s.Attempts(ctx, r.ID)
		w.must(err)
		e.History[r.ID], err = s.History(ctx, r.ID)
		w.must(err)
	}
	for _, x := range e.Schedules {
		until, err := s.Unsettled(ctx, x.ID)
		w.must(err)
		if until.Before(e.Until) {
			w.Errorf("%s is settled up to %s only", x.Name, stamp(until))
		}
	}
	return e
}

// A virtual day of fifty schedules of every kind, with planners and workers that are stopped and killed, calls of the
// store that fail before and after they take effect, clocks that are stepped, and definitions that change: what the
// ledger and the jobs say agrees with an independent count.
func TestAVirtualDayAgreesWithAnIndependentCount(t *testing.T) {
	t.Parallel()
	for seed := *from; seed < *from+uint64(*seeds); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := simulate(t, seed, day, settings{
					planner: planner.Options{Lease: 30 * time.Second, Dirty: 10 * time.Second, Snapshot: time.Hour},
					worker:  worker.Options{Lease: time.Minute, Renew: 20 * time.Second, Poll: 20 * time.Second},
					poll:    5 * time.Second, faults: 400,
				})
				report(t, seed, e)
			})
		})
	}
}

// The same with the leases that an installation has by default, over two hours.
func TestTwoVirtualHoursUnderDefaultLeasesAgreeWithAnIndependentCount(t *testing.T) {
	t.Parallel()
	for seed := *from; seed < *from+uint64(*seeds); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := simulate(t, seed, hours, settings{planner: planner.Options{Lease: 5 * time.Second}, poll: time.Second, faults: 600})
				report(t, seed, e)
			})
		})
	}
}

// report prints what the count found, and the seed that shows it again.
func report(t *testing.T, seed uint64, e Evidence) {
	t.Helper()
	found := Check(e)
	for i, text := range found {
		if i == 20 {
			t.Errorf("and %d more", len(found)-i)
			break
		}
		t.Error(text)
	}
	if len(found) > 0 {
		t.Errorf("seed %d: run it again with -sim.from=%d -sim.seeds=1", seed, seed)
	}
	t.Logf("seed %d: %d runs, %d gaps, %d starts", seed, len(e.Runs), len(e.Gaps), len(e.Starts))
}
