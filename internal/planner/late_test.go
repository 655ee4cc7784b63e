package planner

import (
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

// Under default settings an occurrence that is looked at 1.8 s after its instant runs, 1.8 s late, and is no misfire.
// S-007.
func TestALittleLateIsLateAndNoMisfire(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"s": `{"trigger":{"cron":["* * * * *"]}}`})
		w.planner(Options{}).run(w, 50*time.Second)
		time.Sleep(11*time.Second + 800*time.Millisecond)
		w.planner(Options{}).run(w, 10*time.Second)
		w.same("due", w.dues("s"), []float64{0, 60})
		w.same("gaps", w.gaps("s"), []string(nil))
		r := w.runs("s")[1]
		if late := r.CreatedAt.Sub(r.Due); late < 1800*time.Millisecond || late > 1900*time.Millisecond || r.Misfire != nil || !r.ReadyAt.Equal(r.Due) {
			w.Errorf("%v late: %+v", late, r)
		}
	})
}

// Hourly with a stable offset of 55 minutes, off at 9:50 and on at 10:05: 9:55 is made good once, and then comes 10:55.
// S-076, R-TRG-10.
func TestAnOffsetIsPartOfWhatWasMissed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"s": `{"trigger":{"cron":["0 * * * *"]},"shift":"55m"}`})
		w.planner(Options{}).run(w, 9*time.Hour+50*time.Minute)
		time.Sleep(15 * time.Minute)
		w.planner(Options{}).run(w, 55*time.Minute)
		w.same("due", w.dues("s"), every(55*60, 3600, 11*3600)) // 0:55, 1:55 ... 10:55
		w.same("gaps", w.gaps("s"), []string(nil))
		for _, r := range w.runs("s") {
			if late := r.CreatedAt.Sub(r.Due); (late > 0) != r.Due.Equal(epoch.Add(9*time.Hour+55*time.Minute)) || late > 11*time.Minute {
				w.Errorf("the run due %v came %v late", r.Due, late)
			}
		}
	})
}

// Eight hourly occurrences are missed under once: the newest runs, and the gap of the other seven names it. S-084, R-MIS-3.
func TestOfEightMissedTheNewestRunsForAll(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"s": `{"trigger":{"cron":["0 * * * *"]},"misfire":"once"}`})
		w.planner(Options{}).run(w, 30*time.Minute)
		time.Sleep(8 * time.Hour) // 1:00 to 8:00 pass
		w.planner(Options{}).run(w, 20*time.Minute)
		w.same("due", w.dues("s"), []float64{0, 8 * 3600})
		w.same("gaps", w.gaps("s"), []string{"superseded 3600..25200 7"})
		if r := w.runs("s")[1]; r.Misfire == nil || r.Misfire.Policy != schedule.MisfireOnce || r.Misfire.Superseded != 7 || r.Kind != run.Scheduled {
			w.Errorf("the run does not say what it stands for: %+v", r)
		}
	})
}

// A thousand instants by a clock that drifts and is set back by ten milliseconds at each: every one has its run, and none
// was written twice, not even to find out that it was there. S-033, R-KEY-18.
func TestADriftingClockMakesNoNoise(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		drift := func() time.Duration { return -10 * (time.Since(epoch) % time.Second) / 1000 } // ten milliseconds a second
		w.clk = clock.Skewed{Clock: clock.Bubble{}, Offset: drift}
		w.store = w.mem.Another(w.clk)
		w.apply(map[string]string{"s": `{"trigger":{"every":"1s"},"misfire":"skip"}`})
		p := w.planner(Options{})
		time.Sleep(1000 * time.Second)
		p.end(w)
		w.same("due", w.dues("s"), every(0, 1, float64(len(w.dues("s")))))
		w.same("gaps", w.gaps("s"), []string(nil))
		if s := p.Status(); s.Duplicate != 0 || s.Inserted < 1000 || s.Inserted > 1003 {
			w.Errorf("%d inserted, %d found there", s.Inserted, s.Duplicate)
		}
	})
}

// Who is given no identity has one that no other has, also in the same process. R-LEAD-12.
func TestPlannersHaveTheirOwnIdentities(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		seen := map[string]bool{}
		for range 50 {
			p, err := New(w.store, Options{Clock: w.clk})
			if err != nil {
				w.Fatal(err)
			}
			seen[p.o.Token] = true
		}
		if len(seen) != 50 || seen[""] {
			w.Errorf("fifty planners have %d identities", len(seen))
		}
	})
}
