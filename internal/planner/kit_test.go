package planner

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/memory"
)

// world is a store in virtual time with planners that come and go.
type world struct {
	*testing.T
	store store.Store
	mem   *memory.Store
	clk   clock.Clock
	lives []*life
}

// inBubble runs a test in a bubble whose clock starts at 2000-01-01T00:00:00Z.
func inBubble(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		mem := memory.New(clock.Bubble{}, plan.Count)
		w := &world{T: t, store: mem, mem: mem, clk: clock.Bubble{}}
		defer func() {
			for _, l := range w.lives { // within the bubble, also when the test gives up
				l.cancel()
			}
		}()
		f(w)
	})
}

// lives is one planner's life; end ends it cleanly, and kill without giving anything back.
type life struct {
	*Planner
	cancel context.CancelFunc
	done   chan error
}

func (w *world) planner(o Options) *life {
	w.Helper()
	if o.Clock == nil {
		o.Clock = w.clk
	}
	o.Logger = slog.New(slog.DiscardHandler)
	p, err := New(w.store, o)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &life{Planner: p, cancel: cancel, done: make(chan error, 1)}
	go func() { l.done <- p.Run(ctx) }()
	w.lives = append(w.lives, l)
	return l
}

func (l *life) end(w *world) {
	w.Helper()
	l.cancel()
	if err := <-l.done; err != nil {
		w.Fatal(err)
	}
}

// apply makes the file set equal to the named specs, given as JSON.
func (w *world) apply(specs map[string]string) store.Applied {
	w.Helper()
	a := store.Apply{Origin: schedule.OriginFile, By: "test"}
	for name, text := range specs {
		a.Items = append(a.Items, schedule.Schedule{Name: name, Spec: w.spec(text)})
	}
	slices.SortFunc(a.Items, func(a, b schedule.Schedule) int { return compareText(a.Name, b.Name) })
	done, err := w.store.Apply(w.Context(), a)
	if err != nil {
		w.Fatal(err)
	}
	return done
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (w *world) spec(text string) schedule.Spec {
	w.Helper()
	var s schedule.Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		w.Fatal(err)
	}
	s.Target.Command = &schedule.Command{Argv: []string{"true"}}
	full, err := s.Complete(schedule.Defaults{})
	if err != nil {
		w.Fatal(err)
	}
	return full
}

func id(name string) schedule.ID { return schedule.DeclaredID(schedule.OriginFile, "", name) }

// dues lists the due instants of a schedule's runs, ascending, as seconds since the start of the bubble.
func (w *world) dues(name string) (out []float64) {
	w.Helper()
	for _, r := range w.runs(name) {
		out = append(out, r.Due.Sub(epoch).Seconds())
	}
	return out
}

func (w *world) runs(name string) (all []run.Run) {
	w.Helper()
	page := store.Page{Limit: 1000}
	for {
		items, next, err := w.store.Runs(w.Context(), store.RunQuery{Schedule: id(name), Page: page})
		if err != nil {
			w.Fatal(err)
		}
		all = append(all, items...)
		if page.After = next; next == "" {
			slices.Reverse(all)
			return all
		}
	}
}

// gaps lists the gaps of a schedule as "reason first..last count", in seconds.
func (w *world) gaps(name string) (out []string) {
	w.Helper()
	items, _, err := w.store.Gaps(w.Context(), store.GapQuery{Schedule: id(name), Page: store.Page{Limit: 1000}})
	if err != nil {
		w.Fatal(err)
	}
	slices.Reverse(items)
	for _, g := range items {
		out = append(out, fmt.Sprintf("%s %v..%v %d", g.Reason, g.First.Sub(epoch).Seconds(), g.Last.Sub(epoch).Seconds(), g.Count))
	}
	return out
}

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// every lists from, from+step, ... below to.
func every(from, step, to float64) (out []float64) {
	for v := from; v < to; v += step {
		out = append(out, v)
	}
	return out
}

func (w *world) same(what string, got, want any) {
	w.Helper()
	if g, e := fmt.Sprint(got), fmt.Sprint(want); g != e {
		w.Errorf("%s:\n got %s\nwant %s", what, g, e)
	}
}
