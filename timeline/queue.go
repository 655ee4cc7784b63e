package timeline

import "slices"

// A queue orders slots by an instant: a heap with four children a node, whose keys lie together so that one step down
// reads one line of the processor's cache. Reading what is due does not change it; only a commit does.
type queue struct {
	keys  []int64
	slots []uint32
	where []uint32 // by slot: its index in keys plus one, 0 when it is not in the queue
	found []uint32 // scratch of before
}

// An item is a slot and the instant it is queued under.
type item struct {
	key  int64
	word uint64 // scratch of whoever sorts by more than the key
	slot uint32
}

const arity = 4

func (q *queue) len() int { return len(q.keys) }

// min returns the least key; never when the queue is empty.
func (q *queue) min() int64 {
	if len(q.keys) == 0 {
		return never
	}
	return q.keys[0]
}

// key returns what a slot is queued under; never when it is not.
func (q *queue) key(slot uint32) int64 {
	if i := q.index(slot); i >= 0 {
		return q.keys[i]
	}
	return never
}

func (q *queue) index(slot uint32) int {
	if int(slot) >= len(q.where) {
		return -1
	}
	return int(q.where[slot]) - 1
}

// set queues a slot under a key, or moves it there.
func (q *queue) set(slot uint32, key int64) {
	i := q.index(slot)
	if i < 0 {
		for int(slot) >= len(q.where) {
			q.where = append(q.where, 0)
		}
		i = len(q.keys)
		q.keys = append(q.keys, key)
		q.slots = append(q.slots, slot)
	}
	q.settle(i, item{key: key, slot: slot})
}

// drop takes a slot out, if it is in.
func (q *queue) drop(slot uint32) {
	i := q.index(slot)
	if i < 0 {
		return
	}
	q.where[slot] = 0
	last := len(q.keys) - 1
	moved := item{key: q.keys[last], slot: q.slots[last]}
	q.keys, q.slots = q.keys[:last], q.slots[:last]
	if i < last {
		q.settle(i, moved)
	}
}

// reset empties the queue and keeps its room.
func (q *queue) reset() {
	q.keys, q.slots = q.keys[:0], q.slots[:0]
	clear(q.where)
}

// settle puts an item where it belongs, given that the place at i is free.
func (q *queue) settle(i int, it item) {
	for i > 0 {
		parent := (i - 1) / arity
		if q.keys[parent] <= it.key {
			break
		}
		q.put(i, item{key: q.keys[parent], slot: q.slots[parent]})
		i = parent
	}
	for {
		child := q.leastChild(i)
		if child < 0 || q.keys[child] >= it.key {
			break
		}
		q.put(i, item{key: q.keys[child], slot: q.slots[child]})
		i = child
	}
	q.put(i, it)
}

func (q *queue) put(i int, it item) {
	q.keys[i], q.slots[i] = it.key, it.slot
	q.where[it.slot] = uint32(i) + 1
}

func (q *queue) leastChild(i int) int {
	first := i*arity + 1
	if first >= len(q.keys) {
		return -1
	}
	least := first
	for c := first + 1; c < min(first+arity, len(q.keys)); c++ {
		if q.keys[c] < q.keys[least] {
			least = c
		}
	}
	return least
}

// before appends every item with a key less than limit, in no particular order. It visits those and their children.
func (q *queue) before(limit int64, to []item) []item {
	if q.min() >= limit {
		return to
	}
	found := append(q.found[:0], 0)
	for n := 0; n < len(found); n++ {
		i := int(found[n])
		to = append(to, item{key: q.keys[i], slot: q.slots[i]})
		first := i*arity + 1
		for c := first; c < min(first+arity, len(q.keys)); c++ {
			if q.keys[c] < limit {
				found = append(found, uint32(c))
			}
		}
	}
	q.found = found
	return to
}

// first returns the n items with the least keys, in their order.
func (q *queue) first(n int) []item {
	if n >= len(q.keys) {
		all := make([]item, 0, len(q.keys))
		for i, key := range q.keys {
			all = append(all, item{key: key, slot: q.slots[i]})
		}
		slices.SortFunc(all, func(a, b item) int { return order(a.key, b.key) })
		return all
	}
	taken := make([]item, 0, n)
	var edge queue // indexes into this heap whose parents are taken
	edge.set(0, q.keys[0])
	for len(taken) < n {
		i := int(edge.slots[0])
		edge.drop(uint32(i))
		taken = append(taken, item{key: q.keys[i], slot: q.slots[i]})
		first := i*arity + 1
		for c := first; c < min(first+arity, len(q.keys)); c++ {
			edge.set(uint32(c), q.keys[c])
		}
	}
	return taken
}

func order(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
