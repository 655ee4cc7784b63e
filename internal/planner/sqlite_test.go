package planner

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/sqlite"
)

// onSQLite runs a trial at an instant of virtual time, on a file with two handles: one for the planner, and one for
// whoever edits through another process.
func onSQLite(t *testing.T, begin time.Time, f func(w *world, editor *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(begin))
		path := filepath.Join(t.TempDir(), "belfry.db")
		var worlds [2]*world
		for i := range worlds {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clock.Bubble{}, Count: plan.Count, Poll: 10 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			worlds[i] = &world{T: t, store: s, clk: clock.Bubble{}}
		}
		f(worlds[0], worlds[1])
		for _, l := range worlds[0].lives {
			l.end(worlds[0])
		}
	})
}

// local lists the due instants of a schedule's runs by the calendar.
func (w *world) local(name string) (out []string) {
	w.Helper()
	for _, r := range w.runs(name) {
		out = append(out, r.Due.UTC().Format("Mon 15:04:05"))
	}
	return out
}

// seldom is a planner that costs little while days pass.
var seldom = Options{Lease: time.Hour, Dirty: 10 * time.Minute, Snapshot: time.Hour, MaxIdle: time.Hour}

// On Friday at 02:10 Tuesday and Friday 21:00 becomes Wednesday and Sunday 23:00: nothing fires at once, nothing on
// Friday night, and Sunday is the first. S-072.
func TestAnEditOfTheWeekdaysWaitsForThem(t *testing.T) {
	t.Parallel()
	onSQLite(t, time.Date(2000, 1, 7, 2, 0, 0, 0, time.UTC), func(w, editor *world) { // a Friday
		w.apply(map[string]string{"s": `{"trigger":{"cron":["0 21 * * tue,fri"]}}`})
		w.planner(seldom)
		time.Sleep(10 * time.Minute)
		editor.apply(map[string]string{"s": `{"trigger":{"cron":["0 23 * * wed,sun"]}}`})
		time.Sleep(68*time.Hour + 49*time.Minute) // Sunday 22:59
		w.same("before Sunday 23:00", w.local("s"), []string(nil))
		time.Sleep(time.Hour)
		w.same("runs", w.local("s"), []string{"Sun 23:00:00"})
		w.same("gaps", w.gaps("s"), []string(nil))
	})
}

// 04:00 is planned ahead already when another process moves it to 08:00, two seconds before: only 08:00 runs. S-073.
func TestAnEditThroughAnotherProcessIsSeenInTime(t *testing.T) {
	t.Parallel()
	onSQLite(t, time.Date(2000, 1, 7, 3, 50, 0, 0, time.UTC), func(w, editor *world) {
		w.apply(map[string]string{"s": `{"trigger":{"cron":["0 4 * * *"]}}`})
		o := seldom
		o.Lead = 5 * time.Second // it learns of the edit long after 04:00
		w.planner(o)
		time.Sleep(9*time.Minute + 58*time.Second)
		w.same("planned ahead", w.local("s"), []string{"Fri 04:00:00"})
		w.same("taken back", editor.apply(map[string]string{"s": `{"trigger":{"cron":["0 8 * * *"]}}`}).Unplanned, 1)
		time.Sleep(4*time.Hour + 10*time.Minute)
		w.same("runs", w.local("s"), []string{"Fri 08:00:00"})
		w.same("gaps", w.gaps("s"), []string(nil))
	})
}

// An unchanged definition is saved each second from ten seconds before its instant to ten after: one row, which no save
// replaced, and which none took from the node that held it. S-074.
func TestSavingThroughTheInstantLeavesItsRunAlone(t *testing.T) {
	t.Parallel()
	onSQLite(t, time.Date(2000, 1, 7, 3, 59, 0, 0, time.UTC), func(w, editor *world) {
		set := map[string]string{"s": `{"trigger":{"cron":["0 4 * * *"]}}`}
		w.apply(set)
		w.planner(Options{})
		node := run.NodeID{15: 1}
		if err := w.store.Beat(w.Context(), store.Node{ID: node, Host: "h", PID: 1}, time.Hour); err != nil {
			w.Fatal(err)
		}
		time.Sleep(50 * time.Second)
		var taken []run.Run
		for range 21 {
			w.same("unchanged", editor.apply(set).Unchanged, 1)
			got, err := w.store.Take(w.Context(), store.Take{Node: node, Pools: []store.PoolRoom{{Pool: "default", Free: 1}}})
			if err != nil {
				w.Fatal(err)
			}
			taken = append(taken, got.Runs...)
			time.Sleep(time.Second)
		}
		runs := w.runs("s")
		w.same("runs", w.local("s"), []string{"Fri 04:00:00"})
		w.same("taken", len(taken), 1)
		if len(runs) != 1 || len(taken) != 1 || runs[0].ID != taken[0].ID || runs[0].Status != run.Claimed || runs[0].Revision != 1 {
			w.Errorf("%+v, taken %+v", runs, taken)
		}
		w.same("gaps", w.gaps("s"), []string(nil))
	})
}
