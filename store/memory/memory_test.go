package memory_test

import (
	"testing"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/memory"
	"github.com/belfryhq/belfry/store/storetest"
)

var harness = storetest.Harness{
	Open: func(_ *testing.T, clk clock.Clock, count store.Counter) store.Store { return memory.New(clk, count) },
	Reopen: func(_ *testing.T, first store.Store, clk clock.Clock, _ store.Counter) store.Store {
		return first.(*memory.Store).Another(clk)
	},
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness)
}

// The oracle against itself shows that the comparison is deterministic, and keeps the watcher's eye on it.
func TestRandomOperations(t *testing.T) {
	t.Parallel()
	storetest.RunRandom(t, harness, harness)
}
