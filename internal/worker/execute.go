package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/target"
)

// Phases of an execution.
const (
	waiting int32 = iota
	executing
	ended
)

// execution is one run in this worker's hands, from taken until settled.
type execution struct {
	l        *life
	r        run.Run
	held     store.Held
	ahead    bool // it was taken before its instant
	phase    atomic.Int32
	recorded atomic.Bool // the store has it running
	ctx      context.Context
	cancel   context.CancelCauseFunc
	out      *output
}

// dispatch begins the execution of a taken run.
func (l *life) dispatch(r run.Run) {
	e := &execution{l: l, r: r, held: store.Held{Run: r.ID, Fence: r.Fence}, ahead: r.ReadyAt.After(l.w.now())}
	e.ctx, e.cancel = context.WithCancelCause(l.ctx)
	e.out = newOutput(e)
	l.w.rooms.take(r.Pool)
	l.mu.Lock()
	l.held[e.held] = e
	l.mu.Unlock()
	l.holding.Add(1)
	l.executions.Go(e.run)
}

func (e *execution) attrs() []any {
	return []any{"run_id", e.r.ID.String(), "schedule_id", e.r.Schedule.String(), "due", e.r.Due, "attempt", e.r.Attempt + 1, "fence", e.r.Fence}
}

// revoke ends the code of a run that is no longer ours, and reports whether this call did.
func (e *execution) revoke() bool {
	first := e.ctx.Err() == nil
	e.cancel(target.ErrLeaseLost)
	return first
}

// startAt is when the code starts, as far as that is known when it is confirmed.
func (e *execution) startAt() time.Time {
	now := e.l.w.now()
	if e.ahead && e.r.ReadyAt.After(now) {
		return e.r.ReadyAt
	}
	return now
}

// run is the whole execution, in a goroutine of its own.
func (e *execution) run() {
	defer e.l.w.rooms.give(e.r.Pool)
	defer e.cancel(nil)
	def, err := e.hold()
	e.l.holding.Done()
	if err != nil {
		e.drop(err)
		return
	}
	if !e.awaitInstant() || !e.l.fresh() {
		e.drop(context.Cause(e.ctx))
		return
	}
	e.phase.Store(executing)
	started := e.l.w.now()
	res := target.Failed("the job ended its goroutine instead of returning")
	defer func() { e.settle(res, started, e.l.w.now()) }() // deferred for such a job
	res = e.perform(def)
}

// hold waits until the run may be confirmed, and confirms it. Until then the worker's stop lets it go.
func (e *execution) hold() (*definition, error) {
	def, err := e.definition()
	if err != nil {
		return nil, err
	}
	if e.ahead && !e.l.w.sleepUntil(e.r.ReadyAt.Add(-e.l.w.o.Confirm), e.l.stop, e.ctx.Done()) {
		return nil, target.ErrStop
	}
	if (e.ahead || e.r.OnLost == schedule.OnLostFail) && !fault.Without("confirm") {
		if !e.l.fresh() {
			return nil, context.Cause(e.ctx)
		}
		return def, e.l.starter.confirm(e)
	}
	e.l.starter.tell(e)
	return def, nil
}

// awaitInstant waits for the run's instant, and reports false when the run was taken back meanwhile.
func (e *execution) awaitInstant() bool {
	return fault.Without("instant") || e.l.w.sleepUntil(e.r.ReadyAt, e.ctx.Done())
}

// definition reads what the run is to execute. While the store does not answer, the run waits.
func (e *execution) definition() (*definition, error) {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		call, cancel := context.WithTimeout(e.ctx, callTimeout)
		def, err := e.l.w.specs.of(call, &e.r)
		cancel()
		if err == nil {
			return def, nil
		}
		if !sleep(pause, e.l.stop, e.ctx.Done()) {
			return nil, target.ErrStop
		}
	}
}

// drop ends an execution whose code did not start.
func (e *execution) drop(why error) {
	e.phase.Store(ended)
	switch {
	case e.l.ctx.Err() != nil: // the life is over; recovery gives the run to somebody
	case errors.Is(why, target.ErrStop):
		e.l.mu.Lock()
		e.l.unstarted = append(e.l.unstarted, e.held) // stays held until it is given back
		e.l.mu.Unlock()
		return
	default:
		e.l.log.Info("a run was taken back before its start", e.attrs()...)
	}
	e.l.forget(e.held)
}

// perform executes the run's target. Whatever goes wrong in it is this run's failure and nobody else's.
func (e *execution) perform(def *definition) (res target.Result) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			res = target.Failed(fmt.Sprintf("the target panicked: %v\n%s", p, stack[:min(len(stack), maxStack)]))
		}
	}()
	if def.bad != nil {
		return refusal("the definition cannot be executed: " + def.bad.Error())
	}
	if err := e.l.w.o.Consent.Permits(def.origin, def.spec.Target); err != nil {
		return refusal(err.Error())
	}
	t, err := e.l.w.targets.For(def.spec.Target)
	if err != nil {
		return refusal(err.Error())
	}
	ctx := e.ctx
	if limit := time.Duration(def.spec.Timeout); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, target.ErrTimeout)
		defer cancel()
	}
	lease := e.l.w.o.Lease
	return t.Run(ctx, target.Delivery{
		Run: e.r, Key: e.r.Key(), ScheduleName: def.name, Spec: def.spec.Target,
		Stdout: e.out.stream(store.Stdout, def.spec.Target), Stderr: e.out.stream(store.Stderr, def.spec.Target),
		LostGrace: hardPart(lease) - softPart(lease), Lease: e.l.expiry,
	})
}

// maxStack bounds the part of a panic's stack that is kept with the run.
const maxStack = 4 << 10

// refusal is the result of a run that this worker would not start, now or later.
func refusal(message string) target.Result {
	return target.Result{Code: target.CodeInternal, Message: message, Permanent: true}
}

// settle hands the outcome over to be written.
func (e *execution) settle(res target.Result, started, finished time.Time) {
	rest, written, dropped := e.out.finish()
	e.phase.Store(ended)
	if !res.OK() && errors.Is(context.Cause(e.ctx), target.ErrStop) {
		// We ended it, so we know nothing of how it would have ended. Its lease runs out and it is delivered again (D33).
		e.l.log.Warn("a run was cut off by the end of the worker and is left to recovery", e.attrs()...)
		e.l.setLeft()
		return
	}
	v := judge(&e.r, &res, finished)
	e.l.w.settler.add(&unsettled{
		node:    e.l.id,
		attempt: e.r.Attempt + 1,
		done:    func() { e.l.forget(e.held) },
		Outcome: store.Outcome{
			Held: e.held, Status: v.status, Reason: v.reason, ReadyAt: v.readyAt, Answered: v.answered,
			StartedAt: started, FinishedAt: finished, ErrorCode: v.code, Error: res.Message, ExitCode: res.ExitCode,
			Output: rest, OutputBytes: max(res.OutputBytes, written), Truncated: res.Truncated || dropped,
		},
	})
}
