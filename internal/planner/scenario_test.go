package planner

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// stepped is the bubble's clock with a step that tests set. Elapsed time never steps.
type stepped struct{ by atomic.Int64 }

func (s *stepped) step(d time.Duration) { s.by.Add(int64(d)) }

func (s *stepped) clock() clock.Clock {
	return clock.Skewed{Clock: clock.Bubble{}, Offset: func() time.Duration { return time.Duration(s.by.Load()) }}
}

// withClock gives the world a store and planners whose shared clock can be stepped, as on SQLite.
func (w *world) withClock() *stepped {
	s := &stepped{}
	w.clk = s.clock()
	w.store = w.mem.Another(w.clk)
	return s
}

// The clock is stepped back three seconds just after an instant at which 59 schedules were due: each has one run. The
// clock is a port, so that a defect of timing can be reproduced. S-025, R-TST-1, R-WIN-8.
func TestAStepBackDoublesNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		clk := w.withClock()
		set := map[string]string{}
		for i := range 59 {
			set[fmt.Sprintf("s%02d", i)] = `{"trigger":{"cron":["0 0 * * *"]}}`
		}
		w.apply(set)
		w.planner(Options{})
		time.Sleep(24*time.Hour + time.Second)
		clk.step(-3 * time.Second)
		time.Sleep(time.Hour)
		for name := range set {
			w.same(name, w.dues(name), []float64{0, 86400})
			w.same(name, w.gaps(name), []string(nil))
		}
	})
}

// The clock jumps eight hours ahead, or to the year 2098, and is put right within a minute: nothing of the future is
// settled, and the present goes on. On
// SQLite all processes share one clock, so what is left of skew is a clock that is wrong. S-066, PROTOCOL A9,
// R-LEAD-14, R-LEAD-17.
func TestAClockFarAheadSettlesNoFuture(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{8 * time.Hour, 98 * 365 * 24 * time.Hour} {
		inBubble(t, func(w *world) {
			clk := w.withClock()
			w.apply(map[string]string{"s": `{"trigger":{"cron":["* * * * *"]}}`})
			p := w.planner(Options{})
			time.Sleep(10*time.Minute + 30*time.Second)
			clk.step(by)
			time.Sleep(time.Minute)
			if s := p.Status(); s.Ready {
				w.Errorf("ready although the clock stepped by %v: %+v", by, s)
			}
			clk.step(-by)
			time.Sleep(10 * time.Minute)
			w.same(by.String(), w.dues("s"), every(0, 60, 21*60+31))
			w.same(by.String(), w.gaps("s"), []string(nil))
			if s := p.Status(); !s.Ready || !s.Leading {
				w.Errorf("planning did not go on: %+v", s)
			}
		})
	}
}

// A step that stands for two minutes is taken for the truth; when the clock is then put right, the watermark that ran
// ahead is set back, what was written about the future is taken back, and no occurrence runs twice. S-066, PROTOCOL A9.
func TestAWatermarkAheadOfTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		clk := w.withClock()
		w.apply(map[string]string{"s": `{"trigger":{"cron":["0 * * * *"]}}`})
		w.planner(Options{})
		time.Sleep(30 * time.Minute)
		clk.step(8 * time.Hour)
		time.Sleep(10 * time.Minute) // the step is accepted: 1:00 to 8:00 are settled, 8:00 runs
		w.same("ahead", w.gaps("s"), []string{"superseded 3600..25200 7"})
		clk.step(-8 * time.Hour)
		time.Sleep(10 * time.Minute)
		w.same("back", w.gaps("s"), []string(nil))
		time.Sleep(9 * time.Hour)
		w.same("due", w.dues("s"), every(0, 3600, 9*3600+51*60))
	})
}

// A planner that led by a clock two hours ahead is killed, and the clock is set right: its successor waits two minutes
// and not two hours for its claim. PROTOCOL A9, S-066.
func TestAKilledPlannerOfTheFutureBlocksNobody(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		clk := w.withClock()
		clk.step(2 * time.Hour)
		w.apply(map[string]string{"s": `{"trigger":{"cron":["* * * * *"]}}`})
		killed, err := New(w.store, Options{Clock: w.clk})
		if err != nil {
			w.Fatal(err)
		}
		w.steps(killed, 10*time.Second)
		clk.step(-2 * time.Hour)
		p := w.planner(Options{})
		time.Sleep(10 * time.Minute)
		if s := p.Status(); !s.Leading || s.Epoch < 2 || s.Watermark.After(w.clk.Now().Add(3*time.Second)) {
			w.Errorf("%+v", s)
		}
	})
}

