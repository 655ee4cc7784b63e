package timeline

import (
	"fmt"
	"time"

	"github.com/belfryhq/belfry/trigger"
)

// place queues an entry from where its coverage starts; at is Row.ActiveFrom, or Row.Pin under Options.Pinned. Only a
// leader has queues: a follower's would be stale when they are needed, and are built from a full read then.
func (l *Loop) place(slot uint32, at time.Time) {
	if !l.term {
		return
	}
	l.unqueue(slot)
	if !l.o.Pinned {
		l.placeOwn(slot, at)
		return
	}
	switch {
	case !at.IsZero():
		l.pin(slot, min(nanos(at), l.watermark))
	case l.open:
		// The open window does not know this definition, so that its commit will not settle it.
		l.pin(slot, l.watermark)
	default:
		l.ride(slot, l.watermark)
	}
}

// placeOwn decides from where an entry is covered (R-REC-11 to 15). What took effect when whoever committed could not
// have known it is covered from then on; all else follows the watermark. Nothing is covered before it took effect.
func (l *Loop) placeOwn(slot uint32, activeFrom time.Time) {
	start := l.watermark
	if !activeFrom.IsZero() {
		active := nanos(activeFrom)
		if active > start || !activeFrom.Before(l.claim.SyncedUntil) {
			start = active
		}
	}
	l.ride(slot, start)
	if start != l.watermark || l.open {
		l.from[slot] = start
	}
}

// ride queues an entry by its first occurrence at or after start; one without is not queued.
func (l *Loop) ride(slot uint32, start int64) {
	if next := l.next(slot, start); next != never {
		l.riding.set(slot, next)
	} else {
		l.riding.drop(slot)
	}
}

// pin queues an entry among those that are selected by every tick.
func (l *Loop) pin(slot uint32, start int64) {
	l.from[slot] = start
	l.pinned.set(slot, l.next(slot, start))
	l.eager = true
}

func (l *Loop) unqueue(slot uint32) {
	if l.open {
		l.touched[slot] = struct{}{}
	}
	l.riding.drop(slot)
	l.pinned.drop(slot)
	delete(l.from, slot)
}

// unsettled is the instant from which an entry's occurrences are unsettled.
func (l *Loop) unsettled(slot uint32) int64 {
	if at, ok := l.from[slot]; ok {
		return at
	}
	return l.watermark
}

// next asks a trigger for its first occurrence at or after start. A trigger is other people's code: one that panics, or
// answers with what was not asked for and would be selected for ever, is reported and is not due.
func (l *Loop) next(slot uint32, start int64) int64 {
	e := l.table.at(slot)
	return l.nextOf(e.id(), e.trigger, start)
}

func (l *Loop) nextOf(id string, t trigger.Trigger, start int64) (next int64) {
	defer func() {
		if p := recover(); p != nil {
			l.o.OnError(StageDispatch, id, fmt.Errorf("timeline: the trigger panicked: %v", p))
			next = never
		}
	}()
	due, ok := t.Next(instant(start - 1))
	if !ok {
		return never
	}
	if next = nanos(due); next < start {
		l.o.OnError(StageDispatch, id, fmt.Errorf("timeline: the trigger has no next instant: asked for one after %s, it said %s",
			instant(start-1), due))
		return never
	}
	return next
}

// maxDropped bounds how far what is given up is counted one by one.
const maxDropped = 10_000

// giveUp drops what is owed from before floor (R-WIN-5) and says what that was (PROTOCOL C11).
func (l *Loop) giveUp(floor int64) {
	l.due = l.riding.before(floor, l.due[:0])
	for _, it := range l.due {
		e := l.table.at(it.slot)
		n, first, last := trigger.Count(e.trigger, instant(it.key), instant(floor), maxDropped)
		if n > 0 {
			l.o.Dropped(e.id(), first, last, n)
		}
		delete(l.from, it.slot)
		if floor < l.watermark {
			l.from[it.slot] = floor
		}
		l.ride(it.slot, floor)
	}
	l.giveUpDebts(floor)
	l.watermark = max(l.watermark, floor)
}
