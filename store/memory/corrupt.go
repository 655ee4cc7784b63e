package memory

import "github.com/belfryhq/belfry/schedule"

// Corrupt overwrites the stored spec of a schedule's newest span without anything else noticing, as a person would who
// edits a row by hand. It is for tests.
func (s *Store) Corrupt(id schedule.ID, spec []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.definitions[id]
	d.spec = spec
	d.spans[len(d.spans)-1].Spec = spec
}
