package timeline

import (
	"context"
	"errors"
	"fmt"
)

// Commit settles the open window: the watermark moves to its end and the lease is renewed in one swap. It returns
// what CommitIn returns.
func (l *Loop) Commit(ctx context.Context) (bool, error) {
	return l.CommitIn(ctx, func(ctx context.Context, old, next Claim) (Verdict, error) {
		swapped, err := l.claims.Swap(ctx, &old, next)
		return Verdict{Swapped: swapped}, err
	})
}

// CommitIn is Commit through the caller's own write, which swaps the claim in one transaction with whatever it commits.
//
// True: the window is settled. ErrFenced: another loop holds the claim, nothing was written, and this loop does not
// lead any more. ErrNotLeader: it did not lead to begin with. Another error: whether s wrote is unknown (PROTOCOL B2);
// the next call reads the claim first and finds out. CommitIn may be called again, and Tick selects again what turns
// out not to be settled. False without an error: nothing was open, or an older write of this loop landed late;
// nothing was written now, and the next tick selects again.
//
// When s does not return within StoreTimeout, CommitIn returns ErrStoreTimeout and leaves it running: s must share
// nothing with what its caller does next.
func (l *Loop) CommitIn(ctx context.Context, s Swapper) (bool, error) {
	done, err := l.commit(ctx, s)
	l.failed = err != nil && !errors.Is(err, ErrFenced)
	if err != nil {
		err = fmt.Errorf("timeline: commit: %w", err)
	}
	return done, err
}

func (l *Loop) commit(ctx context.Context, s Swapper) (bool, error) {
	if l.unsure {
		if done, err := l.resolve(ctx); err != nil || done {
			return done, err
		}
	}
	if !l.leading {
		return false, ErrNotLeader
	}
	if !l.open {
		return false, nil
	}
	old := l.claim
	next := old
	next.CoveredUntil, next.SyncedUntil = l.window.End, l.synced
	next = l.prepare(next, commit)
	v, err := bounded(ctx, l, func(ctx context.Context) (Verdict, error) { return s(ctx, old, next) })
	switch {
	case err != nil:
		l.doubt(err)
		return false, err
	case !v.Swapped:
		return l.refused(ctx)
	}
	l.claim = next
	l.recall(next)
	l.confirm(l.last)
	l.settle(v)
	return true, nil
}

// A selected entry is what a commit has to know of a stretch; the stretch itself is the caller's to change.
type selected struct {
	slot   uint32
	from   int64
	pinned bool
}

// settle moves the watermark to the end of the open window, and its entries with it.
func (l *Loop) settle(v Verdict) {
	end := nanos(l.window.End)
	l.open = false
	l.measure(SignalTick, l.began)
	l.watermark = end
	l.pinChanged(v, end)
	moved := l.pinOthers(v, end) // something got on, so that the next window can hold what this one did not
	for _, s := range l.inWindow {
		if l.wasTouched(s.slot) {
			continue // it was queued anew since, from where this window began
		}
		if len(v.Pinned) > 0 {
			if at, pinned := v.Pinned[l.table.at(s.slot).id()]; pinned {
				moved = moved || nanos(at) > s.from
				l.hold(s.slot, min(nanos(at), end))
				continue
			}
		}
		moved = moved || s.pinned
		l.letRide(s.slot, end)
	}
	for _, id := range v.Gone {
		if slot, known := l.table.find(id); known && !l.wasTouched(slot) {
			l.forget(slot)
		}
	}
	if !l.o.Pinned {
		l.dropOwn(end)
		l.settleDebts(end)
	}
	l.eager = len(l.touched) > 0 || moved && (l.pinned.min() < end || l.window.Deferred > 0)
	l.window, l.inWindow = Window{}, l.inWindow[:0]
	clear(l.touched)
}

// pinChanged pins what the commit left unsettled although it changed while the window was open: the earlier start wins.
func (l *Loop) pinChanged(v Verdict, end int64) {
	if len(l.touched) == 0 {
		return
	}
	for id, at := range v.Pinned {
		slot, known := l.table.find(id)
		if known && l.wasTouched(slot) && !l.table.at(slot).forgotten() {
			l.hold(slot, min(nanos(at), end, l.unsettled(slot)))
		}
	}
}

// pinOthers pins what the commit left unsettled of entries that were not in the window: their backlog was settled beside
// it, and not to the end. It reports whether there was any.
func (l *Loop) pinOthers(v Verdict, end int64) (some bool) {
	if !l.o.Pinned || len(v.Pinned) == 0 {
		return false
	}
	in := make(map[uint32]struct{}, len(l.inWindow))
	for _, s := range l.inWindow {
		in[s.slot] = struct{}{}
	}
	for id, at := range v.Pinned {
		slot, known := l.table.find(id)
		if !known || l.wasTouched(slot) || l.table.at(slot).forgotten() {
			continue
		}
		if _, selected := in[slot]; !selected {
			l.hold(slot, min(nanos(at), end, l.unsettled(slot)))
			some = true
		}
	}
	return some
}

// hold keeps an entry unsettled from the given instant on.
func (l *Loop) hold(slot uint32, at int64) {
	l.riding.drop(slot)
	if l.o.Pinned {
		l.pin(slot, at)
		return
	}
	l.ride(slot, at)
	l.from[slot] = at
}

// letRide lets an entry follow the watermark from end on.
func (l *Loop) letRide(slot uint32, end int64) {
	if l.o.Pinned {
		if next := l.pinned.key(slot); next != never && next >= end {
			l.riding.set(slot, next)
		} else {
			l.ride(slot, end)
		}
		l.pinned.drop(slot)
		delete(l.from, slot)
		return
	}
	if from, own := l.from[slot]; own && from > end {
		return // the window was cut before it began
	}
	delete(l.from, slot)
	if l.ride(slot, end); l.riding.index(slot) < 0 {
		l.forget(slot) // delivered, and never due again
	}
}

// dropOwn ends the own coverage of what the window went past, once after every sync.
func (l *Loop) dropOwn(end int64) {
	if l.swept.Equal(l.lastSync) {
		return
	}
	l.swept = l.lastSync
	for slot, at := range l.from {
		if at <= end && !l.wasTouched(slot) && l.riding.key(slot) >= end {
			delete(l.from, slot)
		}
	}
}

func (l *Loop) wasTouched(slot uint32) bool {
	_, touched := l.touched[slot]
	return touched
}
