package planner

import (
	"context"
	"iter"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/sqlite"
)

const (
	wrong     = 26 * time.Hour
	corrected = 2 // epochs that a correction takes: its own, and that of the claim which follows it
)

const (
	minutely  = `{"trigger":{"cron":["* * * * *"]}}`
	atHalf    = `{"trigger":{"cron":["30 * * * *"]}}`
	everyFive = `{"trigger":{"cron":["*/5 * * * *"]}}`
)

// onBoth runs a trial with a clock that can be stepped, on memory and on a file.
func onBoth(t *testing.T, f func(w *world, clk *stepped)) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		inBubble(t, func(w *world) { f(w, w.withClock()) })
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			clk := &stepped{}
			s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Clock: clk.clock(), Count: plan.Count, Poll: -1})
			if err != nil {
				t.Fatal(err)
			}
			w := &world{T: t, store: s, clk: clk.clock()}
			f(w, clk)
			for _, l := range w.lives {
				l.cancel()
			}
			synctest.Wait()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	})
}

// until drops what lies later than an instant, in seconds.
func until(end float64, dues []float64) (out []float64) {
	for _, due := range dues {
		if due < end {
			out = append(out, due)
		}
	}
	return out
}

// While the clock is 26 hours ahead, for a minute, one schedule is edited and another created. Once it is right, what was
// created runs, and a correct edit takes effect at once. PROTOCOL A9, P1, P8.
func TestDefinitionsOfTheFutureComeToTheClock(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world, clk *stepped) {
		w.apply(map[string]string{"old": minutely, "edited": minutely})
		p := w.planner(Options{})
		time.Sleep(90 * time.Second)
		clk.step(wrong)
		w.apply(map[string]string{"old": atHalf, "edited": everyFive, "new": minutely})
		time.Sleep(time.Minute)
		clk.step(-wrong)
		w.apply(map[string]string{"old": everyFive, "edited": everyFive, "new": minutely}) // at 2:30
		time.Sleep(20 * time.Minute)
		fives := append(every(0, 60, 121), every(300, 300, 1350)...)
		w.same("edited again", w.dues("old"), fives)
		w.same("edited while the clock was wrong", w.dues("edited"), fives)
		w.same("created while it was wrong", w.dues("new"), every(180, 60, 1351))
		for _, name := range []string{"old", "edited", "new"} {
			w.same(name, w.gaps(name), []string(nil))
		}
		if s := p.Status(); s.Epoch != 1+corrected || !s.Ready || !s.Leading {
			w.Errorf("want one correction, and planning to go on: %+v", s)
		}
	})
}

// Nobody plans while the clock is wrong: whoever leads next puts it right, once.
func TestASuccessorFindsTheDefinitionsOfTheFuture(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world, clk *stepped) {
		w.apply(map[string]string{"old": minutely, "gone": minutely})
		w.planner(Options{}).run(w, 90*time.Second)
		clk.step(wrong)
		w.apply(map[string]string{"old": everyFive, "new": minutely})
		clk.step(-wrong)
		p := w.planner(Options{}) // at 1:30
		time.Sleep(15 * time.Minute)
		w.same("edited", w.dues("old"), append(every(0, 60, 61), every(300, 300, 990)...))
		w.same("created", w.dues("new"), every(120, 60, 991))
		w.same("removed", w.dues("gone"), every(0, 60, 61))
		if s := p.Status(); s.Epoch != 2+corrected || s.Watermark.After(w.clk.Now().Add(3*time.Second)) {
			w.Errorf("want a claim each and one correction: %+v", s)
		}
	})
}

// The clock was wrong for so long that it was believed, and the schedules were planned by it. What it settled of the past
// stays settled.
func TestDefinitionsThatWerePlannedInTheFutureComeBack(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world, clk *stepped) {
		w.apply(map[string]string{"old": minutely})
		w.planner(Options{})
		time.Sleep(90 * time.Second)
		clk.step(wrong)
		time.Sleep(5 * time.Minute)
		w.apply(map[string]string{"old": everyFive, "new": minutely})
		time.Sleep(5 * time.Minute)
		clk.step(-wrong)
		time.Sleep(5 * time.Minute) // of which two until it is believed again: until 13:30
		w.same("created", until(wrong.Seconds(), w.dues("new")), every(840, 60, 991))
		time.Sleep(10 * time.Minute)
		w.same("edited", until(wrong.Seconds(), w.dues("old")), append(every(0, 60, 61), every(900, 300, 1591)...))
		w.same("settled by the wrong clock, and due since", w.gaps("old")[:1], []string{"too_old 120..780 12"})
	})
}

// A machine boots in 1970 and hears the time a minute later: nothing is taken back to 1970. PROTOCOL A9.
func TestAStartFarBehindWaits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world, clk *stepped) {
		w.apply(map[string]string{"s": minutely})
		w.planner(Options{}).run(w, 90*time.Second)
		const years = 30 * 365 * 24 * time.Hour
		clk.step(-years)
		p := w.planner(Options{})
		time.Sleep(time.Minute)
		if s := p.Status(); s.Ready {
			w.Errorf("ready in 1970: %+v", s)
		}
		clk.step(years)
		time.Sleep(10 * time.Minute)
		w.same("due", w.dues("s"), every(0, 60, 751))
		w.same("gaps", w.gaps("s"), []string(nil))
		w.same("epoch", p.Status().Epoch, 2)
	})
}

// What a store leaves as it was is not corrected again and again.
func TestACorrectionThatDoesNotHelpIsNotRepeated(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		clk := w.withClock()
		healthy := w.store
		w.apply(map[string]string{"s": minutely})
		w.store = stubborn{healthy, id("s")}
		p := w.planner(Options{})
		time.Sleep(10 * time.Minute)
		w.same("epoch", p.Status().Epoch, 1+corrected)
		clk.step(wrong)
		time.Sleep(time.Second)
		w.apply(map[string]string{"s": minutely, "new": minutely})
		clk.step(-wrong)
		time.Sleep(10 * time.Minute)
		w.same("another one is corrected", len(w.dues("new")), 10)
		w.same("epoch", p.Status().Epoch, 1+2*corrected)
	})
}

// stubborn is a store one of whose schedules stays in the future.
type stubborn struct {
	store.Store
	id schedule.ID
}

func (s stubborn) rows(in iter.Seq2[schedule.Row, error]) iter.Seq2[schedule.Row, error] {
	return func(yield func(schedule.Row, error) bool) {
		for r, err := range in {
			if r.ID == s.id {
				r.Spans = append([]schedule.Span(nil), r.Spans...)
				r.Spans[len(r.Spans)-1].To = epoch.Add(1000 * time.Hour)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func (s stubborn) Snapshot(ctx context.Context, shard int) iter.Seq2[schedule.Row, error] {
	return s.rows(s.Store.Snapshot(ctx, shard))
}

func (s stubborn) Dirty(ctx context.Context, shard int) iter.Seq2[schedule.Row, error] {
	return s.rows(s.Store.Dirty(ctx, shard))
}
