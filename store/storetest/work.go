package storetest

import (
	"bytes"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// lease is what nodes of the suite ask for.
const lease = 10 * time.Second

// node starts the life of a worker.
func (w *world) node() run.NodeID {
	w.Helper()
	id := run.NodeID(w.newID())
	w.beat(id)
	return id
}

func (w *world) beat(id run.NodeID) {
	w.Helper()
	w.must(w.Beat(w.Context(), store.Node{ID: id, Host: "host", PID: 1, StartedAt: start}, lease))
}

// take asks for up to n runs of the default pool, none of them early.
func (w *world) take(node run.NodeID, n int) store.Taken {
	w.Helper()
	return w.ask(store.Take{Node: node, Pools: []store.PoolRoom{{Pool: "default", Free: n}}})
}

func (w *world) ask(t store.Take) store.Taken {
	w.Helper()
	taken, err := w.Take(w.Context(), t)
	w.must(err)
	return taken
}

// takeOne takes the one run that must be there to take.
func (w *world) takeOne(node run.NodeID) store.Held {
	w.Helper()
	taken := w.take(node, 1)
	if len(taken.Runs) != 1 {
		w.Fatalf("took %d runs, want 1", len(taken.Runs))
	}
	return held(taken.Runs[0])
}

func held(r run.Run) store.Held { return store.Held{Run: r.ID, Fence: r.Fence} }

// begin moves a claimed run to running, now.
func (w *world) begin(h store.Held) {
	w.Helper()
	lost, err := w.Start(w.Context(), []store.Started{{Held: h, At: w.clk.Now()}})
	w.must(err)
	if len(lost) != 0 {
		w.Fatalf("a run that was held could not start: %v", lost)
	}
}

// outcome is how an execution that ended now and gave an answer ended.
func (w *world) outcome(h store.Held, status run.Status) store.Outcome {
	return store.Outcome{Held: h, Status: status, Answered: true, StartedAt: w.clk.Now(), FinishedAt: w.clk.Now()}
}

// settle writes one outcome that must be accepted.
func (w *world) settle(o store.Outcome) {
	w.Helper()
	if refused := w.send(o); len(refused) != 0 {
		w.Fatalf("the outcome was refused: %v", refused)
	}
}

// send writes one outcome and returns what was refused.
func (w *world) send(o store.Outcome) []store.Refused {
	w.Helper()
	refused, err := w.Settle(w.Context(), run.NodeID{}, []store.Outcome{o})
	w.must(err)
	return refused
}

// recover takes the lease of a node that has been silent for longer than its lease.
func (w *world) recover(node run.NodeID) []store.Recovered {
	w.Helper()
	w.clk.Advance(lease + time.Second)
	recovered, err := w.Recover(w.Context(), node, w.seen(node), 100)
	w.must(err)
	return recovered
}

// seen is when a silent node was seen last, as a sweeper reads it.
func (w *world) seen(node run.NodeID) time.Time {
	w.Helper()
	silent, err := w.Silent(w.Context())
	w.must(err)
	for _, n := range silent {
		if n.ID == node {
			return n.SeenAt
		}
	}
	w.Fatalf("node %s is not listed as silent", node)
	return time.Time{}
}

// run reads one run.
func (w *world) run(id run.ID) run.Run {
	w.Helper()
	r, err := w.Store.Run(w.Context(), id)
	w.must(err)
	return r
}

// is fails the test unless the run has the status.
func (w *world) is(id run.ID, want run.Status) run.Run {
	w.Helper()
	r := w.run(id)
	if r.Status != want {
		w.Fatalf("run is %s, want %s", r.Status, want)
	}
	return r
}

// gone fails the test unless there is no such run.
func (w *world) gone(id run.ID) {
	w.Helper()
	_, err := w.Store.Run(w.Context(), id)
	w.mustBe(store.ErrNotFound, err)
}

// allRuns lists every run, page by page.
func (w *world) allRuns(q store.RunQuery) []run.Run {
	w.Helper()
	return pages(w, func(p store.Page) ([]run.Run, string, error) {
		q.Page = p
		return w.Runs(w.Context(), q)
	})
}

func (w *world) allGaps(q store.GapQuery) []run.Gap {
	w.Helper()
	return pages(w, func(p store.Page) ([]run.Gap, string, error) {
		q.Page = p
		return w.Gaps(w.Context(), q)
	})
}

// pages reads a listing to its end.
func pages[T any](w *world, read func(store.Page) ([]T, string, error)) (all []T) {
	w.Helper()
	for p := (store.Page{Limit: 1000}); ; {
		items, next, err := read(p)
		w.must(err)
		all = append(all, items...)
		if next == "" {
			return all
		}
		p.After = next
	}
}

// schedule reads one live schedule by its name.
func (w *world) schedule(name string) schedule.Schedule {
	w.Helper()
	items, _, err := w.Schedules(w.Context(), store.ScheduleQuery{Name: name})
	w.must(err)
	if len(items) != 1 {
		w.Fatalf("%d live schedules are called %q, want 1", len(items), name)
	}
	return items[0]
}

// unsettled is up to where a schedule is settled.
func (w *world) unsettled(id schedule.ID) time.Time {
	w.Helper()
	t, err := w.Unsettled(w.Context(), id)
	w.must(err)
	return t
}

// attempts and history read what is recorded beside a run.
func (w *world) attempts(id run.ID) []run.Attempt {
	w.Helper()
	got, err := w.Attempts(w.Context(), id)
	w.must(err)
	return got
}

func (w *world) history(id run.ID) []run.Event {
	w.Helper()
	got, err := w.History(w.Context(), id)
	w.must(err)
	return got
}

// output reads a delivery's output from its beginning.
func (w *world) output(id run.ID, delivery int) string {
	w.Helper()
	var b bytes.Buffer
	_, err := w.ReadOutput(w.Context(), id, delivery, 0, &b)
	w.must(err)
	return b.String()
}

func sortedHeld(held []store.Held) []store.Held {
	held = slices.Clone(held)
	slices.SortFunc(held, func(a, b store.Held) int { return bytes.Compare(a.Run[:], b.Run[:]) })
	return held
}
