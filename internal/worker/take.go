package worker

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

const (
	takeGap    = time.Millisecond       // between a hint and the take, so that several are one
	maxTakeGap = 50 * time.Millisecond  // after hints that were about something else
	maxEchoGap = 250 * time.Millisecond // after hints that may be about our own takes
)

// takes takes work until the worker is to stop or the life is lost. It asks when something hints at work, when work
// becomes takeable by what the last answer said, when room appears after an answer that filled it, and now and then.
func (l *life) takes(ctx context.Context) {
	hints, stopHints := context.WithCancel(ctx)
	defer stopHints()
	h := hinted{wake: l.w.s.Wake(hints), gap: takeGap, echo: takeGap}
	for ctx.Err() == nil && l.ctx.Err() == nil {
		n, next, full := l.take(ctx)
		next = h.took(n, next)
		timer := time.NewTimer(next)
		freed := l.w.rooms.freed
		if !full {
			freed = nil // there was room left over, so nothing waits for room
		}
		select {
		case <-ctx.Done():
		case <-l.ctx.Done():
		case <-timer.C:
		case <-freed:
			sleep(takeGap, l.stop, l.ctx.Done())
		case _, open := <-h.wake:
			if !open {
				h.wake = nil
			}
			sleep(h.gap, l.stop, l.ctx.Done())
		}
		timer.Stop()
	}
}

// hinted answers hints with takes, the slower the less they were about work for us.
type hinted struct {
	wake      <-chan struct{}
	gap, echo time.Duration
}

// took notes how many runs a take got, and returns when to take again at the latest. A hint that came during a take may
// be its own echo, since a store cannot always tell who changed what: after a take in vain it is answered, but slowly.
func (h *hinted) took(n int, next time.Duration) time.Duration {
	if n > 0 {
		h.gap, h.echo = takeGap, takeGap
		return next
	}
	h.gap = min(2*h.gap, maxTakeGap)
	select {
	case _, open := <-h.wake:
		if !open {
			h.wake = nil
		}
		h.echo = min(2*h.echo, maxEchoGap)
		return min(next, h.echo)
	default:
		h.echo = takeGap
		return next
	}
}

// take asks the store once. It returns how many runs it got, how long the answer is good for, and whether it was cut by
// want of room.
func (l *life) take(ctx context.Context) (n int, next time.Duration, full bool) {
	o := &l.w.o
	poll := o.Poll*3/4 + rand.N(o.Poll/2+1)
	if l.doubtful && !l.reclaim(ctx) {
		return 0, poll, false
	}
	room := l.w.rooms.room(poolNames(o.Pools))
	if len(room) == 0 || l.w.settler.full() {
		return 0, poll, true
	}
	// What was claimed must be known here, so the call is not cut short when the worker stops.
	call, cancel := detached(ctx, callTimeout)
	taken, err := l.w.s.Take(call, store.Take{Node: l.id, Pools: room, Ahead: o.Ahead})
	cancel()
	if err != nil {
		l.refused(ctx, err)
		return 0, poll, false
	}
	l.seen = trouble{}
	for _, id := range taken.Skipped {
		l.log.Info("a run was skipped: its lock is held", "run_id", id.String())
	}
	for _, r := range taken.Runs {
		l.dispatch(r)
	}
	return len(taken.Runs), l.until(taken.Next, poll), l.cut(room, taken.Runs)
}

func (l *life) refused(ctx context.Context, err error) {
	switch {
	case errors.Is(err, store.ErrLost):
		l.lose("its lease was taken")
	case errors.Is(err, store.ErrBusy):
	default:
		// The claim may have been written although the answer says otherwise (PROTOCOL B2).
		l.doubtful = true
		if l.seen.begins(err) && ctx.Err() == nil {
			l.log.Warn("no work can be taken", "reason", err)
		}
	}
}

// until is how long to wait for what the store says comes next: it can be taken Ahead of its instant, or, if it was
// passed over in that time because its lock is held, at its instant.
func (l *life) until(next time.Time, poll time.Duration) time.Duration {
	if next.IsZero() {
		return poll
	}
	wait := next.Sub(l.w.now())
	if early := wait - l.w.o.Ahead; early > 0 {
		wait = early
	}
	return min(max(wait, takeGap), poll)
}

// cut reports whether a pool got as much as it had room for, or had none: then more may be waiting for it.
func (l *life) cut(room []store.PoolRoom, runs []run.Run) bool {
	got := map[string]int{}
	for _, r := range runs {
		got[r.Pool]++
	}
	return len(room) < len(l.w.o.Pools) || slices.ContainsFunc(room, func(p store.PoolRoom) bool { return got[p.Pool] >= p.Free })
}

// reclaim gives back runs that the store holds to be claimed by this node while the node knows nothing of them: a take
// whose answer was lost. Nobody else would ever look for them while this node lives.
func (l *life) reclaim(ctx context.Context) bool {
	q := store.RunQuery{Statuses: []run.Status{run.Claimed}, Page: store.Page{Limit: 1000}}
	var unknown []store.Held
	for {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		runs, next, err := l.w.s.Runs(call, q)
		cancel()
		if err != nil {
			return false
		}
		for _, r := range runs {
			h := store.Held{Run: r.ID, Fence: r.Fence}
			if r.Node == l.id && l.find(h) == nil {
				unknown = append(unknown, h)
			}
		}
		if next == "" {
			break
		}
		q.After = next
	}
	l.doubtful = false
	l.release(unknown)
	return true
}
