package planner

import (
	"testing"
	"time"

	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// Each occurrence becomes one pending run before its instant (P1, P2, R-WIN-3).
func TestOccurrencesAreCommittedAheadOfTheirInstant(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"tick": `{"trigger":{"every":"10s"}}`})
		w.planner(Options{})
		time.Sleep(95 * time.Second)
		w.same("due", w.dues("tick"), every(0, 10, 97))
		for _, r := range w.runs("tick") {
			if !r.Due.Equal(epoch) && !r.CreatedAt.Before(r.Due) {
				w.Errorf("the run due %v was committed at %v", r.Due, r.CreatedAt)
			}
		}
		w.same("gaps", w.gaps("tick"), []string(nil))
	})
}

// An interval keeps its grid whatever restarts happen in between. S-003, R-TRG-7.
func TestRestartsDoNotMoveAnInterval(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"weekly": `{"trigger":{"every":"168h"}}`})
		for range 30 * 4 {
			p := w.planner(Options{Lease: time.Minute, Dirty: time.Minute})
			time.Sleep(6 * time.Hour)
			p.end(w)
		}
		dues := w.dues("weekly")
		if len(dues) != 4 {
			w.Fatalf("%d runs in thirty days, not 4: %v", len(dues), dues)
		}
		for i := range 3 {
			if dues[i+1]-dues[i] != 7*86400 {
				w.Errorf("%v and %v are not a week apart", dues[i], dues[i+1])
			}
		}
	})
}

// Delayed looks lose nothing, because progress is a stored watermark and not a look back. S-009, R-WIN-2.
func TestALateLookLosesNothing(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{61 * time.Second, 90 * time.Second, time.Hour} {
		inBubble(t, func(w *world) {
			w.apply(map[string]string{"tick": `{"trigger":{"cron":["* * * * *"]},"misfire":"all","misfire_limit":1000}`})
			w.planner(Options{}).run(w, 10*time.Minute)
			time.Sleep(late)
			w.planner(Options{}).run(w, 10*time.Minute)
			w.same(late.String(), w.dues("tick"), every(0, 60, (20*time.Minute+late+2*time.Second).Seconds()))
		})
	}
}

func (l *life) run(w *world, d time.Duration) {
	time.Sleep(d)
	l.end(w)
}

// An edit during an outage: what the old revision owed is not lost (PROTOCOL A1).
func TestAnEditDuringAnOutageOwesTheOldRevision(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"s": `{"trigger":{"cron":["*/5 * * * *"]},"misfire":"all"}`})
		w.planner(Options{}).run(w, 9*time.Minute)
		time.Sleep(10 * time.Minute) // 19:00; 10:00 and 15:00 are owed
		w.apply(map[string]string{"s": `{"trigger":{"cron":["0 12 * * *"]},"misfire":"all"}`})
		time.Sleep(time.Minute)
		w.planner(Options{}).run(w, time.Hour)
		w.same("due", w.dues("s"), []float64{0, 300, 600, 900})
	})
}

// What was planned ahead under the old revision does not start, and only the new revision's instants come. S-073,
// PROTOCOL A2.
func TestAnEditUnplansWhatWasPlannedAhead(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		w.apply(map[string]string{"s": `{"trigger":{"cron":["0 4 * * *"]}}`})
		w.planner(Options{})
		time.Sleep(4*time.Hour - 1*time.Second)
		w.same("planned ahead", w.dues("s"), []float64{4 * 3600})
		done := w.apply(map[string]string{"s": `{"trigger":{"cron":["0 8 * * *"]}}`})
		w.same("unplanned", done.Unplanned, 1)
		time.Sleep(5 * time.Hour)
		w.same("due", w.dues("s"), []float64{8 * 3600})
	})
}

// An edit back and forth just before the instant still runs it once (PROTOCOL A2, S-027's kind).
func TestAnEditThereAndBackRunsOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		four, five := `{"trigger":{"cron":["0 4 * * *"]}}`, `{"trigger":{"cron":["0 5 * * *"]}}`
		w.apply(map[string]string{"s": four})
		w.planner(Options{})
		time.Sleep(4*time.Hour - 1900*time.Millisecond)
		for range 5 {
			w.apply(map[string]string{"s": five})
			time.Sleep(150 * time.Millisecond)
			w.apply(map[string]string{"s": four})
			time.Sleep(150 * time.Millisecond)
		}
		time.Sleep(2 * time.Hour)
		w.same("due", w.dues("s"), []float64{4 * 3600})
	})
}

