package timeline

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"
)

// selectDue opens the window from the watermark to the horizon. The boundary is fixed once and never compared with the
// advancing present (R-WIN-1).
func (l *Loop) selectDue(now time.Time) Window {
	clear(l.touched)
	l.windows++
	l.eager = false
	if l.o.Recover > 0 {
		l.giveUp(nanos(now.Add(-l.o.Recover)))
	}
	horizon := nanos(now.Add(l.o.Lead))
	w := Window{Start: instant(l.watermark), End: instant(max(l.watermark, horizon))}
	l.inWindow = l.inWindow[:0]
	l.synced = l.claim.SyncedUntil
	if horizon >= l.watermark { // else the clock went back, and nothing is selected until it has caught up
		l.synced = later(l.synced, l.lastSync)
		l.selectRiding(&w)
		l.selectPinned(&w)
		l.selectDebts(&w)
	}
	l.open, l.window = true, w
	l.o.Metrics.Set(SignalLag, now.Sub(w.Start).Seconds())
	return w
}

func (l *Loop) selectRiding(w *Window) {
	l.due = l.riding.before(nanos(w.End), l.due[:0])
	l.sort(l.due)
	w.Stretches = make([]Stretch, 0, len(l.due)+min(l.pinned.len(), l.o.MaxPinned))
	for _, it := range l.due {
		s := l.stretch(it, w)
		s.From = w.Start
		if len(l.from) > 0 {
			if at, own := l.from[it.slot]; own && (at > l.watermark || it.key < l.watermark) {
				s.From = instant(at)
			}
		}
		w.Stretches = append(w.Stretches, s)
		l.inWindow = append(l.inWindow, selected{slot: it.slot})
	}
}

// selectPinned takes every pinned entry, due or not: what a definition's writer pinned is unpinned only by a commit
// that had it in its window.
func (l *Loop) selectPinned(w *Window) {
	if l.pinned.len() == 0 {
		return
	}
	items := l.pinned.first(l.o.MaxPinned)
	l.sort(items)
	w.Deferred = l.pinned.len() - len(items)
	for _, it := range items {
		s := l.stretch(it, w)
		s.Pinned = true
		from := min(l.from[it.slot], l.watermark)
		s.From = instant(from)
		if it.key >= nanos(w.End) {
			s.Next = time.Time{}
		}
		w.Stretches = append(w.Stretches, s)
		l.inWindow = append(l.inWindow, selected{slot: it.slot, from: from, pinned: true})
	}
}

func (l *Loop) stretch(it item, w *Window) Stretch {
	e := l.table.at(it.slot)
	return Stretch{
		ID: e.id(), Version: e.version(), To: w.End, Next: instant(it.key), Trigger: e.trigger, Payload: e.payload,
	}
}

// sort puts items in the order of their keys, then IDs. IDs of one installation begin alike, and thousands of them are
// due at one instant: the eight bytes after what all have in common tell nearly all apart without a look at the text.
func (l *Loop) sort(items []item) {
	if len(items) < 2 {
		return
	}
	first := l.table.at(items[0].slot).id()
	common := len(first)
	for _, it := range items[1:] {
		common = commonPrefix(first[:common], l.table.at(it.slot).id())
	}
	for i := range items {
		items[i].word = wordAt(l.table.at(items[i].slot).id(), common)
	}
	slices.SortFunc(items, func(a, b item) int {
		switch {
		case a.key != b.key:
			return order(a.key, b.key)
		case a.word < b.word:
			return -1
		case a.word > b.word:
			return 1
		}
		return strings.Compare(l.table.at(a.slot).id(), l.table.at(b.slot).id())
	})
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	if a[:n] == b[:n] {
		return n
	}
	i := 0
	for a[i] == b[i] {
		i++
	}
	return i
}

// wordAt is the eight bytes of s from i on, as a number that sorts as they do.
func wordAt(s string, i int) uint64 {
	var word [8]byte
	copy(word[:], s[i:])
	return binary.BigEndian.Uint64(word[:])
}

// Occurrences enumerates the window, by due instant, then ID. Its length is that of the whole backlog: after a long
// outage without Options.Recover, read the stretches instead.
func (w Window) Occurrences() []Occurrence {
	all := make([]Occurrence, 0, len(w.Stretches))
	for i := range w.Stretches {
		s := &w.Stretches[i]
		if s.Next.IsZero() {
			continue
		}
		for due := range s.Trigger.Between(s.From, s.To) {
			all = append(all, Occurrence{ID: s.ID, Version: s.Version, Due: due.UTC(), Payload: s.Payload})
		}
	}
	byDue := func(a, b Occurrence) int {
		if c := a.Due.Compare(b.Due); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	}
	if !slices.IsSortedFunc(all, byDue) {
		slices.SortFunc(all, byDue)
	}
	return all
}
