package timeline

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Callback takes over everything that is due at one instant. It is called from the loop's goroutine, for one instant
// after the other, and must return only when the work is safe: done, or written down where it will be done. How it does
// it, at once or one by one, is its own choice; the batch is its to keep. As long as it runs the lease is not renewed,
// so that the lease has to be longer than one batch takes.
//
// An error ends Run before anything of the tick is committed, so that all of the tick is handed over again under the
// same keys, by this loop when Run is called again or by a standby.
type Callback func(ctx context.Context, due time.Time, batch []Occurrence) error

// ErrRunning says that Run was called while it runs already.
var ErrRunning = errors.New("timeline: the loop runs already")

// Run drives the loop until Stop is called, ctx ends or something fails, and gives the claim up then, so that a standby
// takes over at once. While it runs nothing else may drive the loop.
//
// It ticks whenever an occurrence is due, and on every whole multiple of Options.Tick on the clock, however long the
// work takes. Each due instant is one call of the callback, in their order: what is late already at once, what lies
// ahead (Options.Lead) at its instant. While it holds an instant back it goes on reading definitions and renewing the
// lease; what was paused, removed or rewritten meanwhile is left out, and when the claim is lost nothing more of the
// tick is handed over. The tick is committed when all of it was handed over. One that takes longer than Tick and Lead ends
// before what is late and still left, which is the next tick's.
//
// After Stop it returns nil when the current tick is committed, including what that tick still holds. When ctx ends it
// returns the cause of that as soon as the callback has returned, and commits what was handed over; the rest is for
// whoever comes next. Otherwise it returns the callback's error, or, without an Options.OnError, the first definition or read of
// definitions that failed. A claim store that fails never ends it. It may be called again, except after Stop.
func (l *Loop) Run(ctx context.Context, deliver Callback) error {
	if l.o.Pinned {
		return fmt.Errorf("%w: Run keeps no pins; a Pinned loop is driven by hand", ErrOptions)
	}
	if !l.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer l.running.Store(false)
	l.raised = nil
	err := l.run(ctx, deliver)
	if released := l.Release(context.WithoutCancel(ctx)); released != nil {
		l.o.OnError(StageLease, "", released)
	}
	if err == nil && !l.stopped.Load() {
		err = context.Cause(ctx)
	}
	return err
}

func (l *Loop) run(ctx context.Context, deliver Callback) error {
	for !l.stopped.Load() && !ended(ctx) {
		if err := l.turn(ctx, deliver); err != nil {
			return err
		}
		l.wait(ctx, earlier(l.NextWake(), l.anchor(l.now())), l.stopping)
	}
	return nil
}

// anchor is the first whole multiple of Tick on the clock after t.
func (l *Loop) anchor(t time.Time) time.Time { return t.Truncate(l.o.Tick).Add(l.o.Tick) }

// turn is one tick with everything around it. It returns what ends Run.
func (l *Loop) turn(ctx context.Context, deliver Callback) error {
	if err := l.refresh(ctx); err != nil || ended(ctx) {
		return err
	}
	w, leads, err := l.Tick(ctx)
	if err != nil && !ended(ctx) {
		stage := StageLease
		if errors.Is(err, errRead) {
			stage = StageReconcile
		}
		return l.fail(stage, err)
	}
	if !leads || l.raised != nil {
		return l.raised
	}
	done, err := l.handOver(ctx, w, deliver) // it may cut the window
	if err != nil || !done {
		return err
	}
	if len(w.Stretches) == 0 && l.anchor(w.Start).Equal(l.anchor(w.End)) {
		return nil // woken for something else; a swap each time would be for nothing
	}
	// What was handed over is worth a write also when it was the last thing before the end.
	_, err = l.Commit(context.WithoutCancel(ctx))
	if err != nil && !errors.Is(err, ErrFenced) { // of that one OnError knows
		return l.fail(StageDispatch, err)
	}
	return nil
}

// refresh reads definitions, if that is due. The last good view stays in force when it fails.
func (l *Loop) refresh(ctx context.Context) error {
	err := l.Reconcile(ctx)
	if err != nil && !ended(ctx) {
		return l.fail(StageReconcile, err)
	}
	return l.raised
}

// fail tells of an error, and returns what ends Run, if anything does.
func (l *Loop) fail(stage Stage, err error) error {
	l.o.OnError(stage, "", err)
	return l.raised
}

// report is Options.OnError with what belongs to it: without one, a definition that cannot be read or built ends Run.
func (l *Loop) report(stage Stage, id string, err error) {
	l.o.Metrics.Add(SignalErrors, stage, 1)
	switch {
	case l.onError != nil:
		l.onError(stage, id, err)
	case l.running.Load() && (stage == StageReconcile || stage == StageMake):
		if l.raised == nil {
			l.raised = raisedError(stage, id, err)
		}
	default:
		logError(stage, id, err)
	}
}

func raisedError(stage Stage, id string, err error) error {
	if id == "" {
		return err
	}
	return fmt.Errorf("timeline: %s %q: %w", stage, id, err)
}

// wait sleeps until an instant of the wall clock, which may be set meanwhile, or until it is interrupted. It reports
// whether ctx still goes on.
func (l *Loop) wait(ctx context.Context, until time.Time, interrupt <-chan struct{}) bool {
	for {
		left := until.Sub(l.o.Clock.Now())
		if left <= 0 {
			return !ended(ctx)
		}
		timer := time.NewTimer(min(left, glance))
		select {
		case <-timer.C:
			continue
		case <-interrupt:
		case <-ctx.Done():
		}
		timer.Stop()
		return !ended(ctx)
	}
}

// glance is how often a wait looks at the wall clock.
const glance = time.Second