// Saving an unchanged definition over and over changes nothing. S-074, D32.
func TestSavingAnUnchangedScheduleCancelsNothing(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		set := map[string]string{"s": `{"trigger":{"cron":["0 4 * * *"]}}`}
		w.apply(set)
		w.planner(Options{})
		time.Sleep(4*time.Hour - 10*time.Second)
		for range 20 {
			w.same("unchanged", w.apply(set).Unchanged, 1)
			time.Sleep(time.Second)
		}
		w.same("due", w.dues("s"), []float64{4 * 3600})
	})
}

// On Friday 02:10 the weekdays change from Tuesday and Friday 21:00 to Wednesday and Sunday 23:00. S-072.
func TestAnEditDoesNotFireAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) { // the bubble's day 0 is a Saturday; day 6 is a Friday
		w.apply(map[string]string{"s": `{"trigger":{"cron":["0 21 * * tue,fri"]}}`})
		w.planner(Options{Lease: time.Minute, Dirty: time.Minute})
		time.Sleep(6*24*time.Hour + 2*time.Hour + 10*time.Minute)
		w.apply(map[string]string{"s": `{"trigger":{"cron":["0 23 * * wed,sun"]}}`})
		time.Sleep(3 * 24 * time.Hour)
		day, hour := 86400.0, 3600.0
		w.same("due", w.dues("s"), []float64{3*day + 21*hour, 8*day + 23*hour})
	})
}

// One schedule that cannot be read stops nobody, stays where it is, and is made good when mended. R-CRON-9, R-WIN-14,
// R-LOOP-19, PROTOCOL C6.
func TestABrokenDefinitionIsQuarantinedAlone(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		good := `{"trigger":{"cron":["*/10 * * * *"]},"misfire":"all"}`
		w.apply(map[string]string{"a": good, "b": good})
		p := w.planner(Options{})
		time.Sleep(15 * time.Minute)
		p.end(w)
		w.mem.Corrupt(id("b"), []byte("{"))
		p = w.planner(Options{})
		time.Sleep(30 * time.Minute)
		w.same("a", w.dues("a"), every(0, 600, 45*60))
		w.same("b", w.dues("b"), every(0, 600, 15*60))
		items, _, err := w.store.Schedules(w.Context(), store.ScheduleQuery{Name: "b"})
		if err != nil || len(items) != 1 || items[0].Quarantine == "" || items[0].Pin.IsZero() {
			w.Fatalf("b is not quarantined and pinned: %+v, %v", items, err)
		}
		p.end(w)
		w.mem.Corrupt(id("b"), mustEncode(w.T, w.spec(good)))
		w.planner(Options{}).run(w, 5*time.Minute)
		w.same("b mended", w.dues("b"), every(0, 600, 50*60+1))
	})
}

func mustEncode(t *testing.T, s schedule.Spec) []byte {
	t.Helper()
	b, err := schedule.EncodeSpec(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A backlog too big for one commit is cut by schedule: new work stays on time, each schedule is decided once over the
// whole outage, and a successor goes on where a killed planner stopped (PROTOCOL A4).
func TestABigBacklogIsCutByScheduleAndResumed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		set := map[string]string{}
		names := make([]string, 60)
		for i := range names {
			names[i] = "s" + string(rune('a'+i/26)) + string(rune('a'+i%26))
			set[names[i]] = `{"trigger":{"cron":["* * * * *"]}}`
		}
		w.apply(set)
		w.planner(Options{}).run(w, 90*time.Second)
		time.Sleep(10 * time.Minute) // until 11:30
		limited := Options{Batch: 10, Token: "first"}
		limited.Clock, limited.NewID = w.clk, counterIDs()
		p, err := New(w.store, limited)
		if err != nil {
			w.Fatal(err)
		}
		for range 3 { // and it dies with half of the backlog undecided
			if _, err := p.Step(w.Context()); err != nil {
				w.Fatal(err)
			}
		}
		if p.Status().Arrears == 0 {
			w.Fatal("nothing is in arrears: the test shows nothing")
		}
		w.planner(Options{Batch: 10}).run(w, 60*time.Second)
		for _, name := range names {
			w.same(name, w.dues(name), []float64{0, 60, 660, 720})
			w.same(name, w.gaps(name), []string{"superseded 120..600 9"})
		}
	})
}

func counterIDs() func() [16]byte {
	n := byte(0)
	return func() (id [16]byte) {
		n++
		id[0], id[15] = 0xaa, n
		return id
	}
}
