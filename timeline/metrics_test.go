package timeline_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/timeline"
)

// An observer is told of every signal.
type observer func(s timeline.Signal, stage timeline.Stage, value float64, n int)

func (o observer) Observe(s timeline.Signal, seconds float64, n int)  { o(s, "", seconds, n) }
func (o observer) Add(s timeline.Signal, stage timeline.Stage, n int) { o(s, stage, 0, n) }
func (o observer) Set(s timeline.Signal, value float64)               { o(s, "", value, 1) }

// R-MET-1, R-MET-2, R-MET-3: the four golden signals, and a fenced commit among the errors of the lease.
func TestSignals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sum, n, last := map[timeline.Signal]float64{}, map[timeline.Signal]int{}, map[timeline.Signal]float64{}
		failed := map[timeline.Stage]int{}
		s := newStage(t, timeline.Options{})
		s.src.rows = []timeline.Row{row("a", "1", every(5*time.Second)), row("b", "1", every(5*time.Second)), row("bad", "1", nil)}
		s.join(timeline.Options{Metrics: observer(func(signal timeline.Signal, stage timeline.Stage, value float64, times int) {
			if signal == timeline.SignalErrors {
				failed[stage] += times
			}
			n[signal] += times
			sum[signal] += value * float64(times)
			last[signal] = value
			if signal == timeline.SignalLag && value > 2 {
				t.Errorf("the lag is %v s", value)
			}
		})})
		s.meanwhile = func(due time.Time) error {
			if due.Second() != 10 {
				time.Sleep(500 * time.Millisecond) // of the bubble
				return nil
			}
			old := s.store.record(t)
			theirs := old
			theirs.Token, theirs.Nonce, theirs.Epoch = "other", "theirs", old.Epoch+1
			if ok, err := s.store.Claims.Swap(t.Context(), &old, theirs); !ok || err != nil {
				t.Error(ok, err)
			}
			return nil
		}
		if err := s.runFor(12 * time.Second); err != nil {
			t.Error(err)
		}
		// At 0, 5 and 10 both were handed over, each a microsecond after its instant at most, which the window costs.
		if n[timeline.SignalDispatched] != 3*2 || n[timeline.SignalDelay] != 3*2 || sum[timeline.SignalDelay] > 6e-6 {
			t.Errorf("%d dispatched, %d delays of %v s", n[timeline.SignalDispatched], n[timeline.SignalDelay], sum[timeline.SignalDelay])
		}
		if got := sum[timeline.SignalTick]; math.Abs(got-2*0.5) > 1e-9 {
			t.Errorf("ticks took %v s, want two times half a second", got)
		}
		if last[timeline.SignalEntries] != 2 || n[timeline.SignalReconcile] < 2 {
			t.Errorf("%v entries, %d reads", last[timeline.SignalEntries], n[timeline.SignalReconcile])
		}
		if failed[timeline.StageLease] != 1 || failed[timeline.StageMake] != n[timeline.SignalReconcile] {
			t.Errorf("errors: %v", failed)
		}
	})
}
