package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

var contentionTests = []test{
	{"of planners for the claim has one winner", testClaimRace},
	{"of planners for a window has one winner", testCommitRace},
	{"of planners for an occurrence makes one run", testOccurrenceRace},
	{"of workers takes each run once", testTakeRace},
	{"of workers for a lock has one owner", testLockRace},
	{"of sweepers recovers each run once", testRecoverRace},
	{"of a settling worker and a sweeper has one winner", testSettleRace},
	{"of two files that say the same makes one set", testApplyRace},
	{"of an edit and a commit loses nothing", testEditRace},
}

// race runs one function on each of two handles at once, each of them n times, and retries what the database was too
// busy for.
func (w *world) race(n int, f func(handle, i int, s store.Store) error) {
	w.Helper()
	var all sync.WaitGroup
	for handle, s := range []store.Store{w.bare, w.second()} {
		all.Go(func() {
			for i := range n {
				err := f(handle, i, s)
				for tries := 0; errors.Is(err, store.ErrBusy) && tries < 100; tries++ {
					err = f(handle, i, s)
				}
				if err != nil {
					w.Errorf("handle %d, turn %d: %v", handle, i, err)
				}
			}
		})
	}
	all.Wait()
	w.watcher.seen = nil // the steps in between are not known
	w.watcher.look("race")
}

// tally counts from several goroutines.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(word string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[word] += n
}

// R-LEAD-7: replicas on one store elect exactly one.
func testClaimRace(w *world) {
	var won tally
	w.race(turns, func(handle, i int, s store.Store) error {
		token := fmt.Sprintf("%d", handle)
		swapped, err := s.For(i).Swap(w.Context(), nil, timeline.Claim{Token: token, Epoch: 1, Nonce: token, CoveredUntil: start})
		if swapped {
			won.add(fmt.Sprint(i), 1)
		}
		return err
	})
	for i := range turns {
		w.same("winners", 1, won.n[fmt.Sprint(i)])
	}
}

// P3, P4: both have the same claim in hand; who commits second writes nothing.
func testCommitRace(w *world) {
	id := w.declare("minutely")
	row := w.row(id)
	claims := make([]timeline.Claim, turns+1)
	claims[0] = w.claim
	for i := range turns { // whoever wins a turn leaves the same claim, so that both meet again in the next one
		claims[i+1] = claims[i]
		claims[i+1].Nonce, claims[i+1].CoveredUntil = fmt.Sprintf("turn %d", i), at(float64(i+1))
	}
	runs := [2][]run.Run{}
	for handle := range runs {
		for i := range turns {
			runs[handle] = append(runs[handle], w.due(id, at(float64(i))))
		}
	}
	var count tally
	w.race(turns, func(handle, i int, s store.Store) error {
		done, err := s.Commit(w.Context(), store.Commit{
			Old: claims[i], Next: claims[i+1], Lead: never,
			Plans: []store.Plan{{Schedule: id, Change: row.Change, From: start, Runs: runs[handle][i : i+1]}},
		})
		count.add("inserted", done.Inserted)
		count.add("duplicate", done.Duplicate)
		if errors.Is(err, store.ErrFenced) {
			count.add("fenced", 1)
			return nil
		}
		return err
	})
	w.same("commits", map[string]int{"inserted": turns, "fenced": turns, "duplicate": 0}, count.n)
	w.same("runs", turns, len(w.allRuns(store.RunQuery{})))
}

// R-KEY-3, R-KEY-4, R-KEY-8, S-021: two shards' planners, each with a claim of its own, so that nothing but the key
// keeps them apart.
func testOccurrenceRace(w *world) {
	id := w.declare("minutely")
	row := w.row(id)
	other := timeline.Claim{Token: "other", Epoch: 1, Nonce: "other", CoveredUntil: start}
	_, err := w.For(1).Swap(w.Context(), nil, other)
	w.must(err)
	claims := [2]timeline.Claim{w.claim, other}
	runs := [2][]run.Run{}
	for handle := range runs {
		for i := range turns {
			runs[handle] = append(runs[handle], w.due(id, at(float64(i))))
		}
	}
	var count tally
	w.race(turns, func(handle, i int, s store.Store) error {
		next := claims[handle]
		next.Nonce = fmt.Sprintf("%d/%d", handle, i)
		done, err := s.Commit(w.Context(), store.Commit{
			Shard: handle, Old: claims[handle], Next: next, Lead: never,
			Plans: []store.Plan{{Schedule: id, Change: row.Change, From: start, Runs: runs[handle][i : i+1]}},
		})
		if err == nil {
			claims[handle] = next
			count.add("inserted", done.Inserted)
			count.add("duplicate", done.Duplicate)
		}
		return err
	})
	w.same("commits", map[string]int{"inserted": turns, "duplicate": turns}, count.n)
	w.same("runs", turns, len(w.allRuns(store.RunQuery{})))
}

func testTakeRace(w *world) {
	id := w.declare("minutely")
	var runs []run.Run
	for i := range 4 * turns {
		runs = append(runs, w.due(id, at(-float64(i))))
	}
	w.insert(id, runs...)
	nodes := [2]run.NodeID{w.node(), w.node()}
	var count, fences tally
	w.race(turns, func(handle, _ int, s store.Store) error {
		taken, err := s.Take(w.Context(), store.Take{Node: nodes[handle], Pools: []store.PoolRoom{{Pool: "default", Free: 3}}})
		for _, r := range taken.Runs {
			count.add(r.ID.String(), 1)
			fences.add(fmt.Sprint(r.Fence), 1)
		}
		return err
	})
	w.same("runs", len(runs), len(count.n))
	w.same("fences", len(runs), len(fences.n))
	for id, n := range count.n {
		if n != 1 {
			w.Errorf("run %s was taken %d times", id, n)
		}
	}
}

