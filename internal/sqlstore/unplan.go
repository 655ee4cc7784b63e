package sqlstore

import (
	"time"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/run"
)

// ahead is a run that a change may take back.
type ahead struct {
	id     run.ID
	status run.Status
	due    time.Time
}

// unplan takes back what was planned from the instant on. Such runs are deleted, not cancelled: a row would keep the
// occurrence, and an edit back would find it settled (PROTOCOL A2). What runs already is listed.
func (c *change) unplan(row *stored) error {
	if fault.Without("unplan") {
		return nil
	}
	var planned []ahead
	err := c.t.each(func(scan func(...any) error) error {
		var r ahead
		err := scan(ident{(*[16]byte)(&r.id)}, &r.status, instant{&r.due})
		planned = append(planned, r)
		return err
	}, `SELECT id, status, due_at FROM belfry_runs WHERE schedule_id = ? AND occurrence_at >= ? ORDER BY occurrence_at`,
		row.id[:], micros(c.At))
	if err != nil {
		return err
	}
	var due []time.Time
	for _, r := range planned {
		switch r.status {
		case run.Pending, run.Claimed:
			if _, err := c.t.exec(`DELETE FROM belfry_runs WHERE id = ?`, r.id[:]); err != nil {
				return err
			}
			due = append(due, r.due)
		case run.Running, run.Waiting:
			c.NotRevoked = append(c.NotRevoked, r.id)
		}
	}
	c.Unplanned += len(due)
	if len(due) == 0 {
		return nil
	}
	return c.event(row, "run.unplanned", map[string]any{"due": due})
}

// cancelQueued ends the runs of a removed schedule that were due and wait for a worker (S-075).
func (c *change) cancelQueued(row *stored) error {
	var queued []ahead
	err := c.t.each(func(scan func(...any) error) error {
		var r ahead
		err := scan(ident{(*[16]byte)(&r.id)}, &r.status)
		queued = append(queued, r)
		return err
	}, `SELECT id, status FROM belfry_runs WHERE schedule_id = ? AND status IN (?, ?, ?) AND due_at < ? ORDER BY id`,
		row.id[:], run.Pending, run.Held, run.RetryScheduled, micros(c.At))
	if err != nil {
		return err
	}
	for _, r := range queued {
		_, err := c.t.exec(`UPDATE belfry_runs SET status = ?, reason = 'schedule_removed', ready_at = NULL, lock_held = NULL, finished_at = ?,
			unwell_at = due_at WHERE id = ?`, run.Cancelled, micros(c.At), r.id[:])
		if err != nil {
			return err
		}
		if err := record(c.t, run.Event{Run: r.id, At: c.At, From: r.status, To: run.Cancelled, Note: "its schedule was removed"}); err != nil {
			return err
		}
		c.Cancelled = append(c.Cancelled, r.id)
	}
	return nil
}
