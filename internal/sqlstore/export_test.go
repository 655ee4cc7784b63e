package sqlstore

import (
	"slices"

	"github.com/belfryhq/belfry/store"
)

// Statements lists every statement that the write connection has prepared so far.
func Statements(s *Store) []string {
	var queries []string
	for query := range s.writer.stmts {
		queries = append(queries, query)
	}
	slices.Sort(queries)
	return queries
}

// DropWriter throws the write connection away, as an error does that leaves it in a state nobody knows.
func DropWriter(s *Store) {
	s.writer.turn <- struct{}{}
	s.writer.drop()
	<-s.writer.turn
}

// RunsQuery is the statement behind Store.Runs.
func RunsQuery(q store.RunQuery) (string, []any) {
	query, args, err := runsQuery(q, 50)
	if err != nil {
		panic(err)
	}
	return query, args
}

// Reads lists the other statements of the read connections, with as many NULL arguments as they take.
func Reads() map[string]string {
	return map[string]string{
		"planner": selectClaim, "held": selectHeld, "revision": selectRevision, "nodes": selectNodes,
		"settled": selectSettledRuns, "settled gaps": selectSettledGaps, "schedules by name": selectSchedules + ` WHERE s.tenant = ? AND s.name_live > ? ORDER BY s.name_live LIMIT 9`,
		"gaps": selectGaps + ` ORDER BY g.first_at DESC, g.id DESC LIMIT 9`,
	}
}
