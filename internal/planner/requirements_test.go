package planner

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/store"
)

// A new schedule is covered from the instant it took effect, whatever its trigger would have said before. R-MIS-11,
// R-WIN-7, R-WIN-12, D10.
func TestNewSchedulesAreNotBackfilled(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.planner(Options{})
		time.Sleep(90*time.Second + time.Millisecond)
		w.apply(map[string]string{"s": `{"trigger":{"cron":["* * * * *"]},"misfire":"all","max_catchup_age":"24h"}`})
		time.Sleep(2 * time.Minute)
		w.same("due", w.dues("s"), []float64{120, 180})
		w.same("gaps", w.gaps("s"), []string(nil))
	})
}

// After one catch-up the watermark is current: another start right after finds nothing stale, whether or not the
// occurrences made runs. R-WIN-13, R-WIN-16, R-MIS-6.
func TestASecondStartFindsNothingStale(t *testing.T) {
	t.Parallel()
	for _, misfire := range []string{"once", "skip", "all"} {
		inBubble(t, func(w *world) {
			w.apply(map[string]string{"s": fmt.Sprintf(`{"trigger":{"cron":["0 * * * *"]},"misfire":%q}`, misfire)})
			w.planner(Options{}).run(w, 30*time.Second)
			time.Sleep(8*time.Hour + 30*time.Minute)
			w.planner(Options{}).run(w, 5*time.Second)
			dues, gaps := w.dues("s"), w.gaps("s")
			for range 3 {
				w.planner(Options{}).run(w, 5*time.Second)
			}
			w.same(misfire+" dues", w.dues("s"), dues)
			w.same(misfire+" gaps", w.gaps("s"), gaps)
		})
	}
}

// A window reaches as far as the lead and no farther: what is due beyond belongs to a later commit. R-DEL-7, R-WIN-9.
func TestNothingIsCommittedBeyondTheLead(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"s": `{"trigger":{"every":"1s"}}`})
		w.planner(Options{Lead: 2 * time.Second})
		time.Sleep(time.Minute)
		for _, r := range w.runs("s") {
			if ahead := r.Due.Sub(r.CreatedAt); ahead > 2*time.Second {
				w.Errorf("the run due %v was committed %v ahead", r.Due, ahead)
			}
		}
		c, _, err := w.store.Planner(w.Context(), 0)
		if err != nil || time.Until(c.CoveredUntil) > 2*time.Second {
			w.Errorf("covered until %v at %v, %v", c.CoveredUntil, time.Now(), err)
		}
	})
}

// An occurrence due at the very instant of a window's bound is in exactly one window, and the watermark never goes back,
// whatever starts and stops in between. R-WIN-1, R-WIN-3, R-WIN-8, R-WIN-11, R-LOOP-18.
func TestBoundariesBelongToOneWindow(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"s": `{"trigger":{"every":"1s"}}`})
		var last time.Time
		for i := range 40 { // each life begins and ends on, just before or just after a whole second
			w.planner(Options{Lead: time.Second}).run(w, 3*time.Second+time.Duration(i%3-1)*time.Microsecond)
			c, _, err := w.store.Planner(w.Context(), 0)
			if err != nil || c.CoveredUntil.Before(last) {
				w.Fatalf("the watermark went from %v to %v, %v", last, c.CoveredUntil, err)
			}
			last = c.CoveredUntil
		}
		w.same("due", w.dues("s"), every(0, 1, float64(len(w.dues("s")))))
		if n := len(w.dues("s")); n < 120 {
			w.Errorf("only %d runs in two minutes", n)
		}
	})
}

// The loop's phase follows the wall clock and not the time that work takes: after an hour of slow steps the distance
// between commit and due instant is what it was in the beginning. One loop does both duties. R-LOOP-1, R-LOOP-2.
func TestThePhaseDoesNotDrift(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"s": `{"trigger":{"cron":["* * * * *"]}}`})
		w.store = &slow{Store: w.store, by: 37 * time.Millisecond}
		w.planner(Options{})
		time.Sleep(time.Hour)
		for _, r := range w.runs("s")[1:] {
			if ahead := r.Due.Sub(r.CreatedAt); ahead < 1500*time.Millisecond {
				w.Errorf("the run due %v was committed only %v ahead", r.Due, ahead)
			}
		}
		w.same("runs", len(w.runs("s")), 61)
	})
}

// slow takes its time for every commit.
type slow struct {
	store.Store
	by time.Duration
}

func (s *slow) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	time.Sleep(s.by) // virtual time
	return s.Store.Commit(ctx, c)
}

// Each batch of dropped occurrences is logged with schedule, reason and number, and counted. R-MIS-10, R-MET-7, P8.
func TestDroppedOccurrencesAreLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"s": `{"trigger":{"cron":["* * * * *"]},"misfire":"skip"}`})
		w.planner(Options{}).run(w, 30*time.Second)
		time.Sleep(10 * time.Minute)
		var log bytes.Buffer
		p, err := New(w.store, Options{Clock: w.clk, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
		if err != nil {
			w.Fatal(err)
		}
		for range 3 {
			if _, err := p.Step(w.Context()); err != nil {
				w.Fatal(err)
			}
		}
		for _, want := range []string{id("s").String(), `"reason":"missed"`, `"count":9`} {
			if !strings.Contains(log.String(), want) {
				w.Errorf("the log does not say %s:\n%s", want, log.String())
			}
		}
		w.same("counted", p.Status().Gaps, 9)
	})
}

// The planner writes and goes on; it neither runs jobs nor waits for them, and each run is committed in the order of
// decision, row and watermark at once. R-LOOP-13, R-LOOP-14, R-KEY-12, R-TX-1, R-TX-7, R-DEL-6, R-STA-1.
func TestRunsAndWatermarkAreOneCommit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"s": `{"trigger":{"every":"1s"}}`})
		healthy := w.store
		failing := &failingCommit{Store: healthy}
		w.store = failing
		w.planner(Options{})
		for range 100 {
			time.Sleep(317 * time.Millisecond)
			c, found, err := healthy.Planner(w.Context(), 0)
			if err != nil {
				w.Fatal(err)
			}
			if !found {
				continue
			}
			for due := epoch; due.Before(c.CoveredUntil); due = due.Add(time.Second) {
				if len(w.dues("s")) <= int(due.Sub(epoch).Seconds()) {
					w.Fatalf("covered until %v, and the run due %v is not there", c.CoveredUntil, due)
				}
			}
		}
		if failing.failed == 0 {
			w.Error("no commit failed: the test shows nothing")
		}
	})
}

// failingCommit refuses every third commit before it does anything.
type failingCommit struct {
	store.Store
	n, failed int
}

func (f *failingCommit) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	if f.n++; f.n%3 == 0 {
		f.failed++
		return store.Committed{}, store.ErrBusy
	}
	return f.Store.Commit(ctx, c)
}
