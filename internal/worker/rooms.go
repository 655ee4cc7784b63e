package worker

import (
	"sync"

	"github.com/belfryhq/belfry/store"
)

// rooms counts what each pool may still take. A run occupies a place from the moment it is taken until its code has ended,
// held ones included, so that a worker that dies has no more in hand than it could execute (PROTOCOL C12).
type rooms struct {
	freed chan struct{} // one hint that something was given back

	mu   sync.Mutex
	free map[string]int
}

func newRooms(pools map[string]int) *rooms {
	s := &rooms{freed: make(chan struct{}, 1), free: map[string]int{}}
	for pool, n := range pools {
		s.free[pool] = n
	}
	return s
}

// total is how many runs can execute at once. As many again may have ended with their outcome not written yet: that is
// what a worker that dies makes be done again at most, beside what it was executing.
func (s *rooms) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := 0
	for _, n := range s.free {
		sum += n
	}
	return sum
}

// room lists the pools that may take something.
func (s *rooms) room(pools []string) []store.PoolRoom {
	s.mu.Lock()
	defer s.mu.Unlock()
	var room []store.PoolRoom
	for _, pool := range pools {
		if n := s.free[pool]; n > 0 {
			room = append(room, store.PoolRoom{Pool: pool, Free: n})
		}
	}
	return room
}

func (s *rooms) take(pool string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free[pool]--
}

func (s *rooms) give(pool string) {
	s.mu.Lock()
	s.free[pool]++
	s.mu.Unlock()
	s.poke()
}

// poke tells the taking loop to look again.
func (s *rooms) poke() {
	select {
	case s.freed <- struct{}{}:
	default:
	}
}