// R-OVL-5: at most one run owns a lock key, whoever takes it.
func testLockRace(w *world) {
	id := w.declare("minutely")
	nodes := [2]run.NodeID{w.node(), w.node()}
	for turn := range turns {
		w.insert(id, w.due(id, at(-float64(2*turn)), locked), w.due(id, at(-float64(2*turn+1)), locked))
		var count tally
		var mu sync.Mutex
		var owner store.Held
		w.race(1, func(handle, _ int, s store.Store) error {
			taken, err := s.Take(w.Context(), store.Take{Node: nodes[handle], Pools: []store.PoolRoom{{Pool: "default", Free: 1}}})
			count.add("taken", len(taken.Runs))
			count.add("skipped", len(taken.Skipped))
			if len(taken.Runs) > 0 {
				mu.Lock()
				owner = held(taken.Runs[0])
				mu.Unlock()
			}
			return err
		})
		if count.n["taken"] != 1 || count.n["skipped"] > 1 {
			w.Fatalf("turn %d: %v", turn, count.n)
		}
		w.settle(w.outcome(owner, run.Succeeded))
		for _, r := range w.allRuns(store.RunQuery{Statuses: []run.Status{run.Pending}}) { // it came after the end of both
			w.same("taken later", r.ID, w.takeOne(nodes[0]).Run)
			w.settle(w.outcome(held(w.run(r.ID)), run.Succeeded))
		}
	}
}

func testRecoverRace(w *world) {
	id, node := w.declare("minutely"), w.node()
	var runs []run.Run
	for i := range turns {
		runs = append(runs, w.due(id, at(-float64(i))))
	}
	w.insert(id, runs...)
	w.same("taken", turns, len(w.take(node, 2*turns).Runs))
	w.clk.Advance(lease + time.Second)
	seen := w.seen(node)
	var count tally
	w.race(turns, func(_, _ int, s store.Store) error {
		recovered, err := s.Recover(w.Context(), node, seen, 2)
		for _, r := range recovered {
			count.add(r.Run.String(), 1)
		}
		return err
	})
	w.same("recovered", turns, len(count.n))
	for _, r := range w.allRuns(store.RunQuery{}) {
		w.same("times", 1, count.n[r.ID.String()])
		w.same("lost deliveries on record", 1, len(w.attempts(r.ID)))
	}
}

// P4, S-037: either the outcome is there and the sweeper found nothing, or the run is pending and the outcome refused.
func testSettleRace(w *world) {
	id := w.declare("minutely")
	for turn := range turns {
		node := w.node()
		planned := w.insert(id, w.due(id, at(-float64(turn))))[0]
		h := w.running(node)
		w.clk.Advance(lease + time.Second)
		seen := w.seen(node)
		var count tally
		w.race(1, func(handle, _ int, s store.Store) error {
			if handle == 0 {
				refused, err := s.Settle(w.Context(), node, []store.Outcome{w.outcome(h, run.Succeeded)})
				count.add("refused", len(refused))
				return err
			}
			recovered, err := s.Recover(w.Context(), node, seen, 10)
			count.add("recovered", len(recovered))
			return err
		})
		w.same("refused outcomes and recovered runs", count.n["refused"], count.n["recovered"])
		if count.n["recovered"] == 0 {
			w.is(planned, run.Succeeded)
			continue
		}
		w.is(planned, run.Pending)
		w.settle(w.outcome(w.takeOne(w.node()), run.Succeeded))
	}
}

// S-029, S-028: several nodes read the same file at boot.
func testApplyRace(w *world) {
	items := []schedule.Schedule{w.item("a", time.Minute), w.item("b", time.Hour)}
	var count tally
	w.race(turns, func(_, _ int, s store.Store) error {
		done, err := s.Apply(w.Context(), store.Apply{Origin: schedule.OriginFile, Items: items})
		count.add("created", len(done.Created))
		count.add("unchanged", done.Unchanged)
		count.add("else", len(done.Updated)+len(done.Removed))
		return err
	})
	w.same("applied", map[string]int{"created": 2, "unchanged": 4*turns - 2, "else": 0}, count.n)
	w.same("revision", uint64(1), w.schedule("a").Revision)
}

// PROTOCOL A2, A3: whichever comes first, no run of the old definition that is due after the edit stays, and the
// schedule is unsettled from the edit on.
func testEditRace(w *world) {
	id := w.declare("s")
	for turn := range turns {
		row := w.row(id)
		r := w.due(id, at(3600+float64(turn)))
		next := w.next()
		item := w.item("s", time.Duration(turn+2)*time.Minute)
		w.race(1, func(handle, _ int, s store.Store) error {
			if handle == 0 {
				_, err := s.Commit(w.Context(), store.Commit{
					Old: w.claim, Next: next, Lead: never,
					Plans: []store.Plan{{Schedule: id, Change: row.Change, From: w.clk.Now(), Runs: []run.Run{r}, Unpin: true}},
				})
				return err
			}
			_, err := s.Apply(w.Context(), store.Apply{Origin: schedule.OriginFile, Items: []schedule.Schedule{item}})
			return err
		})
		w.claim = next
		w.gone(r.ID)
		row = w.row(id)
		if !row.Dirty || row.Pin.IsZero() || row.Pin.After(w.schedule("s").ValidFrom) {
			w.Errorf("turn %d: dirty %v, pinned at %s, edited at %s", turn, row.Dirty, row.Pin, w.schedule("s").ValidFrom)
		}
		w.clk.Advance(time.Second)
	}
}
