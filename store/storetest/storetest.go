// Package storetest holds every store to the contract of package store. A store's own tests call Run and RunRandom;
// tests of the loops use Clock and Faulty.
//
// The suite is written from the contract, never from an implementation. Each test opens a fresh store with a clock that
// the test drives by hand; there are no sleeps. Where the contract leaves something open the suite does, too.
package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/store"
)

// Harness says how to open the store under test.
type Harness struct {
	// Open returns a store on new, empty data. It closes it, too, by t.Cleanup.
	Open func(t *testing.T, clk clock.Clock, count store.Counter) store.Store
	// Reopen returns a second handle, as another process would have, on the data of a store that Open returned, and
	// closes it by t.Cleanup. Nil: the store has no such thing, and the tests of contention run on one handle.
	Reopen func(t *testing.T, first store.Store, clk clock.Clock, count store.Counter) store.Store
}

// Run runs the whole suite as parallel subtests.
func Run(t *testing.T, h Harness) {
	groups := map[string][]test{
		"claims": claimTests, "commit": commitTests, "plans": planTests, "settled": settledTests,
		"apply": applyTests, "unplan": unplanTests, "pause": pauseTests, "pauses": pausedRunTests, "rows": rowTests, "pull": pullTests,
		"take": takeTests, "locks": lockTests, "settle": settleTests, "release": releaseTests, "output": outputTests,
		"recover": recoverTests, "nodes": nodeTests, "reader": readerTests, "tenants": tenantTests,
		"contention": contentionTests,
	}
	for group, tests := range groups {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			for _, c := range tests {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(newWorld(t, h))
				})
			}
		})
	}
}

// test is one rule of the contract.
type test struct {
	name string
	run  func(w *world)
}

// Clock is a clock.Clock that stands still until the test moves it. It may be used from any goroutine.
type Clock struct {
	mu      sync.Mutex
	wall    time.Time
	elapsed time.Duration
}

// NewClock returns a clock that shows the given instant.
func NewClock(now time.Time) *Clock { return &Clock{wall: now.UTC()} }

// Now returns the wall time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall
}

// Elapsed returns how far the clock was advanced; steps do not count.
func (c *Clock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed
}

// Advance lets time pass.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.elapsed = c.wall.Add(d), c.elapsed+d
}

// Step moves the wall clock alone, as somebody who sets it does.
func (c *Clock) Step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}
