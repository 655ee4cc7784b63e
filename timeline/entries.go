package timeline

import (
	"context"
	"iter"
)

// Entry returns the entry of an ID as it is known now; false when there is none or it will never be due again. It
// belongs to the loop's goroutine.
func (l *Loop) Entry(id string) (Entry, bool) {
	slot, known := l.table.find(id)
	if !known || l.table.at(slot).forgotten() {
		return Entry{}, false
	}
	e := l.table.at(slot)
	return Entry{Trigger: e.trigger, Payload: e.payload}, true
}

// All yields every entry that may be due again, with its ID, in no order. It belongs to the loop's goroutine, which
// must not reconcile before it has ended.
func (l *Loop) All() iter.Seq2[string, Entry] {
	return func(yield func(string, Entry) bool) {
		for slot := range l.table.slots {
			e := l.table.at(slot)
			if !l.table.used(slot) || e.forgotten() {
				continue
			}
			if !yield(e.id(), Entry{Trigger: e.trigger, Payload: e.payload}) {
				return
			}
		}
	}
}

// ReconcileChanges reads what changed now, without waiting for the next sync: for a caller that was told of a change.
// Where the source has no feed of changes, or the full set has not been read yet, it reads the full set.
func (l *Loop) ReconcileChanges(ctx context.Context) error {
	_, feed := l.src.(Changes)
	return l.named(l.sync(ctx, !feed || l.lastFull.IsZero() || l.resync))
}
