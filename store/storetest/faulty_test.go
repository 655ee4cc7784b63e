package storetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/memory"
	"github.com/belfryhq/belfry/store/storetest"
	"github.com/belfryhq/belfry/timeline"
)

var start = time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC)

func claimed(t *testing.T, f *storetest.Faulty, old *timeline.Claim, next timeline.Claim) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	swapped, err := f.For(0).Swap(ctx, old, next)
	if err == nil && !swapped {
		t.Fatal("fenced")
	}
	return err
}

// A fault is worth something only if it does exactly what it says: whether the call took effect is the point.
func TestFaultsTakeEffectAsTheySay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault storetest.Fault
		err   error
		done  bool
	}{
		"none":       {storetest.NoFault, nil, true},
		"fail":       {storetest.Fail, storetest.ErrFault, false},
		"lost reply": {storetest.LostReply, storetest.ErrFault, true},
		"hang":       {storetest.Hang, context.DeadlineExceeded, false},
		"late":       {storetest.Late, context.DeadlineExceeded, true},
		"busy":       {storetest.Busy, store.ErrBusy, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inner := memory.New(storetest.NewClock(start), nil)
				f := storetest.NewFaulty(inner, storetest.Each(map[string][]storetest.Fault{"Swap": {c.fault}}))
				if err := claimed(t, f, nil, timeline.Claim{Token: "a", Nonce: "1"}); !errors.Is(err, c.err) {
					t.Errorf("error is %v, want %v", err, c.err)
				}
				if _, done, err := inner.Planner(t.Context(), 0); done != c.done || err != nil {
					t.Errorf("done: %v, want %v; %v", done, c.done, err)
				}
				if _, _, err := f.For(0).Load(t.Context()); err != nil {
					t.Errorf("another call failed, too: %v", err)
				}
			})
		})
	}
}

func TestScriptsCountTheCallsOfEachMethod(t *testing.T) {
	t.Parallel()
	f := storetest.NewFaulty(memory.New(storetest.NewClock(start), nil), storetest.Each(map[string][]storetest.Fault{
		"Living": {storetest.NoFault, storetest.Fail},
	}))
	var failed []int
	for n := 1; n <= 4; n++ {
		if _, err := f.Silent(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := f.Living(t.Context()); err != nil {
			failed = append(failed, n)
		}
	}
	if len(failed) != 1 || failed[0] != 2 || f.Calls("Living") != 4 {
		t.Errorf("call %v failed of %d, want the second of 4", failed, f.Calls("Living"))
	}
	f.Follow(storetest.Always(storetest.Busy, "Run", "Take"))
	if _, err := f.Run(t.Context(), run.ID{}); !errors.Is(err, store.ErrBusy) {
		t.Errorf("error is %v, want busy", err)
	}
	f.Follow(nil)
	if _, err := f.Run(t.Context(), run.ID{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("error is %v, want not found", err)
	}
}

func TestRandomFaultsRepeatWithTheirSeed(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64) (faults [100]storetest.Fault) {
		script := storetest.Randomly(seed, 3, storetest.Fail, storetest.LostReply)
		for i := range faults {
			faults[i] = script("Commit", i)
		}
		return faults
	}
	first, second := draw(1), draw(1)
	if first != second {
		t.Error("one seed gave two series of faults")
	}
	if draw(1) == draw(2) || draw(1) == [100]storetest.Fault{} {
		t.Error("the seed changes nothing")
	}
}

func TestRowsFailAfterTheLastOne(t *testing.T) {
	t.Parallel()
	f := storetest.NewFaulty(memory.New(storetest.NewClock(start), nil), storetest.Always(storetest.LostReply, "Snapshot"))
	var got error
	for _, err := range f.Snapshot(t.Context(), 0) {
		got = err
	}
	if !errors.Is(got, storetest.ErrFault) {
		t.Errorf("error is %v, want the fault", got)
	}
}
