package sqlite_test

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/memory"
	"github.com/belfryhq/belfry/store/sqlite"
	"github.com/belfryhq/belfry/store/storetest"
)

// paths remembers where a store's file is, for a second handle.
var paths sync.Map

func harness() storetest.Harness {
	return storetest.Harness{
		Open: func(t *testing.T, clk clock.Clock, count store.Counter) store.Store {
			path := filepath.Join(t.TempDir(), "belfry.db")
			s := open(t, path, clk, count)
			paths.Store(s, path)
			return s
		},
		Reopen: func(t *testing.T, first store.Store, clk clock.Clock, count store.Counter) store.Store {
			path, _ := paths.Load(first)
			return open(t, path.(string), clk, count)
		},
	}
}

func open(t *testing.T, path string, clk clock.Clock, count store.Counter) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: clk, Count: count})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness())
}

func TestRandomOperationsAgreeWithMemory(t *testing.T) {
	t.Parallel()
	storetest.RunRandom(t, harness(), storetest.Harness{
		Open: func(_ *testing.T, clk clock.Clock, count store.Counter) store.Store { return memory.New(clk, count) },
	})
}
