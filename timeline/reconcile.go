package timeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Reconcile brings memory in line with the source, if a sync is due: changes where the source has a feed of them and
// the full set is not due, else the full set. A read that fails changes nothing; a row that fails leaves the entry
// known before in force. The error is that of the read; failed rows go to Options.OnError.
func (l *Loop) Reconcile(ctx context.Context) error {
	now := l.now()
	if l.nextRead.Sub(now) > 0 && l.nextRead.Sub(now) <= l.o.Sync {
		return nil // a longer wait comes from a clock that was set back
	}
	_, feed := l.src.(Changes)
	full := !feed || l.lastFull.IsZero() || l.resync || since(l.lastFull, now) >= l.o.Snapshot
	return l.named(l.sync(ctx, full))
}

// ReconcileFull reads the full set now.
func (l *Loop) ReconcileFull(ctx context.Context) error { return l.named(l.sync(ctx, true)) }

func (l *Loop) named(err error) error {
	l.failed = err != nil
	if err != nil {
		return fmt.Errorf("timeline: %w", err)
	}
	return nil
}

// since is how long ago t was; a clock that was set back makes it long ago.
func since(t, now time.Time) time.Duration {
	if now.Before(t) {
		return 1<<63 - 1
	}
	return now.Sub(t)
}

// A diff is what a read asks to be changed, in the order of the answer. Nothing is touched before the read is complete.
type diff struct {
	rows    []Row    // new, changed or inactive
	removed []uint32 // known and not listed any more
	placed  []placed // known, unchanged, to be queued anew
}

type placed struct {
	slot uint32
	at   time.Time // Row.ActiveFrom, or Row.Pin under Options.Pinned
}

// sync reads and applies. A leader that has to start from a full set (PROTOCOL A3) has done so when it returns nil and
// leads still.
func (l *Loop) sync(ctx context.Context, full bool) error {
	now := l.now()
	l.nextRead = now.Add(l.o.Sync)
	defer l.measure(SignalReconcile, l.o.Elapsed())
	var d diff
	var err error
	if full {
		err = l.readSnapshot(ctx, &d)
	} else {
		// One sync of overlap: what is repeated costs a comparison, and the source's clock need not be ours.
		err = l.read(ctx, l.src.(Changes).Since(ctx, earlier(l.lastSync, now).Add(-l.o.Sync)), &d)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errRead, err)
	}
	replace := l.resync && l.term
	if err := l.apply(ctx, d, replace); err != nil {
		return fmt.Errorf("apply definitions: %w", err)
	}
	l.o.Metrics.Set(SignalEntries, float64(l.Count()))
	l.lastSync = now
	if full {
		l.lastFull = now
		l.resync = l.resync && !replace
	}
	return nil
}

var errRead = errors.New("read definitions")

func (l *Loop) readSnapshot(ctx context.Context, d *diff) error {
	if err := l.read(ctx, l.src.Snapshot(ctx), d); err != nil {
		return err
	}
	for slot := range l.table.slots {
		if !l.seen.has(slot) && l.table.used(slot) {
			d.removed = append(d.removed, slot)
		}
	}
	return nil
}

func (l *Loop) read(ctx context.Context, rows iter.Seq2[Row, error], d *diff) error {
	l.seen.reset(l.table.slots)
	n := 0
	for row, err := range rows {
		if err != nil {
			return err
		}
		l.compare(&row, d)
		if n++; n%breath == 0 {
			l.keep(ctx)
		}
	}
	// A source that simply stops when its context ends must not look like a mass removal (R-REC-4).
	return context.Cause(ctx)
}

// breath is how many rows are worked on between two looks at the lease: reading a large set must not cost a new leader
// what it has just won.
const breath = 1024

func (l *Loop) keep(ctx context.Context) {
	if !l.leading || l.unsure || l.age() < l.o.Renew {
		return
	}
	if err := l.renew(ctx); err != nil {
		l.o.OnError(StageLease, "", err)
	}
}

