package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/target"
)

// Outcomes are written until they are written, also when the worker is told to stop meanwhile.
func TestOutcomesSurviveAStoreThatIsDown(t *testing.T) {
	inBubble(t, func(w *world) {
		back := w.begin.Add(5 * time.Second)
		w.settle = func(ctx context.Context, n run.NodeID, o []store.Outcome) ([]store.Refused, error) {
			if w.clk.Now().Before(back) {
				return nil, errDown
			}
			return w.Store.Settle(ctx, n, o)
		}
		ids := w.plan(spaced(10, 0, time.Microsecond))
		_, stop := w.work()
		time.Sleep(2 * time.Second)
		stop()
		w.expect(run.Succeeded, ids...)
		if nodes, err := w.Living(w.Context()); err != nil || len(nodes) != 0 {
			w.Errorf("nodes left: %v, %v", nodes, err)
		}
	})
}

// PROTOCOL B2: the reply to a settle may be lost; sending it again is a success.
func TestLostReplyToSettleIsNoLoss(t *testing.T) {
	inBubble(t, func(w *world) {
		lose := true
		w.settle = func(ctx context.Context, n run.NodeID, o []store.Outcome) ([]store.Refused, error) {
			refused, err := w.Store.Settle(ctx, n, o)
			if lose {
				lose = false
				return nil, errDown
			}
			return refused, err
		}
		ids := w.plan(spaced(3, 0, time.Microsecond))
		_, stop := w.work()
		time.Sleep(2 * time.Second)
		stop()
		w.expect(run.Succeeded, ids...)
		if w.log.has("refused") {
			w.Error("an outcome was called refused")
		}
	})
}

// PROTOCOL A8: one text that the database refuses does not hold up the outcomes of others.
func TestPoisonedOutcomeIsFoundAndStoredWithoutIt(t *testing.T) {
	inBubble(t, func(w *world) {
		w.settle = func(ctx context.Context, n run.NodeID, o []store.Outcome) ([]store.Refused, error) {
			if slices.ContainsFunc(o, func(o store.Outcome) bool { return strings.Contains(o.Error, "\x00") }) {
				return nil, fmt.Errorf("a NUL: %w", store.ErrPoison)
			}
			return w.Store.Settle(ctx, n, o)
		}
		ids := w.plan(spaced(10, 0, time.Microsecond))
		w.job = func(_ context.Context, d target.Delivery) error {
			if d.Run.ID == ids[6] {
				return errors.New("bad\x00text")
			}
			return nil
		}
		_, stop := w.work()
		time.Sleep(2 * time.Second)
		stop()
		if r := w.row(ids[6]); r.Status != run.Failed || r.Error != "bad?text" {
			w.Errorf("the poisoned one is %s %q", r.Status, r.Error)
		}
		w.expect(run.Succeeded, slices.Delete(ids, 6, 7)...)
	})
}

// R-STA-7: outcomes travel together.
func TestOutcomesAreWrittenInBatches(t *testing.T) {
	inBubble(t, func(w *world) {
		calls := 0
		w.settle = func(ctx context.Context, n run.NodeID, o []store.Outcome) ([]store.Refused, error) {
			calls++
			return w.Store.Settle(ctx, n, o)
		}
		ids := w.plan(spaced(300, 2*time.Second, time.Microsecond))
		_, stop := w.work(func(o *Options) { o.Pools = map[string]int{"default": 300} })
		time.Sleep(5 * time.Second)
		stop()
		w.expect(run.Succeeded, ids...)
		if calls > 3 {
			w.Errorf("%d calls for 300 outcomes of one instant", calls)
		}
	})
}

// R-RTY-1, R-RTY-2: three attempts with a backoff of a minute wait one minute, then two, then the run fails.
func TestFailuresAreRetriedWithBackoff(t *testing.T) {
	inBubble(t, func(w *world) {
		var seen []time.Duration
		w.job = func(_ context.Context, d target.Delivery) error {
			seen = append(seen, w.clk.Now().Sub(w.begin).Round(time.Second))
			if d.Attempt() != len(seen) {
				w.Errorf("attempt %d calls itself %d", len(seen), d.Attempt())
			}
			return errors.New("no")
		}
		ids := w.plan([]time.Duration{0}, func(r *run.Run) { r.MaxAttempts, r.Backoff = 3, time.Minute })
		_, stop := w.work()
		time.Sleep(time.Hour)
		stop()
		if want := []time.Duration{0, time.Minute, 3 * time.Minute}; !slices.Equal(seen, want) {
			w.Errorf("attempts at %v, want %v", seen, want)
		}
		if r := w.row(ids[0]); r.Status != run.Failed || r.Attempt != 3 || r.ErrorCode != "INTERNAL" || r.Error != "no" {
			w.Errorf("got %+v", r)
		}
	})
}

