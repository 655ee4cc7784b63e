package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/target"
)

// life is the time during which the worker is one node. Its runs are held under that node's ID; when its lease is lost
// they are all lost, and the worker begins another life.
type life struct {
	w    *Worker
	id   run.NodeID
	log  *slog.Logger
	stop <-chan struct{} // closed when the worker is to take nothing more

	// ctx is what all executions run under. It ends with ErrLeaseLost or ErrStop, and not with the worker's context:
	// running work outlives that by the grace.
	ctx    context.Context
	cancel context.CancelCauseFunc

	starter    *starter
	executions sync.WaitGroup
	holding    sync.WaitGroup // executions that are not confirmed yet

	mu        sync.Mutex
	renewed   reading                   // before the last renewal that was confirmed was sent
	held      map[store.Held]*execution // from taken until settled
	unstarted []store.Held              // to be given back
	left      bool                      // something runs or is unwritten that only recovery can end
	guard     *time.Timer               // ends the life when the lease grows old
	doubtful  bool                      // a take may have claimed runs that it did not tell us of
	seen      trouble                   // of taking; belongs to takes
}

// reading is both clocks at one moment.
type reading struct {
	boot time.Duration
	wall time.Time
}

func (w *Worker) read() reading { return reading{w.o.Clock.Elapsed(), w.o.Clock.Now()} }

// Parts of the lease. At softPart without a renewal the work is told to end, at hardPart it is dead, and at the whole
// somebody else may begin it again.
func softPart(lease time.Duration) time.Duration { return lease * 2 / 3 }
func hardPart(lease time.Duration) time.Duration { return lease * 9 / 10 }

func (w *Worker) newLife(ctx context.Context) *life {
	l := &life{w: w, id: newNodeID(), stop: ctx.Done(), held: map[store.Held]*execution{}}
	l.log = w.log.With("node", l.id.String())
	l.ctx, l.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	l.starter = newStarter(l)
	return l
}

// live is the whole life: register, work, and let go.
func (l *life) live(ctx context.Context) {
	defer l.cancel(target.ErrStop)
	if !l.register(ctx) {
		return
	}
	var loops sync.WaitGroup
	aux, end := context.WithCancel(context.WithoutCancel(ctx))
	loops.Go(func() { l.beats(aux) })
	loops.Go(func() { l.starter.run(aux) })
	loops.Go(func() { l.watch(aux) })
	l.takes(ctx)
	l.drain()
	end()
	loops.Wait()
	l.guard.Stop()
	if ctx.Err() != nil {
		l.leave()
	}
}

// register writes the node's row. Nothing can be taken before.
func (l *life) register(ctx context.Context) bool {
	var seen trouble
	for ctx.Err() == nil {
		err := l.beat(ctx)
		if err == nil {
			return true
		}
		if errors.Is(err, store.ErrLost) {
			// An earlier try was written although it seemed to fail, and its lease has been taken since: this name is
			// spent, and only another life can go on.
			l.log.Warn("the node was lost before it knew that it was registered")
			return false
		}
		if seen.begins(err) {
			l.log.Warn("the node cannot be registered yet", "reason", err)
		}
		sleep(l.w.o.Renew, l.stop)
	}
	return false
}

// beat renews the lease, which counts from before the renewal was sent.
func (l *life) beat(ctx context.Context) error {
	at := l.w.read()
	call, cancel := detached(ctx, l.w.o.Lease/3)
	defer cancel()
	n := l.w.o.Node
	n.ID, n.Pools = l.id, poolNames(l.w.o.Pools)
	if n.StartedAt.IsZero() {
		n.StartedAt = at.wall
	}
	if err := l.w.s.Beat(call, n, l.w.o.Lease); err != nil {
		return err
	}
	l.w.observe(call)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renewed = at
	if l.guard == nil {
		l.guard = time.AfterFunc(softPart(l.w.o.Lease), l.check)
	}
	l.guard.Reset(softPart(l.w.o.Lease) - l.ageLocked())
	return nil
}

// beats renews the lease until the life is over, also while running work ends.
func (l *life) beats(ctx context.Context) {
	failing := false
	wait := l.w.o.Renew
	for sleep(wait, ctx.Done(), l.ctx.Done()) {
		err := l.beat(ctx)
		wait = l.w.o.Renew
		switch {
		case errors.Is(err, store.ErrLost):
			l.lose("its lease was taken")
		case err != nil:
			wait /= 4
			if !failing {
				l.log.Warn("the lease cannot be renewed", "reason", err)
			}
		case failing:
			l.log.Info("the lease is renewed again")
		}
		failing = err != nil
	}
}

// age is the time since the last confirmed renewal: the larger of what both clocks say, since either may have stood
// still (PROTOCOL A9).
func (l *life) age() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ageLocked()
}

func (l *life) ageLocked() time.Duration {
	now := l.w.read()
	return max(now.boot-l.renewed.boot, now.wall.Sub(l.renewed.wall))
}

// check ends the life if its lease has grown old. The timer that calls it starts anew with every renewal, so a wall
// clock that was merely stepped has been renewed under before it gets here.
func (l *life) check() {
	if left := softPart(l.w.o.Lease) - l.age(); left > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.guard.Reset(left)
		return
	}
	if !fault.Without("heartbeat-guard") {
		l.lose("it could not be renewed for two thirds of its time")
	}
}

// lose ends the life: everything that runs is told to end, and its outcomes will be refused.
func (l *life) lose(reason string) {
	if l.ctx.Err() == nil {
		l.log.Error("the lease is lost; everything that runs is ended", "reason", reason)
	}
	l.cancel(target.ErrLeaseLost)
}

// expiry is the reading of the boot clock at which the work of this life must be dead.
func (l *life) expiry() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.renewed.boot + hardPart(l.w.o.Lease)
}

// fresh waits until the lease is young enough for code to start under it, and reports whether that came.
func (l *life) fresh() bool {
	for l.age() >= softPart(l.w.o.Lease) && !fault.Without("old-lease") {
		if !sleep(20*time.Millisecond, l.ctx.Done()) {
			return false
		}
	}
	return l.ctx.Err() == nil
}

// watch looks every second for running work that is no longer ours, and for what was cancelled.
func (l *life) watch(ctx context.Context) {
	for sleep(l.w.o.Renew, ctx.Done(), l.ctx.Done()) {
		held := l.executing()
		if len(held) == 0 {
			continue
		}
		call, cancel := context.WithTimeout(ctx, callTimeout)
		lost, err := l.w.s.Lost(call, held)
		cancel()
		if err != nil {
			continue // the heartbeat says so
		}
		for _, h := range lost {
			if e := l.find(h); e != nil && e.phase.Load() == executing && e.revoke() {
				l.log.Warn("a run is no longer this worker's and is ended", e.attrs()...)
			}
		}
	}
}

func (l *life) executing() []store.Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	var held []store.Held
	for h, e := range l.held {
		if e.phase.Load() == executing {
			held = append(held, h)
		}
	}
	return held
}

func (l *life) find(h store.Held) *execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[h]
}

func (l *life) forget(h store.Held) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, h)
}
