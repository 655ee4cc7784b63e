package timeline

import (
	"hash/maphash"

	"github.com/belfryhq/belfry/trigger"
)

// An entry is one definition in memory. ID and version share one allocation, and the index below holds no copy of
// either, because a million entries are meant to fit next to a program that has other things to do.
type entry struct {
	name    string // ID, then version; empty: the slot is free
	trigger trigger.Trigger
	payload any
	idLen   int
}

func (e *entry) id() string      { return e.name[:e.idLen] }
func (e *entry) version() string { return e.name[e.idLen:] }

// forgotten reports whether only the name is left: a definition that will never be due again stays known under its
// version, so that a later sync does not bring it back (R-REC-17).
func (e *entry) forgotten() bool { return e.trigger == nil }

// A table finds entries by ID and names each by a slot, a small number that is handed out again after a removal.
// The index is open addressing over slots; a tag of the hash's top bits spares most looks at an entry that is not it.
type table struct {
	chunks [][]entry
	slots  uint32 // slots below it have been handed out
	free   []uint32
	index  []uint32 // slot + 1; 0 is empty; the length is a power of two
	tags   []uint8
	count  int
	seed   maphash.Seed
}

const chunkBits = 10

func newTable() *table {
	return &table{index: make([]uint32, 16), tags: make([]uint8, 16), seed: maphash.MakeSeed()}
}

func (t *table) at(slot uint32) *entry {
	return &t.chunks[slot>>chunkBits][slot&(1<<chunkBits-1)]
}

func (t *table) used(slot uint32) bool { return t.at(slot).name != "" }

func (t *table) find(id string) (uint32, bool) {
	hash := maphash.String(t.seed, id)
	tag, mask := uint8(hash>>56), uint64(len(t.index)-1)
	for i := hash & mask; t.index[i] != 0; i = (i + 1) & mask {
		if t.tags[i] != tag {
			continue
		}
		if slot := t.index[i] - 1; t.at(slot).id() == id {
			return slot, true
		}
	}
	return 0, false
}

// add gives an ID that is not known a slot.
func (t *table) add(id, version string, e Entry) uint32 {
	if (t.count+1)*4 > len(t.index)*3 {
		t.grow()
	}
	slot := t.take()
	t.write(slot, id, version, e)
	t.link(slot)
	t.count++
	return slot
}

func (t *table) write(slot uint32, id, version string, e Entry) {
	*t.at(slot) = entry{name: id + version, idLen: len(id), trigger: e.Trigger, payload: e.Payload}
}

func (t *table) take() uint32 {
	if n := len(t.free); n > 0 {
		slot := t.free[n-1]
		t.free = t.free[:n-1]
		return slot
	}
	if int(t.slots)>>chunkBits == len(t.chunks) {
		t.chunks = append(t.chunks, make([]entry, 1<<chunkBits))
	}
	t.slots++
	return t.slots - 1
}

func (t *table) link(slot uint32) {
	hash := maphash.String(t.seed, t.at(slot).id())
	mask := uint64(len(t.index) - 1)
	i := hash & mask
	for t.index[i] != 0 {
		i = (i + 1) & mask
	}
	t.index[i], t.tags[i] = slot+1, uint8(hash>>56)
}

func (t *table) grow() {
	t.index, t.tags = make([]uint32, 2*len(t.index)), make([]uint8, 2*len(t.tags))
	for slot := range t.slots {
		if t.used(slot) {
			t.link(slot)
		}
	}
}

// remove frees a slot. What was displaced past it in the index moves back, so that no tombstones pile up.
func (t *table) remove(slot uint32) {
	mask := uint64(len(t.index) - 1)
	hole := maphash.String(t.seed, t.at(slot).id()) & mask
	for t.index[hole] != slot+1 {
		hole = (hole + 1) & mask
	}
	for i := (hole + 1) & mask; t.index[i] != 0; i = (i + 1) & mask {
		home := maphash.String(t.seed, t.at(t.index[i]-1).id()) & mask
		if (i-home)&mask < (i-hole)&mask {
			continue // it would come to stand before its home
		}
		t.index[hole], t.tags[hole] = t.index[i], t.tags[i]
		hole = i
	}
	t.index[hole] = 0
	*t.at(slot) = entry{}
	t.free = append(t.free, slot)
	t.count--
}

// A marks is a set of slots.
type marks []uint64

func (m *marks) reset(slots uint32) {
	clear(*m)
	for uint32(len(*m))*64 < slots {
		*m = append(*m, 0)
	}
}

func (m marks) set(slot uint32)      { m[slot/64] |= 1 << (slot % 64) }
func (m marks) has(slot uint32) bool { return m[slot/64]&(1<<(slot%64)) != 0 }
