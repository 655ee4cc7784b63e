package sqlstore

import (
	"bytes"
	"cmp"
	"math"

	"github.com/belfryhq/belfry/run"
)

// How many runs of a pool are read at once, with much room and with little; they are claimed one by one anyway.
const (
	linePage  = 128
	shortLine = 16
)

// line merges the claimable runs of several pools, oldest ready first. Each pool is read by its own index, page by
// page, so that a long backlog costs what is looked at. Pools without room are not read any further.
type line struct {
	k     *taker
	pools []*poolLine
}

type poolLine struct {
	pool  string
	page  []run.Run
	ended bool
	at    int64 // the last one read: where the next page begins
	after run.ID
}

func newLine(k *taker) *line {
	l := &line{k: k}
	for pool := range k.room {
		l.pools = append(l.pools, &poolLine{pool: pool, at: math.MinInt64})
	}
	return l
}

// next returns the oldest run that is left; false when there is none, or no room.
func (l *line) next() (*run.Run, bool, error) {
	var oldest *poolLine
	for _, p := range l.pools {
		if l.k.room[p.pool] <= 0 {
			continue
		}
		if err := p.fill(l.k); err != nil {
			return nil, false, err
		}
		if len(p.page) > 0 && (oldest == nil || before(&p.page[0], &oldest.page[0])) {
			oldest = p
		}
	}
	if oldest == nil {
		return nil, false, nil
	}
	r := &oldest.page[0]
	oldest.page = oldest.page[1:]
	return r, true, nil
}

func before(a, b *run.Run) bool {
	return cmp.Or(a.ReadyAt.Compare(b.ReadyAt), bytes.Compare(a.ID[:], b.ID[:])) < 0
}

// selectLine leaves out runs that wait for a lock whatever happens: thousands of them must not hide the one behind
// them. A run that would be skipped instead stays in, to be skipped.
const selectLine = `SELECT r.id, r.tenant, r.schedule_id, r.revision, r.kind, r.status, r.due_at, r.available_at, r.lock_key, r.overlap,
	r.max_attempts, r.attempt, r.max_deliveries, r.deliveries, r.on_lost, r.backoff, r.epoch, r.created_at, r.misfire FROM belfry_runs r
	WHERE r.pool = ? AND r.ready_at >= ? AND r.ready_at <= ? AND (r.ready_at > ? OR r.id > ?)
	AND (r.lock_key = '' OR r.kind = ? AND r.overlap = ? OR NOT EXISTS (
		SELECT 1 FROM belfry_runs o WHERE o.tenant = r.tenant AND o.lock_held = r.lock_key AND o.id <> r.id))
	ORDER BY r.ready_at, r.id`

var (
	selectShortLine = selectLine + limitTo(shortLine)
	selectLongLine  = selectLine + limitTo(linePage)
)

// overlapSkip is the number of overlap skip in the list of package columns.
const overlapSkip = 2

func (p *poolLine) fill(k *taker) error {
	if len(p.page) > 0 || p.ended {
		return nil
	}
	limit, query := linePage, selectLongLine
	if k.room[p.pool] <= shortLine {
		limit, query = shortLine, selectShortLine
	}
	p.page = make([]run.Run, 0, limit)
	err := k.t.each(func(scan func(...any) error) error {
		p.page = append(p.page, run.Run{Pool: p.pool})
		return scanLine(scan, &p.page[len(p.page)-1])
	}, query, p.pool, p.at, micros(k.reach), p.at, p.after[:], int64(run.Scheduled), overlapSkip)
	p.ended = len(p.page) < limit
	if n := len(p.page); n > 0 {
		p.at, p.after = p.page[n-1].ReadyAt.UnixMicro(), p.page[n-1].ID
	}
	return err
}

// scanLine reads what a run that was never delivered consists of: most runs are taken once, and reading the rest of the
// columns costs as much as all of these.
func scanLine(scan func(...any) error, r *run.Run) error {
	var overlap, onLost int
	err := scan(ident{(*[16]byte)(&r.ID)}, &r.Tenant, scheduleID(&r.Schedule), &r.Revision, &r.Kind, &r.Status, instant{&r.Due}, instant{&r.ReadyAt},
		&r.LockKey, &overlap, &r.MaxAttempts, &r.Attempt, &r.MaxDeliveries, &r.Deliveries, &onLost, &r.Backoff, &r.Epoch, instant{&r.CreatedAt},
		document{&r.Misfire})
	r.Overlap, r.OnLost = wordAt(overlaps, overlap), wordAt(onLosts, onLost)
	return err
}

// complete reads the columns that scanLine leaves out, of a run that was delivered before.
func complete(t *tx, r *run.Run) error {
	return t.each(func(scan func(...any) error) (err error) {
		*r, err = scanRun(scan)
		return err
	}, `SELECT `+runColumns+` FROM belfry_runs r WHERE r.id = ?`, r.ID[:])
}
