package sqlstore

import (
	"time"

	"github.com/belfryhq/belfry/store"
)

// pullAll pulls back every definition that changed after an instant, and lets no pin lie behind it. It tells how many
// there were.
func (s *Store) pullAll(t *tx, at time.Time) (int, error) {
	_, err := t.exec(`UPDATE belfry_schedules SET pin_at = ? WHERE pin_at > ?`, micros(at), micros(at))
	if err != nil {
		return 0, err
	}
	var ahead []*stored
	err = eachStored(t, func(d *stored) { ahead = append(ahead, d) }, `s.changed_at > ?`, micros(at))
	if err != nil {
		return 0, err
	}
	for _, d := range ahead {
		if _, err := s.pullBack(t, d, at); err != nil {
			return 0, err
		}
	}
	return len(ahead), nil
}

// farAhead tells whether a definition was written by a clock that was wrong.
func (c *change) farAhead(d *stored) bool { return d.changedAt.After(c.now.Add(store.FarAhead)) }

// pullFirst pulls one definition back to now, before it changes again.
func (c *change) pullFirst(d *stored) error {
	if err := c.s.cutGaps(c.t, c.now, ` AND schedule_id = ?`, d.id[:]); err != nil {
		return err
	}
	pulled, err := c.s.pullBack(c.t, d, c.now)
	if err == nil {
		c.Unplanned += pulled.Unplanned
	}
	return err
}

// pullBack brings a definition that was written by a clock far ahead back to an instant, as a change of its own that
// takes effect there: otherwise it would wait for the wrong clock, and every later edit would queue up behind it.
func (s *Store) pullBack(t *tx, d *stored, at time.Time) (*change, error) {
	c := s.change(t, "", "the definition was ahead of the clock")
	was := d.changedAt
	var err error
	if c.At, err = pullSpans(t, d, at); err != nil {
		return nil, err
	}
	d.changedAt = c.At
	for _, v := range []*time.Time{&d.pause.At, &d.deletedAt} {
		if v.After(at) {
			*v = c.At
		}
	}
	_, err = t.exec(`UPDATE belfry_gaps SET first_at = ? WHERE schedule_id = ? AND last_at = ? AND is_open = 1 AND first_at > ?`,
		micros(c.At), d.id[:], int64(forever), micros(at))
	if err != nil {
		return nil, err
	}
	if err := c.unplan(d); err != nil {
		return nil, err
	}
	c.pinAt(d, at)
	if err := d.savePulled(t, at); err != nil {
		return nil, err
	}
	return c, c.event(d, "clock_corrected", map[string]any{"from": was, "to": c.At})
}

// pullSpans lets no span begin or end after an instant, and returns the one that it did it with: the first free
// microsecond if the newest span has to begin there, because a begin is a key.
func pullSpans(t *tx, d *stored, at time.Time) (time.Time, error) {
	limit, newest := at.UnixMicro(), d.spanFrom.UnixMicro()
	taken := map[int64]bool{}
	var never []int64 // begins of spans that never were in force
	err := t.each(func(scan func(...any) error) error {
		var from int64
		err := scan(&from)
		switch {
		case from <= limit:
			taken[from] = true
		case from != newest:
			never = append(never, from)
		}
		return err
	}, `SELECT valid_from FROM belfry_revisions WHERE schedule_id = ? ORDER BY valid_from`, d.id[:])
	if err != nil {
		return at, err
	}
	// They keep their specs for the runs that were planned from them, and go where no change to come can begin.
	slot := limit
	for _, from := range never {
		for slot--; taken[slot]; slot-- {
		}
		if _, err := t.exec(`UPDATE belfry_revisions SET valid_from = ?, valid_to = ? WHERE schedule_id = ? AND valid_from = ?`,
			slot, slot, d.id[:], from); err != nil {
			return at, err
		}
	}
	to := limit
	if newest > limit {
		for ; taken[to]; to++ {
		}
		if err := d.moveNewest(t, to); err != nil {
			return at, err
		}
	}
	_, err = t.exec(`UPDATE belfry_revisions SET valid_to = ? WHERE schedule_id = ? AND valid_from <= ? AND valid_to > ?`,
		to, d.id[:], limit, limit)
	return time.UnixMicro(to).UTC(), err
}

// moveNewest lets the span that holds the spec begin at an instant. One that ended already becomes empty.
func (d *stored) moveNewest(t *tx, to int64) error {
	from := micros(d.spanFrom)
	d.spanFrom = time.UnixMicro(to).UTC()
	if !d.spanTo.IsZero() {
		d.spanTo = d.spanFrom
	}
	_, err := t.exec(`UPDATE belfry_revisions SET valid_from = ?, valid_to = ? WHERE schedule_id = ? AND valid_from = ?`,
		to, micros(d.spanTo), d.id[:], from)
	return err
}

// savePulled writes what pulling back has changed. Who made the last change stays as it is.
func (d *stored) savePulled(t *tx, at time.Time) error {
	_, err := t.exec(`UPDATE belfry_schedules SET change = change + 1, dirty = 1, span_from = ?, changed_at = ?, paused_at = ?, deleted_at = ?,
		pin_at = ?, pin_reason = 'changed', created_at = CASE WHEN created_at > ? THEN ? ELSE created_at END,
		updated_at = CASE WHEN updated_at > ? THEN ? ELSE updated_at END WHERE id = ?`,
		micros(d.spanFrom), micros(d.changedAt), micros(d.pause.At), micros(d.deletedAt), micros(d.pin),
		micros(at), micros(d.changedAt), micros(at), micros(d.changedAt), d.id[:])
	return err
}
