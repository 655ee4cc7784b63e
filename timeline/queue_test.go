package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The queue against a map that is searched from end to end.
func TestQueueAgreesWithAPlainMap(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	var q queue
	plain := map[uint32]int64{}
	for n := range 20_000 {
		slot := uint32(rng.IntN(300))
		if rng.IntN(3) == 0 {
			q.drop(slot)
			delete(plain, slot)
		} else {
			key := rng.Int64N(500)
			q.set(slot, key)
			plain[slot] = key
		}
		if n%50 == 0 {
			compareQueue(t, &q, plain, rng)
		}
	}
	q.reset()
	compareQueue(t, &q, map[uint32]int64{}, rng)
}

func compareQueue(t *testing.T, q *queue, plain map[uint32]int64, rng *rand.Rand) {
	t.Helper()
	byKey := make([]item, 0, len(plain))
	for slot, key := range plain {
		byKey = append(byKey, item{key: key, slot: slot})
		if q.key(slot) != key {
			t.Fatalf("slot %d has key %d, want %d", slot, q.key(slot), key)
		}
	}
	slices.SortFunc(byKey, func(a, b item) int { return order(a.key, b.key) })
	if q.len() != len(byKey) || len(byKey) > 0 && q.min() != byKey[0].key || len(byKey) == 0 && q.min() != never {
		t.Fatalf("%d in the queue, the least is %d", q.len(), q.min())
	}
	limit := rng.Int64N(500)
	found := q.before(limit, nil)
	wanted, _ := slices.BinarySearchFunc(byKey, limit, func(it item, limit int64) int { return order(it.key, limit) })
	if len(found) != wanted {
		t.Fatalf("%d before %d, want %d", len(found), limit, wanted)
	}
	for _, it := range found {
		if plain[it.slot] != it.key || it.key >= limit {
			t.Fatalf("%v is not before %d", it, limit)
		}
	}
	n := rng.IntN(len(byKey) + 2)
	for i, it := range q.first(n) {
		if it.key != byKey[i].key || plain[it.slot] != it.key {
			t.Fatalf("number %d of %d is %v, want key %d", i, n, it, byKey[i].key)
		}
	}
}

// The table against a plain map, with removals that have to close the holes they make.
func TestTableAgreesWithAPlainMap(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	tab := newTable()
	plain := map[string]uint32{}
	for n := range 50_000 {
		id := fmt.Sprintf("id%d", rng.IntN(2000))
		slot, known := tab.find(id)
		if want, ok := plain[id]; ok != known || known && slot != want {
			t.Fatalf("%s: slot %d, %v; want %d, %v", id, slot, known, want, ok)
		}
		switch {
		case !known:
			plain[id] = tab.add(id, fmt.Sprint(n), Entry{Payload: id})
		case rng.IntN(2) == 0:
			tab.remove(slot)
			delete(plain, id)
		default:
			tab.write(slot, id, fmt.Sprint(n), Entry{Payload: id})
		}
	}
	for id, slot := range plain {
		if e := tab.at(slot); e.id() != id || e.payload != id {
			t.Errorf("%s: slot %d holds %+v", id, slot, e)
		}
	}
	if tab.count != len(plain) || int(tab.slots) > 2000 {
		t.Errorf("%d entries in %d slots, want %d", tab.count, tab.slots, len(plain))
	}
}

func TestInstantsKeepTheirOrderAtTheEdges(t *testing.T) {
	t.Parallel()
	ordered := []time.Time{
		{}, time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(-1, 999_999_999), time.Unix(0, 0), time.Unix(0, 1),
		time.Date(2261, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for i := 1; i < len(ordered); i++ {
		if nanos(ordered[i-1]) > nanos(ordered[i]) || nanos(ordered[i]) == never {
			t.Errorf("%v comes to %d, %v to %d", ordered[i-1], nanos(ordered[i-1]), ordered[i], nanos(ordered[i]))
		}
	}
	if at := justAfter(nanos(time.Unix(5, 1500))); !at.Equal(time.Unix(5, 2000)) {
		t.Errorf("the first whole microsecond after is %v", at)
	}
}
