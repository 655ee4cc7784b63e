package cron

import (
	"sync/atomic"
	"time"
)

const (
	// reach is how far a change of the clocks may act: no gap, repeat or difference
	// between two offsets of one zone is longer. The longest in the database is 24
	// hours (Samoa, Kwajalein and the date line changes of the 19th century).
	reach = 48 * 3600

	// noStart and noEnd bound a zone's first and last segment. They leave room to
	// add an offset without overflow.
	noStart = -1 << 60
	noEnd   = 1 << 60

	// maxJoins bounds how many answers of a zone become one segment. Where more
	// follow each other with one offset, a border without a change is left, which
	// costs a step and does no harm.
	maxJoins = 8

	// segmentSlots bounds the cache of segments, and so the zones it keeps alive.
	segmentSlots = 256
	// slotSpan is how long a stretch of time shares one slot of a zone: a power of
	// two of seconds near 97 days, about as long as a segment.
	slotSpan = 23
	// maxOffset is what a cached offset may be; three of them fit in one word.
	maxOffset = 1 << 20
)

// segment is a stretch [start, end) of instants, in seconds since 1970, in which a
// zone's offset does not change; before and after are the offsets next to it.
type segment struct {
	start, end            int64
	offset, before, after int64
}

// gap is how many seconds the clocks skip at the segment's start, 0 if they do not.
func (s *segment) gap() int64 { return max(0, s.offset-s.before) }

// repeated is the local time below which the segment before has shown a local time
// of this one already.
func (s *segment) repeated() int64 { return s.start + s.before }

// unrepeated is the local time from which on the segment after shows a local time of
// this one again.
func (s *segment) unrepeated() int64 { return s.end + s.after }

// segmentAt finds the segment that holds the instant u. A nil zone is UTC.
func segmentAt(zone *time.Location, u int64) segment {
	if zone == nil || zone == time.UTC {
		return segment{start: noStart, end: noEnd}
	}
	slot := &segments[slotOf(zone, u)]
	if s, ok := slot.load(zone, u); ok {
		return s
	}
	s := lookUp(zone, u)
	slot.store(zone, &s)
	return s
}

// lookUp asks the zone, and joins what it answers to the stretch between two real
// changes of the offset.
func lookUp(zone *time.Location, u int64) segment {
	start, end, offset := span(zone, u)
	s := segment{start: start, end: end, offset: offset, before: offset, after: offset}
	for range maxJoins {
		if s.start == noStart {
			break
		}
		start, _, s.before = span(zone, s.start-1)
		if s.before != s.offset {
			break
		}
		s.start = start
	}
	for range maxJoins {
		if s.end == noEnd {
			break
		}
		_, end, s.after = span(zone, s.end)
		if s.after != s.offset {
			break
		}
		s.end = end
	}
	return s
}

// span mends what bounds says. Where a zone's rule goes on for ever, package time
// bounds its answers by the ends of the year, and two of them are wrong: on 31
// December of a leap year the end lies in the past, and in the year in which the
// rule takes over the start may lie before the last recorded change.
func span(zone *time.Location, u int64) (start, end, offset int64) {
	start, end, offset = bounds(zone, u)
	if end <= u {
		year, _, _ := civil(floorDiv(u, secondsPerDay))
		end = dayOf(year+1, 1) * secondsPerDay
	}
	for start > noStart {
		_, sooner, _ := bounds(zone, start)
		if sooner > u || sooner <= start {
			break
		}
		start = sooner
	}
	return start, end, offset
}

func bounds(zone *time.Location, u int64) (start, end, offset int64) {
	t := time.Unix(u, 0).In(zone)
	_, o := t.Zone()
	from, to := t.ZoneBounds()
	start, end = noStart, noEnd
	if !from.IsZero() {
		start = from.Unix()
	}
	if !to.IsZero() {
		end = to.Unix()
	}
	return start, end, int64(o)
}

// segments remembers what zones answered, because asking costs several times what
// the rest of a search does. An entry is a copy of a fact that never changes, so the
// cache is invisible: it can only be there or not.
var segments [segmentSlots]slot

// slot is a seqlock. A reader that meets a writer, and a writer that meets another,
// goes without the cache; nobody waits. All fields are atomics, so that a torn read
// is noticed by seq and never a data race.
type slot struct {
	seq        atomic.Uint64 // odd while being written
	zone       atomic.Pointer[time.Location]
	start, end atomic.Int64
	offsets    atomic.Int64 // offset, before, after: 21 bits each
}

func slotOf(zone *time.Location, u int64) uint64 {
	name := zone.String()
	h := uint64(u>>slotSpan) + uint64(len(name))<<4
	if n := len(name); n > 2 {
		h += uint64(name[n-1])<<8 ^ uint64(name[n-2])<<16 ^ uint64(name[n/2])<<24 ^ uint64(name[0])<<32
	}
	h *= 0x9e3779b97f4a7c15
	return h >> 56 % segmentSlots
}

func (c *slot) load(zone *time.Location, u int64) (segment, bool) {
	seq := c.seq.Load()
	if seq&1 != 0 || c.zone.Load() != zone {
		return segment{}, false
	}
	s := segment{start: c.start.Load(), end: c.end.Load()}
	o := c.offsets.Load()
	if c.seq.Load() != seq || u < s.start || u >= s.end {
		return segment{}, false
	}
	s.offset, s.before, s.after = o<<43>>43, o<<22>>43, o<<1>>43
	return s, true
}

func (c *slot) store(zone *time.Location, s *segment) {
	seq := c.seq.Load()
	if !fits(s.offset) || !fits(s.before) || !fits(s.after) || seq&1 != 0 || !c.seq.CompareAndSwap(seq, seq+1) {
		return
	}
	c.zone.Store(zone)
	c.start.Store(s.start)
	c.end.Store(s.end)
	const low = 1<<21 - 1
	c.offsets.Store(s.offset&low | s.before&low<<21 | s.after&low<<42)
	c.seq.Store(seq + 2)
}

func fits(offset int64) bool { return -maxOffset <= offset && offset < maxOffset }
