package sqlstore

import (
	"encoding/json"
	"time"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/run"
)

// runInserter inserts the runs of a commit, one a statement: many rows in one were measured and gain nothing.
type runInserter struct {
	t     *tx
	now   time.Time
	epoch uint64 // of the planner that commits, for runs that do not say
	query string
	args  []any

	given    int // runs that were to be inserted
	inserted int // those whose occurrence had no run
}

// occurrenceKey is the unique index that makes a second run of an occurrence impossible.
const occurrenceKey = "schedule_id, occurrence_at, tenant"

const insertRun = `INSERT INTO belfry_runs (id, tenant, schedule_id, revision, kind, status, reason, occurrence_at, due_at, available_at,
	ready_at, pool, lock_key, overlap, max_attempts, attempt, max_deliveries, deliveries, on_lost, backoff, epoch, created_at, misfire)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func newRunInserter(t *tx, now time.Time, epoch uint64) *runInserter {
	query := insertRun + t.w.dialect.OnConflictNothing(occurrenceKey)
	if fault.Without("unique-index") {
		query = insertRun
	}
	return &runInserter{t: t, now: now, epoch: epoch, query: query}
}

func (i *runInserter) add(r *run.Run) error {
	i.given++
	if fault.Enabled && fault.Every("commit.drop") {
		i.inserted++
		return nil
	}
	if err := i.insert(r, occurrenceOf(r)); err != nil {
		return err
	}
	if fault.Enabled && fault.Every("commit.double") {
		twin := *r
		twin.ID = newID()
		i.given++
		return i.insert(&twin, nil)
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

func (i *runInserter) insert(r *run.Run, occurrence any) error {
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
	i.args = append(i.args[:0], r.ID[:], r.Tenant, r.Schedule[:], r.Revision, int64(r.Kind), int64(r.Status), r.Reason, occurrence, micros(r.Due),
		available, ready, r.Pool, r.LockKey, overlap, r.MaxAttempts, r.Attempt, r.MaxDeliveries, r.Deliveries, onLost,
		int64(r.Backoff), epoch, micros(i.now), misfire)
	n, err := i.t.exec(i.query, i.args...)
	i.inserted += n
	return err
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