// Whatever a job does, it fails its own run only, and says why.
func TestBadJobsFailTheirRun(t *testing.T) {
	inBubbleWith(t, bubble, func(w *world) {
		ids := w.plan(spaced(5, 0, time.Microsecond))
		w.job = func(ctx context.Context, d target.Delivery) error {
			switch d.Run.ID {
			case ids[0]:
				panic("ouch")
			case ids[1]:
				runtime.Goexit()
			case ids[2]:
				<-ctx.Done()
				return ctx.Err()
			case ids[3]:
				return target.Permanent(errors.New("never"))
			}
			return nil
		}
		_, stop := w.work()
		time.Sleep(time.Minute)
		stop()
		for i, want := range []struct{ code, text string }{
			{"INTERNAL", "panicked: ouch"}, {"INTERNAL", "ended its goroutine"}, {"TIMEOUT", "timeout"}, {"PERMANENT", "never"},
		} {
			if r := w.row(ids[i]); r.Status != run.Failed || r.ErrorCode != want.code || !strings.Contains(r.Error, want.text) {
				w.Errorf("run %d is %s %s %q, want %v", i, r.Status, r.ErrorCode, r.Error, want)
			}
		}
		w.expect(run.Succeeded, ids[4])
	}, func(s *schedule.Spec) { s.Timeout = schedule.Duration(10 * time.Second) })
}

// D35: consent is asked again when a run starts: the definition may have been stored under another setting.
func TestRefusedRunsFailWithTheReason(t *testing.T) {
	command := func(s *schedule.Spec) {
		s.Target = schedule.Target{Command: &schedule.Command{Argv: []string{"true"}}}
	}
	for name, c := range map[string]struct {
		edit    func(*schedule.Spec)
		consent target.Consent
		rev     uint64
		message string
	}{
		"commands are off":     {command, target.ConsentNone, 1, "command.allow"},
		"nobody runs commands": {command, "", 1, "cannot execute targets of kind \"command\""},
		"no such job":          {func(s *schedule.Spec) { s.Target.Job.Name = "other" }, "", 1, "no job \"other\""},
		"no such revision":     {func(*schedule.Spec) {}, "", 7, "revision 7"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubbleWith(t, bubble, func(w *world) {
				ids := w.plan([]time.Duration{0}, func(r *run.Run) { r.Revision = c.rev })
				_, stop := w.work(func(o *Options) { o.Consent = c.consent })
				time.Sleep(time.Second)
				stop()
				if r := w.row(ids[0]); r.Status != run.Failed || r.ErrorCode != "INTERNAL" || !strings.Contains(r.Error, c.message) {
					w.Errorf("got %s %s %q", r.Status, r.ErrorCode, r.Error)
				}
			}, c.edit)
		})
	}
}

// Output is in the store while the run goes on, in order, and complete when it has ended.
func TestOutputIsStreamed(t *testing.T) {
	inBubble(t, func(w *world) {
		line := strings.Repeat("x", 999) + "\n"
		w.job = func(_ context.Context, d target.Delivery) error {
			for range 300 {
				_, _ = d.Stdout.Write([]byte(line))
				time.Sleep(10 * time.Millisecond)
			}
			return nil
		}
		ids := w.plan([]time.Duration{0})
		_, stop := w.work()
		time.Sleep(1500 * time.Millisecond)
		var early, all strings.Builder
		_, err := w.ReadOutput(w.Context(), ids[0], 0, 0, &early)
		w.must(err)
		if n := early.Len(); n < 65_536 || n > 160_000 {
			w.Errorf("%d bytes halfway", n)
		}
		time.Sleep(5 * time.Second)
		_, err = w.ReadOutput(w.Context(), ids[0], 0, 0, &all)
		w.must(err)
		if all.String() != strings.Repeat(line, 300) {
			w.Errorf("%d bytes in the end", all.Len())
		}
		stop()
		if r := w.row(ids[0]); r.OutputBytes != 300_000 || r.OutputTruncated {
			w.Errorf("the run says %d bytes, truncated %v", r.OutputBytes, r.OutputTruncated)
		}
	})
}

// A store that takes no output delays a run that writes much for a moment, and costs no more memory than a bound.
func TestOutputThatCannotBeStoredIsBounded(t *testing.T) {
	inBubble(t, func(w *world) {
		w.output = func(context.Context, store.Held, []store.Chunk) error { return errDown }
		var kept int
		w.settle = func(ctx context.Context, n run.NodeID, o []store.Outcome) ([]store.Refused, error) {
			for _, c := range o[0].Output {
				kept += len(c.Data)
			}
			return w.Store.Settle(ctx, n, o)
		}
		w.job = func(_ context.Context, d target.Delivery) error {
			piece := make([]byte, 10_000)
			for range 1000 {
				if _, err := d.Stderr.Write(piece); err != nil {
					return nil //nolint:nilerr // output that is not kept is no failure
				}
			}
			return nil
		}
		ids := w.plan([]time.Duration{0})
		_, stop := w.work()
		time.Sleep(time.Minute)
		stop()
		if r := w.row(ids[0]); r.Status != run.Succeeded || !r.OutputTruncated || kept > maxUnsent+10_000 {
			w.Errorf("%s, truncated %v, kept %d", r.Status, r.OutputTruncated, kept)
		}
	})
}
