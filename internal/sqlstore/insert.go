package sqlstore

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/run"
)

// runInserter collects the runs of a commit and inserts them many at a time.
type runInserter struct {
	t     *tx
	now   time.Time
	epoch uint64 // of the planner that commits, for runs that do not say

	args     []any
	rows     int
	given    int // runs that were to be inserted
	inserted int // those whose occurrence had no run
}

// insertRows is how many rows one statement carries: beyond this, longer statements gain nothing measurable.
const insertRows = 32

const runInsertColumns = `id, tenant, schedule_id, revision, kind, status, reason, occurrence_at, due_at, available_at, ready_at,
	pool, lock_key, overlap, max_attempts, attempt, max_deliveries, deliveries, on_lost, backoff, epoch, created_at, misfire`

var runInsertWidth = strings.Count(runInsertColumns, ",") + 1

// occurrenceKey is the unique index that makes a second run of an occurrence impossible.
const occurrenceKey = "schedule_id, occurrence_at, tenant"

func (i *runInserter) add(r *run.Run) error {
	i.given++
	if fault.Enabled && fault.Every("commit.drop") {
		i.inserted++
		return nil
	}
	if err := i.bind(r, occurrenceOf(r)); err != nil {
		return err
	}
	if fault.Enabled && fault.Every("commit.double") {
		twin := *r
		twin.ID = newID()
		i.given++
		return i.bind(&twin, nil)
	}
	return nil
}

// occurrenceOf is the instant whose occurrence the run is; only kind scheduled settles one.
func occurrenceOf(r *run.Run) any {
	if r.Kind == run.Scheduled {
		return micros(r.Due)
	}
	return nil
}

func (i *runInserter) bind(r *run.Run, occurrence any) error {
	overlap, err := number(overlaps, r.Overlap)
	if err != nil {
		return err
	}
	onLost, err := number(onLosts, r.OnLost)
	if err != nil {
		return err
	}
	var misfire any
	if r.Misfire != nil {
		text, err := json.Marshal(r.Misfire)
		if err != nil {
			return err
		}
		misfire = string(text)
	}
	available := micros(r.ReadyAt)
	if available == nil {
		available = micros(r.Due)
	}
	ready := available
	if !r.Status.Claimable() {
		ready = nil
	}
	epoch := r.Epoch
	if epoch == 0 {
		epoch = i.epoch
	}
	i.args = append(i.args, r.ID[:], r.Tenant, r.Schedule[:], r.Revision, r.Kind, r.Status, r.Reason, occurrence, micros(r.Due),
		available, ready, r.Pool, r.LockKey, overlap, r.MaxAttempts, r.Attempt, r.MaxDeliveries, r.Deliveries, onLost,
		int64(r.Backoff), epoch, micros(i.now), misfire)
	if i.rows++; i.rows == insertRows {
		return i.insert(insertRows)
	}
	return nil
}

// flush inserts what is left, one by one so that few different statements are prepared.
func (i *runInserter) flush() error {
	for i.rows > 0 {
		if err := i.insert(1); err != nil {
			return err
		}
	}
	return nil
}

func (i *runInserter) insert(rows int) error {
	n, err := i.t.exec(runInsert(i.t.w.dialect, rows), i.args[:rows*runInsertWidth]...)
	i.args, i.rows, i.inserted = i.args[rows*runInsertWidth:], i.rows-rows, i.inserted+n
	if i.rows == 0 {
		i.args = i.args[:0:0]
	}
	return err
}

func runInsert(d Dialect, rows int) string {
	row := "(" + strings.Repeat("?, ", runInsertWidth-1) + "?)"
	query := "INSERT INTO belfry_runs (" + runInsertColumns + ") VALUES " + strings.Repeat(row+", ", rows-1) + row
	if fault.Without("unique-index") {
		return query
	}
	return query + d.OnConflictNothing(occurrenceKey)
}

// insertGap adds a gap. One that exists is an error: two gaps over the same occurrences would count them twice.
func insertGap(t *tx, g *run.Gap, now time.Time, epoch uint64) error {
	policy, err := number(misfires, g.Policy)
	if err != nil {
		return err
	}
	if g.Epoch != 0 {
		epoch = g.Epoch
	}
	last := micros(g.Last)
	if g.Open {
		last = int64(forever)
	}
	_, err = t.exec(`INSERT INTO belfry_gaps (id, tenant, schedule_id, revision, reason, policy, first_at, last_at, occurrences,
		is_open, run_id, epoch, zone_release, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		g.ID[:], g.Tenant, g.Schedule[:], g.Revision, g.Reason, policy, micros(g.First), last, g.Count,
		flag(g.Open), blob(g.Run), epoch, g.ZoneRelease, micros(now))
	return err
}
