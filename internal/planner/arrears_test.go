package planner

import (
	"fmt"
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// disposed is how many occurrences of a schedule have a run or a place in a gap.
func (w *world) disposed(name string) int {
	w.Helper()
	n := len(w.runs(name))
	gaps, _, err := w.store.Gaps(w.Context(), store.GapQuery{Schedule: id(name), Page: store.Page{Limit: 1000}})
	if err != nil {
		w.Fatal(err)
	}
	for _, g := range gaps {
		n += g.Count
	}
	return n
}

// outage makes minutely schedules that were not planned from 1:30 to 11:30.
func (w *world) outage(misfire string, n int) (set map[string]string) {
	w.Helper()
	set = map[string]string{}
	for i := range n {
		set[fmt.Sprintf("s%02d", i)] = `{"trigger":{"cron":["* * * * *"]},"misfire":"` + misfire + `"}`
	}
	w.apply(set)
	w.planner(Options{}).run(w, 90*time.Second)
	time.Sleep(10 * time.Minute)
	return set
}

// inArrears is an outage of sixty schedules with a planner that has decided some and put the rest behind new work.
func (w *world) inArrears(misfire string) (p *Planner, set map[string]string) {
	w.Helper()
	set = w.outage(misfire, 60)
	p, err := New(w.store, Options{Batch: 10, Clock: w.clk})
	if err != nil {
		w.Fatal(err)
	}
	for range 3 {
		w.step(p)
	}
	if p.Status().Arrears == 0 {
		w.Fatal("nothing is in arrears: the test shows nothing")
	}
	return p, set
}

func (w *world) step(p *Planner) time.Duration {
	w.Helper()
	wait, err := p.Step(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return wait
}

// steps drives a planner by hand for a time.
func (w *world) steps(p *Planner, d time.Duration) {
	w.Helper()
	for end := w.clk.Now().Add(d); w.clk.Now().Before(end); {
		time.Sleep(max(w.step(p), time.Millisecond))
	}
}

// What happens to a schedule while its backlog waits takes nothing from the backlog: 0:00 to 11:00 are twelve
// occurrences, and each has one disposition. PROTOCOL A1, A4; P1.
func TestABacklogOutlivesWhatHappensToItsSchedule(t *testing.T) {
	t.Parallel()
	for name, happen := range map[string]func(w *world, p *Planner, set map[string]string){
		"removed": func(w *world, _ *Planner, _ map[string]string) { w.apply(map[string]string{}) },
		"removed and back": func(w *world, p *Planner, set map[string]string) {
			w.apply(map[string]string{})
			w.step(p)
			w.apply(set)
		},
		"edited": func(w *world, _ *Planner, set map[string]string) {
			for name := range set {
				set[name] = `{"trigger":{"cron":["*/2 * * * *"]}}`
			}
			w.apply(set)
		},
		"paused": func(w *world, _ *Planner, set map[string]string) {
			for name := range set {
				if _, err := w.store.Pause(w.Context(), id(name), schedule.Pause{By: "test"}); err != nil {
					w.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(w *world) {
				p, set := w.inArrears("once")
				names := make([]string, 0, len(set))
				for name := range set {
					names = append(names, name)
				}
				happen(w, p, set)
				w.steps(p, 20*time.Second)
				for _, name := range names {
					if got := w.disposed(name); got != 12 {
						w.Errorf("%s has %d occurrences disposed of, want 12: runs %v, gaps %q", name, got, w.dues(name), w.gaps(name))
					}
				}
			})
		})
	}
}

// A backlog that drains over several commits goes on at once when it is in arrears, too. PROTOCOL C4: the next commit,
// not the next full read of all definitions.
func TestABacklogInArrearsDrainsAtOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		p, set := w.inArrears(`all","misfire_limit":4,"misfire_keep":"oldest`)
		w.steps(p, 10*time.Second)
		for name := range set {
			w.same(name, w.dues(name), every(0, 60, 661))
		}
	})
}

// What one commit decides of the past is bounded by its rows, too: a policy that makes many of each schedule would hold
// the database against everybody's heartbeats. PROTOCOL A4.
func TestACommitOfThePastIsBoundedByItsRows(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		set := w.outage("all", 60)
		p, err := New(w.store, Options{Batch: 50, Clock: w.clk})
		if err != nil {
			w.Fatal(err)
		}
		for before, n := int64(0), 0; n < 12; n++ {
			w.step(p)
			inserted := p.Status().Inserted
			if got := inserted - before; got > 2*50+10 { // the one that reaches the bound is written whole
				w.Errorf("step %d wrote %d runs", n, got)
			}
			before = inserted
			time.Sleep(time.Millisecond)
		}
		for name := range set {
			w.same(name, w.dues(name), every(0, 60, 661))
		}
	})
}

// sluggish is a clock by which every look at it takes a while.
type sluggish struct {
	clock.Clock
	passed time.Duration
}

func (s *sluggish) Elapsed() time.Duration {
	s.passed += 50 * time.Millisecond
	return s.Clock.Elapsed() + s.passed
}

// Deciding the past must not cost the lease, however long an outage takes to count: what is not decided within a
// quarter of it is put behind new work. PROTOCOL A4.
func TestDecidingThePastIsBoundedByTime(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		set := w.outage("once", 60)
		p, err := New(w.store, Options{Clock: &sluggish{Clock: w.clk}})
		if err != nil {
			w.Fatal(err)
		}
		w.step(p)
		if s := p.Status(); s.Arrears < 30 || s.Arrears >= 60 || s.Watermark.Before(w.clk.Now()) {
			w.Errorf("a quarter of five seconds is enough for 25 looks: %+v", s)
		}
		w.steps(p, 10*time.Second)
		for name := range set {
			w.same(name, w.gaps(name), []string{"superseded 120..600 9"})
		}
	})
}

// A schedule that cannot be read any more when a successor finds the backlog is pinned where its backlog begins, and
// owes all of it once it is mended. PROTOCOL A4, C6.
func TestABacklogOfABrokenDefinitionIsKept(t *testing.T) {
	t.Parallel()
	inBubble(t, func(w *world) {
		_, set := w.inArrears("once")
		for name := range set {
			w.mem.Corrupt(id(name), []byte("{"))
		}
		w.planner(Options{Batch: 10}).run(w, 10*time.Second)
		for name, text := range set {
			w.mem.Corrupt(id(name), mustEncode(w.T, w.spec(text)))
		}
		w.planner(Options{Batch: 10}).run(w, 10*time.Second)
		for name := range set {
			if got := w.disposed(name); got != 12 {
				w.Errorf("%s has %d occurrences disposed of, want 12: runs %v, gaps %q", name, got, w.dues(name), w.gaps(name))
			}
		}
	})
}
