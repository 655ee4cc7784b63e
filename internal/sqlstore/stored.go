package sqlstore

import (
	"time"

	"github.com/belfryhq/belfry/schedule"
)

// stored is a schedule as a change finds it, and as the change leaves it.
type stored struct {
	id                  schedule.ID
	tenant, name        string
	origin              schedule.Origin
	revision            uint64
	labels, annotations string
	spec                []byte
	spanFrom            time.Time // begin of the revision row that holds the spec
	spanTo              time.Time // zero: in force
	changedAt           time.Time
	pause               schedule.Pause // zero At: not paused
	pin                 time.Time
	deletedAt           time.Time
}

func (d *stored) paused() bool  { return !d.pause.At.IsZero() }
func (d *stored) deleted() bool { return !d.deletedAt.IsZero() }

const selectStored = `SELECT s.id, s.tenant, s.name, s.origin, s.revision, s.labels, s.annotations, v.spec, v.valid_from, v.valid_to,
	s.changed_at, s.paused_at, s.paused_by, s.paused_reason, s.paused_until, s.pin_at, s.deleted_at
	FROM belfry_schedules s JOIN belfry_revisions v ON v.schedule_id = s.id AND v.valid_from = s.span_from WHERE `

func eachStored(t *tx, fn func(*stored), where string, args ...any) error {
	return t.each(func(scan func(...any) error) error {
		var d stored
		err := scan(scheduleID(&d.id), &d.tenant, &d.name, &d.origin, &d.revision, &d.labels, &d.annotations, &d.spec,
			instant{&d.spanFrom}, instant{&d.spanTo}, instant{&d.changedAt}, instant{&d.pause.At}, &d.pause.By, &d.pause.Reason,
			instant{&d.pause.Until}, instant{&d.pin}, instant{&d.deletedAt})
		if err == nil {
			fn(&d)
		}
		return err
	}, selectStored+where, args...)
}

func findStored(t *tx, where string, args ...any) (found *stored, err error) {
	err = eachStored(t, func(d *stored) { found = d }, where, args...)
	return found, err
}

// insert adds a schedule that does not exist.
func (d *stored) insert(t *tx, at time.Time, by string) error {
	_, err := t.exec(`INSERT INTO belfry_schedules (id, tenant, name, origin, revision, change, span_from, changed_at, created_at, created_by, updated_at)
		VALUES (?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?)`,
		d.id[:], d.tenant, d.name, d.origin, micros(at), micros(at), micros(at), by, micros(at))
	return err
}

// save writes the schedule as a change that planners must know: dirty, and pinned as d.pin says.
func (d *stored) save(t *tx, at time.Time, by string) error {
	var live any = d.name
	if d.deleted() {
		live = nil
	}
	_, err := t.exec(`UPDATE belfry_schedules SET name_live = ?, revision = ?, change = change + 1, span_from = ?, changed_at = ?,
		paused_at = ?, paused_by = ?, paused_reason = ?, paused_until = ?, pin_at = ?, pin_reason = 'changed', dirty = 1,
		labels = ?, annotations = ?, updated_at = ?, updated_by = ?, deleted_at = ? WHERE id = ?`,
		live, d.revision, micros(d.spanFrom), micros(at),
		micros(d.pause.At), d.pause.By, d.pause.Reason, micros(d.pause.Until), micros(d.pin),
		d.labels, d.annotations, micros(at), by, micros(d.deletedAt), d.id[:])
	return err
}

// relabel writes what no planner needs to know.
func (d *stored) relabel(t *tx, at time.Time, by string) error {
	_, err := t.exec(`UPDATE belfry_schedules SET labels = ?, annotations = ?, updated_at = ?, updated_by = ? WHERE id = ?`,
		d.labels, d.annotations, micros(at), by, d.id[:])
	return err
}
