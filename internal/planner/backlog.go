package planner

import (
	"bytes"
	"slices"
	"time"

	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// backlog is the arrears of this shard in memory: for each record, the schedules that are still undecided. The records
// in the database say the same by a cursor over the schedule IDs, so a successor goes on where this planner stopped;
// it may look at some schedules again, and finds that they are disposed of (PROTOCOL A4, A10).
type backlog struct{ records []arrears }

type arrears struct {
	record store.Arrears
	ids    []schedule.ID // ascending, all above the record's cursor
}

// item is one schedule's stretch to decide.
type item struct {
	id       schedule.ID
	from, to time.Time
	opened   time.Time
}

func (b *backlog) add(record store.Arrears, ids []schedule.ID) {
	slices.SortFunc(ids, compareIDs)
	b.records = append(b.records, arrears{record, ids})
}

func (b *backlog) size() (n int) {
	for _, r := range b.records {
		n += len(r.ids)
	}
	return n
}

// holds tells whether a schedule has a stretch that is still undecided.
func (b *backlog) holds(id schedule.ID) bool {
	return slices.ContainsFunc(b.records, func(r arrears) bool {
		_, found := slices.BinarySearchFunc(r.ids, id, compareIDs)
		return found
	})
}

// next returns the next schedules of the oldest record, at most limit of them, and the record as it will stand once
// they are decided. A record without schedules is returned as done with no items.
func (b *backlog) next(limit int) ([]item, store.Arrears, bool) {
	if len(b.records) == 0 {
		return nil, store.Arrears{}, false
	}
	r := b.records[0]
	n := min(limit, len(r.ids))
	items := make([]item, n)
	for i, id := range r.ids[:n] {
		items[i] = item{id: id, from: r.record.From, to: r.record.To, opened: r.record.OpenedAt}
	}
	after := r.record
	after.Done = n == len(r.ids)
	if n > 0 {
		after.Cursor = r.ids[n-1]
	}
	return items, after, true
}

// advance drops what a commit has decided: everything up to the record's cursor.
func (b *backlog) advance(after store.Arrears) {
	r := &b.records[0]
	r.record = after
	for len(r.ids) > 0 && (after.Done || compareIDs(r.ids[0], after.Cursor) <= 0) {
		r.ids = r.ids[1:]
	}
	if len(r.ids) == 0 {
		b.records = b.records[1:]
	}
}

func compareIDs(a, b schedule.ID) int { return bytes.Compare(a[:], b[:]) }
