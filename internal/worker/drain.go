package worker

import (
	"context"
	"errors"
	"time"

	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/target"
)

// drain lets go of everything that was taken: what has not started goes back, what runs may end. It returns when
// nothing runs any more, or nothing that runs may be waited for.
func (l *life) drain() {
	ended := make(chan struct{})
	go func() {
		l.executions.Wait()
		close(ended)
	}()
	if l.ctx.Err() == nil {
		l.holding.Wait() // held runs leave at once; a confirmation under way is awaited
		l.release(l.takeUnstarted())
		l.await(ended)
	}
	if l.ctx.Err() == nil {
		return // everything ended by itself
	}
	// Commands are dead when this time is over, their guards see to that. A job that goes on regardless keeps its place
	// in its pool, and its outcome will be refused.
	wait := stopWait
	if errors.Is(context.Cause(l.ctx), target.ErrLeaseLost) {
		wait = max(hardPart(l.w.o.Lease)-l.age(), 0)
	}
	if !awaitEnd(ended, wait) {
		l.log.Warn("work that was told to end goes on", "count", len(l.executing()))
		l.setLeft()
	}
}

// await lets running work end: within the grace, until the worker is killed, or until the lease is lost.
func (l *life) await(ended <-chan struct{}) {
	grace := time.NewTimer(l.w.o.ShutdownGrace)
	defer grace.Stop()
	select {
	case <-ended:
	case <-l.ctx.Done():
	case <-grace.C:
		l.log.Warn("the grace is over; what still runs is ended", "count", len(l.executing()))
		l.cancel(target.ErrStop)
	case <-l.w.killed:
		l.cancel(target.ErrStop)
	}
}

func awaitEnd(ended <-chan struct{}, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}

func (l *life) takeUnstarted() []store.Held {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.unstarted
	l.unstarted = nil
	return held
}

func (l *life) setLeft() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = true
}

// release gives runs back, until the store has taken them or the life is over: then recovery will.
func (l *life) release(held []store.Held) {
	if len(held) == 0 {
		return
	}
	var seen trouble
	for pause := 10 * time.Millisecond; l.ctx.Err() == nil; pause = min(2*pause, time.Second) {
		call, cancel := detached(l.ctx, callTimeout)
		err := l.w.s.Release(call, held)
		cancel()
		if err == nil {
			for _, h := range held {
				l.forget(h)
			}
			return
		}
		if seen.begins(err) {
			l.log.Warn("runs that did not start cannot be given back yet", "reason", err, "count", len(held))
		}
		if !sleep(pause, l.ctx.Done(), l.w.killed) {
			break
		}
	}
	l.setLeft()
}

// leave removes the node's row if nothing hangs on it any more; otherwise the row must stay, for recovery to find.
func (l *life) leave() {
	l.w.settler.await(stopWait)
	l.mu.Lock()
	left := l.left || len(l.held) > 0
	l.mu.Unlock()
	if left {
		l.log.Warn("the node goes and leaves work to be recovered when its lease runs out")
		return
	}
	call, cancel := detached(l.ctx, callTimeout)
	defer cancel()
	if err := l.w.s.Leave(call, l.id); err != nil {
		l.log.Warn("the node cannot be removed", "reason", err)
	}
}