// A start after a long absence waits two minutes before it believes the clock, which may have been wrong from the start.
// PROTOCOL A9.
func TestAStartAfterALongAbsenceWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		clk := w.withClock()
		w.apply(map[string]string{"s": `{"trigger":{"cron":["0 0 * * *"]}}`})
		w.planner(Options{}).run(w, time.Minute)
		clk.step(98 * 365 * 24 * time.Hour) // booted in 2098
		p := w.planner(Options{})
		time.Sleep(time.Minute)
		clk.step(-98 * 365 * 24 * time.Hour)
		time.Sleep(time.Hour)
		w.same("due", w.dues("s"), []float64{0})
		w.same("gaps", w.gaps("s"), []string(nil))
		if s := p.Status(); !s.Ready {
			w.Errorf("%+v", s)
		}
	})
}

// Outages shorter than half a minute leave no gap at all under default settings: gaps are not a dustbin.
func TestShortOutagesLeaveNoGap(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		random := rand.New(rand.NewPCG(1, 2))
		set := map[string]string{}
		for name, cron := range map[string]string{"minutely": "* * * * *", "five": "*/5 * * * *", "hourly": "7 * * * *"} {
			set[name] = fmt.Sprintf(`{"trigger":{"cron":[%q]}}`, cron)
		}
		w.apply(set)
		for range 200 {
			w.planner(Options{}).run(w, time.Duration(random.IntN(90_000))*time.Millisecond)
			time.Sleep(time.Duration(random.IntN(24_900)) * time.Millisecond) // and the successor's election
		}
		total := time.Since(epoch).Seconds()
		w.planner(Options{}).run(w, time.Minute)
		for name := range set {
			w.same(name, w.gaps(name), []string(nil))
		}
		if n := len(w.dues("minutely")); n < int(total/60) {
			w.Errorf("%d runs in %v s", n, total)
		}
	})
}

// Down for 99, 100, 101 and 10,000 minutes: the same behaviour on both sides of every limit, and what a limit drops is
// counted. S-005.
func TestNoCliffInCatchingUp(t *testing.T) {
	t.Parallel()
	for _, minutes := range []int{99, 100, 101, 10_000} {
		for misfire, runs := range map[string]int{"all": minutes, "once": 1, "skip": 1} {
			inBubble(t, func(w *world) {
				w.apply(map[string]string{"s": fmt.Sprintf(`{"trigger":{"cron":["* * * * *"]},"misfire":%q,"max_catchup_age":"240h"}`, misfire)})
				w.planner(Options{}).run(w, 30*time.Second)
				time.Sleep(time.Duration(minutes) * time.Minute)
				w.planner(Options{}).run(w, 20*time.Second)
				got := len(w.dues("s")) - 1 // one ran before the outage
				w.same(fmt.Sprintf("%s after %d minutes", misfire, minutes), got, runs)
				dropped := 0
				items, _, err := w.store.Gaps(w.Context(), store.GapQuery{Schedule: id("s")})
				if err != nil {
					w.Fatal(err)
				}
				for _, g := range items {
					dropped += g.Count
				}
				w.same("accounted for", got+dropped, minutes)
			})
		}
	}
}

// A yearly schedule falls due while everything is stopped: it is handled by its policy, and the next one is a year on.
// S-004.
func TestAYearlySlotIsNeverPassedWithoutARow(t *testing.T) {
	t.Parallel()
	const first, second = 366 * 86400, (366 + 365) * 86400 // 2001 and 2002 begin; 2000 is a leap year
	gone := fmt.Sprintf("missed %v..%v 1", float64(first), float64(first))
	for misfire, want := range map[string]string{"once": fmt.Sprint([]float64{first, second}, []string{}), "skip": fmt.Sprint([]float64{second}, []string{gone})} {
		inBubble(t, func(w *world) {
			w.apply(map[string]string{"s": fmt.Sprintf(`{"trigger":{"cron":["0 0 1 1 *"]},"misfire":%q,"starts_at":"2000-06-01T00:00:00Z"}`, misfire)})
			slow := Options{Lease: time.Hour, Dirty: time.Hour, Snapshot: time.Hour, MaxIdle: time.Hour}
			w.planner(slow).run(w, 366*24*time.Hour-10*time.Minute)
			time.Sleep(15 * time.Minute)
			w.planner(Options{}).run(w, time.Minute)
			time.Sleep(time.Until(epoch.Add(second*time.Second - 10*time.Minute)))
			w.planner(Options{}).run(w, 20*time.Minute)
			w.same(misfire, fmt.Sprint(w.dues("s"), w.gaps("s")), want)
		})
	}
}

// Every 15 seconds, down an hour, each policy: never an unstated number. S-079.
func TestAFloodOnStartIsBoundedByPolicy(t *testing.T) {
	t.Parallel()
	for misfire, want := range map[string]int{"once": 1, "skip": 1, "all": 240} {
		inBubble(t, func(w *world) {
			w.apply(map[string]string{"s": fmt.Sprintf(`{"trigger":{"every":"15s"},"misfire":%q}`, misfire)})
			w.planner(Options{}).run(w, 7*time.Second)
			time.Sleep(time.Hour)
			p := w.planner(Options{})
			time.Sleep(time.Second)
			p.end(w)
			w.same(misfire, len(w.dues("s"))-1, want)
		})
	}
}

