package timeline

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/belfryhq/belfry/trigger"
)

// A debt is what a definition owed when it was rewritten: its occurrences from before the new one took effect that
// nothing has settled. It is kept in pure mode alone, where nobody else knows the old definition any more.
type debt struct {
	version  string
	trigger  trigger.Trigger
	payload  any
	from, to int64
	next     int64  // the first occurrence at or after from; before to
	window   uint64 // the number of the last window that has it
}

// maxDebts bounds the debts of one definition: each is an edit between two commits, and more of them are no work of
// people.
const maxDebts = 16

var errDebts = errors.New("timeline: rewritten too often between two commits; what the version before owed is given up")

// owe keeps what the entry in the slot still owes before it is rewritten as of activeFrom. A rewrite without a date
// holds for all time, and a new leader cannot tell what its memory of the old definition is worth: both owe nothing.
func (l *Loop) owe(slot uint32, activeFrom time.Time) {
	e := l.table.at(slot)
	id := e.id()
	if l.o.Pinned || !l.term || l.resync || activeFrom.IsZero() {
		l.setDebts(id, nil)
		return
	}
	from, to := l.unsettled(slot), nanos(activeFrom)
	kept := slices.Clone(l.debts[id])
	for i := range kept {
		kept[i].to = min(kept[i].to, to)
	}
	if !e.forgotten() && from < to {
		d := debt{version: e.version(), trigger: e.trigger, payload: e.payload, from: from, to: to}
		d.next = l.nextOf(id, e.trigger, from)
		if l.open && !l.wasTouched(slot) {
			d.window = l.windows
		}
		kept = append(kept, d)
	}
	kept = slices.DeleteFunc(kept, debt.paid)
	if len(kept) > maxDebts {
		kept = kept[1:]
		l.o.OnError(StageReconcile, id, errDebts)
	}
	l.setDebts(id, kept)
}

func (d debt) paid() bool { return d.next >= d.to }

// setDebts is called by the loop's goroutine; others read the debts in IsCurrent.
func (l *Loop) setDebts(id string, debts []debt) {
	if len(debts) == 0 && len(l.debts[id]) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(debts) == 0 {
		delete(l.debts, id)
		return
	}
	l.debts[id] = debts
}

func (l *Loop) forgiveAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.debts)
}

// selectDebts adds what is owed to the window, each as a stretch of the old definition.
func (l *Loop) selectDebts(w *Window) {
	if len(l.debts) == 0 {
		return
	}
	l.collectDebts(w, nanos(w.End))
	slices.SortStableFunc(w.Stretches, func(a, b Stretch) int {
		if c := a.Next.Compare(b.Next); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
}

func (l *Loop) collectDebts(w *Window, end int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, debts := range l.debts {
		for i := range debts {
			d := &debts[i]
			d.window = l.windows
			if d.next < end {
				w.Stretches = append(w.Stretches, Stretch{
					ID: id, Version: d.version, From: instant(d.from), To: instant(min(d.to, end)), Next: instant(d.next),
					Trigger: d.trigger, Payload: d.payload,
				})
			}
		}
	}
}

// settleDebts takes note that the open window was settled to its end.
func (l *Loop) settleDebts(end int64) {
	l.moveDebts(end, func(_ string, d debt) bool { return d.window == l.windows })
}

// giveUpDebts drops what is owed from before floor, as giveUp does.
func (l *Loop) giveUpDebts(floor int64) {
	l.moveDebts(floor, func(id string, d debt) bool {
		n, first, last := trigger.Count(d.trigger, instant(d.from), instant(min(floor, d.to)), maxDropped)
		if n > 0 {
			l.o.Dropped(id, first, last, n)
		}
		return true
	})
}

// moveDebts lets the debts that begin before an instant, and that moves tells, begin there.
func (l *Loop) moveDebts(to int64, moves func(id string, d debt) bool) {
	for id, debts := range l.debts {
		kept := slices.Clone(debts)
		for i := range kept {
			d := &kept[i]
			if d.from >= to || !moves(id, *d) {
				continue
			}
			if d.from = to; d.next < to {
				d.next = l.nextOf(id, d.trigger, to)
			}
		}
		l.setDebts(id, slices.DeleteFunc(kept, debt.paid))
	}
}

// nextOwed is the first occurrence that is owed; never when none is.
func (l *Loop) nextOwed() int64 {
	at := int64(never)
	for _, debts := range l.debts {
		for _, d := range debts {
			at = min(at, d.next)
		}
	}
	return at
}
