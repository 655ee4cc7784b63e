package sqlstore_test

import (
	"path/filepath"
	"testing"
	"time"

	decide "github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/sqlite"
	"github.com/belfryhq/belfry/store/storetest"
)

// A count below store.CountLimit is taken for all there is, so the counter that is wired in may not stop sooner.
func TestTheCounterDoesNotStopBelowTheStoresLimit(t *testing.T) {
	t.Parallel()
	if decide.CountLimit < store.CountLimit {
		t.Errorf("plan.Count stops at %d, and stores go on from %d", decide.CountLimit, store.CountLimit)
	}
}

// A resume must end, whatever a counter says.
func TestACounterThatDoesNotAdvanceIsLeft(t *testing.T) {
	t.Parallel()
	clk := storetest.NewClock(start)
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "belfry.db"), sqlite.Options{Clock: clk, Poll: -1,
		Count: func(schedule.ID, []byte, time.Time, time.Time) (int, time.Time, time.Time) {
			return store.CountLimit, start, start
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := player{T: t, Store: s, clk: clk}
	id := p.declare("a")["a"]
	clk.Advance(time.Second)
	_, err = p.Pause(p.Context(), id, schedule.Pause{})
	p.must(err)
	clk.Advance(time.Hour)
	_, err = p.Resume(p.Context(), id, "", false)
	p.must(err)
	gaps, _, err := p.Gaps(p.Context(), store.GapQuery{Schedule: id, Reason: run.Paused})
	p.must(err)
	if len(gaps) != 1 || gaps[0].Open {
		t.Errorf("gaps after the pause: %+v", gaps)
	}
}