func (l *Loop) compare(row *Row, d *diff) {
	slot, known := l.table.find(row.ID)
	if known {
		l.seen.set(slot)
	}
	if row.Inactive {
		if known {
			d.rows = append(d.rows, *row)
		}
		return
	}
	if !known {
		d.rows = append(d.rows, *row)
		return
	}
	e := l.table.at(slot)
	switch {
	case e.version() != row.Version, l.revived(e, row):
		d.rows = append(d.rows, *row)
	case l.resync && !e.forgotten():
		d.placed = append(d.placed, placed{slot, l.startOf(row)})
	case l.o.Pinned && !row.Pin.IsZero() && l.laterPinned(slot, nanos(row.Pin)):
		d.placed = append(d.placed, placed{slot, row.Pin})
	}
}

// laterPinned reports whether an entry is not known to be unsettled from pin on. A pin that memory has and the row has
// not is not taken away by that: only a commit does.
func (l *Loop) laterPinned(slot uint32, pin int64) bool {
	from, pinned := l.from[slot]
	return !pinned || pin < from
}

// revived reports whether a forgotten definition is to be built again under the version it was forgotten under: in
// pure mode never, since it was delivered (R-REC-17); under Options.Pinned when the source says that something is
// unsettled, or a new epoch starts from what the source says.
func (l *Loop) revived(e *entry, row *Row) bool {
	return e.forgotten() && l.o.Pinned && (l.resync || !row.Pin.IsZero())
}

func (l *Loop) startOf(row *Row) time.Time {
	if l.o.Pinned {
		return row.Pin
	}
	return row.ActiveFrom
}

func (l *Loop) apply(ctx context.Context, d diff, replace bool) error {
	if replace {
		l.riding.reset()
		l.pinned.reset()
		clear(l.from)
	}
	for _, slot := range d.removed {
		l.remove(slot)
	}
	for i, p := range d.placed {
		if !l.table.at(p.slot).forgotten() {
			l.place(p.slot, p.at)
		}
		if i%breath == breath-1 {
			l.keep(ctx)
		}
	}
	for i := range d.rows {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		l.update(ctx, &d.rows[i])
		if i%breath == breath-1 {
			l.keep(ctx)
		}
	}
	return nil
}

// update makes one row true in memory.
func (l *Loop) update(ctx context.Context, row *Row) {
	slot, known := l.table.find(row.ID)
	if row.Inactive {
		if known {
			l.remove(slot)
		}
		return
	}
	if known && l.table.at(slot).version() == row.Version && !l.revived(l.table.at(slot), row) {
		return // repeated in one answer
	}
	e, err := l.make(ctx, row)
	if err != nil {
		l.o.OnError(StageMake, row.ID, err)
		if known && l.resync && !l.table.at(slot).forgotten() {
			l.place(slot, l.startOf(row)) // what was known before stays in force, in the new epoch too
		}
		return
	}
	if known {
		l.owe(slot, row.ActiveFrom)
	}
	l.mu.Lock()
	if known {
		if l.table.at(slot).forgotten() {
			l.live.Add(1)
		}
		l.table.write(slot, row.ID, row.Version, e)
	} else {
		slot = l.table.add(row.ID, row.Version, e)
		l.live.Add(1)
	}
	l.mu.Unlock()
	l.place(slot, l.startOf(row))
}

var errIncomplete = errors.New("timeline: a row needs an id, and its entry a trigger")

func (l *Loop) make(ctx context.Context, row *Row) (Entry, error) {
	if row.ID == "" {
		return Entry{}, errIncomplete
	}
	e, err := l.src.Make(ctx, *row)
	if err == nil && e.Trigger == nil {
		err = errIncomplete
	}
	return e, err
}

func (l *Loop) remove(slot uint32) {
	l.unqueue(slot)
	l.setDebts(l.table.at(slot).id(), nil)
	if !l.table.at(slot).forgotten() {
		l.live.Add(-1)
	}
	l.mu.Lock()
	l.table.remove(slot)
	l.mu.Unlock()
}

// forget keeps the name of an entry and nothing else.
func (l *Loop) forget(slot uint32) {
	e := l.table.at(slot)
	if e.forgotten() {
		return
	}
	l.unqueue(slot)
	l.live.Add(-1)
	l.mu.Lock()
	e.trigger, e.payload = nil, nil
	l.mu.Unlock()
}
