package storetest

import (
	"context"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

var nodeTests = []test{
	{"show what they said", testNodeKeepsEveryField},
	{"live as long as their lease", testNodeLives},
	{"leave when they hold nothing", testNodeLeaves},
	{"that leave with runs can be recovered", testNodeLeavesWithRuns},
	{"read the store's clock", testNowIsTheClock},
	{"are woken until they stop listening", testWake},
}

func testNodeKeepsEveryField(w *world) {
	id := run.NodeID(w.newID())
	n := store.Node{
		ID: id, Host: "host", PID: 4711, Version: "1.2", ZoneRelease: "2026a", Roles: []string{"planner", "worker"}, Pools: []string{"default"},
		StartedAt: at(-5.000001), SeenAt: at(99), LeaseUntil: at(99), LostAt: at(99), // the last three are the store's to say
	}
	w.must(w.Beat(w.Context(), n, lease))
	n.SeenAt, n.LeaseUntil, n.LostAt = at(0), at(10), time.Time{}
	living, err := w.Living(w.Context())
	w.must(err)
	w.same("living", []store.Node{n}, living)
	w.clk.Advance(time.Second)
	n.Version = "1.3"
	w.must(w.Beat(w.Context(), n, 2*lease))
	n.SeenAt, n.LeaseUntil = at(1), at(21)
	living, err = w.Living(w.Context())
	w.must(err)
	w.same("after another beat", []store.Node{n}, living)
}

// S-038, R-LEAD-16: one clock judges all leases, the store's.
func testNodeLives(w *world) {
	count := func() [2]int {
		w.Helper()
		living, err := w.Living(w.Context())
		w.must(err)
		silent, err := w.Silent(w.Context())
		w.must(err)
		return [2]int{len(living), len(silent)}
	}
	node := w.node()
	w.same("living and silent", [2]int{1, 0}, count())
	w.clk.Advance(lease - time.Microsecond)
	w.same("living and silent, just before the end", [2]int{1, 0}, count())
	w.clk.Advance(2 * time.Microsecond)
	w.same("living and silent, just after it", [2]int{0, 1}, count())
	w.beat(node)
	w.same("living and silent, seen again", [2]int{1, 0}, count())
	w.recover(node)
	w.same("living and silent, lost and empty", [2]int{0, 0}, count())
}

func testNodeLeaves(w *world) {
	node := w.node()
	w.must(w.Leave(w.Context(), node))
	living, err := w.Living(w.Context())
	w.must(err)
	w.same("living", 0, len(living))
	_, err = w.Take(w.Context(), store.Take{Node: node, Pools: []store.PoolRoom{{Pool: "default", Free: 1}}})
	w.mustBe(store.ErrLost, err)
	w.clk.Advance(time.Hour)
	silent, err := w.Silent(w.Context())
	w.must(err)
	w.same("silent", 0, len(silent))
}

// P1: a node that goes although it holds something must not take its row along, or nobody would ever recover its runs.
func testNodeLeavesWithRuns(w *world) {
	id, node := w.declare("minutely"), w.node()
	planned := w.insert(id, w.due(id, at(0)))[0]
	w.running(node)
	w.mustBe(store.ErrStale, w.Leave(w.Context(), node))
	w.recover(node)
	w.is(planned, run.Pending)
	w.same("delivered again", planned, w.takeOne(w.node()).Run)
}

// D16: on stores without a clock of their own it is the injected one, cut to microseconds.
func testNowIsTheClock(w *world) {
	w.clk.Advance(1234567 * time.Nanosecond)
	now, err := w.Now(w.Context())
	w.must(err)
	w.same("now", at(0.001234), now)
}

// Hints may be lost, merged or false, so one commit proves nothing; but of many, one must arrive.
func testWake(w *world) {
	id := w.declare("minutely")
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	hints := w.Wake(ctx)
	deadline := time.After(10 * time.Second)
	for i, woken := 0, false; !woken; i++ {
		w.insert(id, w.due(id, at(float64(i))))
		select {
		case _, woken = <-hints:
			if !woken {
				w.Fatal("the channel was closed early")
			}
		case <-deadline:
			w.Fatalf("%d commits and no hint", i)
		case <-time.After(50 * time.Millisecond):
		}
	}
	cancel()
	for {
		select {
		case _, open := <-hints:
			if !open {
				return
			}
		case <-deadline:
			w.Fatal("the channel was not closed when its context ended")
		}
	}
}