// Two planners race for one shard for a while: every occurrence has one row, and a conflict is no error. R-KEY-4, R-KEY-8, R-KEY-18,
// R-LEAD-7, R-TX-2.
func TestTwoPlannersMakeOneRowEach(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"s": `{"trigger":{"every":"1s"}}`})
		for range 20 {
			a := w.planner(Options{})
			b := w.planner(Options{})
			time.Sleep(3 * time.Second)
			a.end(w)
			time.Sleep(2 * time.Second)
			b.end(w)
		}
		w.same("due", w.dues("s"), every(0, 1, float64(len(w.dues("s")))))
		if n := len(w.dues("s")); n < 100 {
			w.Errorf("only %d runs in 100 s", n)
		}
		w.same("gaps", w.gaps("s"), []string(nil))
	})
}

// poison refuses the plans of one schedule for good, as a database does that cannot store a value of its.
type poison struct {
	store.Store
	id schedule.ID
}

var errPoison = errors.New("value out of range")

func (p *poison) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	for _, pl := range c.Plans {
		if pl.Schedule == p.id && len(pl.Runs)+len(pl.Gaps) > 0 {
			return store.Committed{}, errors.Join(store.ErrPoison, errPoison)
		}
	}
	return p.Store.Commit(ctx, c)
}

// One plan that the database refuses stops nobody: it is found by halving, quarantined and pinned, and the others run
// on time (P6, PROTOCOL A8, R-LOOP-19).
func TestAPoisonedPlanIsFoundAndQuarantined(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		set := map[string]string{}
		for i := range 40 {
			set[fmt.Sprintf("s%02d", i)] = `{"trigger":{"cron":["* * * * *"]},"misfire":"all"}`
		}
		w.apply(set)
		healthy := w.store
		w.store = &poison{Store: healthy, id: id("s17")}
		w.planner(Options{}).run(w, 5*time.Minute)
		for name := range set {
			if name == "s17" {
				w.same(name, w.dues(name), []float64(nil))
				continue
			}
			w.same(name, w.dues(name), every(0, 60, 301))
		}
		items, _, err := w.store.Schedules(w.Context(), store.ScheduleQuery{Name: "s17"})
		if err != nil || len(items) != 1 || items[0].Quarantine == "" {
			w.Fatalf("%+v, %v", items, err)
		}
		w.store = healthy // mended: what it owed is made good
		w.planner(Options{}).run(w, 5*time.Minute)
		w.same("mended", w.dues("s17"), every(0, 60, 601))
	})
}

// A pause owes nothing and has one gap with its count; a resume with catch-up owes it after all (D11, PROTOCOL B10).
func TestAPauseIsOneGap(t *testing.T) {
	t.Parallel()
	for _, catchUp := range []bool{false, true} {
		inBubble(t, func(w *world) {
			w.apply(map[string]string{"s": `{"trigger":{"cron":["* * * * *"]},"misfire":"all"}`})
			w.planner(Options{})
			time.Sleep(150 * time.Second)
			if _, err := w.store.Pause(w.Context(), id("s"), schedule.Pause{By: "test"}); err != nil {
				w.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
			if _, err := w.store.Resume(w.Context(), id("s"), "test", catchUp); err != nil {
				w.Fatal(err)
			}
			time.Sleep(150 * time.Second)
			if catchUp {
				w.same("due", w.dues("s"), every(0, 60, 901))
				w.same("gaps", w.gaps("s"), []string(nil))
				return
			}
			w.same("due", w.dues("s"), append(every(0, 60, 150), every(780, 60, 901)...))
			w.same("gaps", w.gaps("s"), []string{"paused 180..720 10"})
		})
	}
}

// A removed schedule's last stretch is accounted for, and its queued run that was due is cancelled. PROTOCOL A1, A2, S-075.
func TestRemovalAccountsForWhatWasOwed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"s": `{"trigger":{"cron":["* * * * *"]}}`})
		w.planner(Options{}).run(w, 90*time.Second)
		time.Sleep(155 * time.Second) // 2:00, 3:00 and 4:00 are owed
		w.apply(map[string]string{})
		w.planner(Options{}).run(w, time.Hour)
		w.same("due", w.dues("s"), []float64{0, 60})
		w.same("gaps", w.gaps("s"), []string{"removed 120..240 3"})
		for _, r := range w.runs("s") {
			if r.Status != run.Cancelled {
				w.Errorf("the queued run due %v is %v", r.Due, r.Status)
			}
		}
	})
}
