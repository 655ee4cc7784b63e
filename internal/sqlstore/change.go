package sqlstore

import (
	"encoding/json"
	"time"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// change is one change of definitions that takes effect at one instant. Each of its steps ends a span or begins one,
// un-plans what was planned from the instant on, marks the schedule dirty and pins it, all in the caller's transaction
// (PROTOCOL A1-A3).
type change struct {
	store.Change
	s       *Store
	t       *tx
	now     time.Time // At may lie a little later
	by, why string
}

func (s *Store) change(t *tx, by, why string) *change {
	t.hint = true
	now := s.now()
	return &change{s: s, t: t, now: now, by: by, why: why, Change: store.Change{At: now}}
}

// after moves the instant behind the last change of a schedule, in case the clock went back: spans never overlap. A
// change that a wrong clock put far ahead is pulled back instead, or this one would do nothing for hours.
func (c *change) after(d *stored) error {
	if d == nil {
		return nil
	}
	if c.farAhead(d) {
		if err := c.pullFirst(d); err != nil {
			return err
		}
	}
	if !c.At.After(d.changedAt) {
		c.At = d.changedAt.Add(time.Microsecond)
	}
	return nil
}

// apply brings one schedule to what was declared.
func (c *change) apply(d *declared, o schedule.Origin, done *store.Applied) error {
	switch {
	case d.Schedule == nil:
		done.Removed = append(done.Removed, d.id)
		return c.remove(d.stored)
	case d.stored == nil:
		done.Created = append(done.Created, d.id)
		fresh := &stored{id: d.id, tenant: d.Tenant, name: d.Name, origin: o}
		if err := fresh.insert(c.t, c.At, c.by); err != nil {
			return err
		}
		return c.begin(fresh, d, d.Spec.Paused, "schedule.created")
	case d.stored.deleted():
		done.Created = append(done.Created, d.id)
		d.stored.deletedAt, d.stored.pause = time.Time{}, schedule.Pause{}
		return c.begin(d.stored, d, d.Spec.Paused, "schedule.created")
	}
	done.Updated = append(done.Updated, d.id)
	if d.relabels() {
		d.stored.labels, d.stored.annotations = d.labels, d.annotations
		if err := d.stored.relabel(c.t, c.At, c.by); err != nil {
			return err
		}
		return c.event(d.stored, "schedule.updated", nil)
	}
	return c.begin(d.stored, d, d.stored.paused(), "schedule.updated")
}

// begin puts a new revision in force. Under a pause the revision is kept as an empty span, and the pause's gap begins
// anew, because a gap is counted by one revision.
func (c *change) begin(row *stored, d *declared, paused bool, event string) error {
	if err := c.end(row); err != nil {
		return err
	}
	row.revision++
	row.spec, row.labels, row.annotations = d.spec, d.labels, d.annotations
	if err := c.insertSpan(row, paused); err != nil {
		return err
	}
	if paused {
		if err := c.openGap(row); err != nil {
			return err
		}
		if !row.paused() {
			row.pause = schedule.Pause{At: c.At, By: c.by, Reason: c.why}
		}
	}
	if err := c.unplan(row); err != nil {
		return err
	}
	return c.save(row, event)
}

// remove ends a schedule. What was planned ahead is taken back, and what is due but has not begun is cancelled.
func (c *change) remove(row *stored) error {
	if err := c.end(row); err != nil {
		return err
	}
	if err := c.unplan(row); err != nil {
		return err
	}
	if err := c.cancelQueued(row); err != nil {
		return err
	}
	row.pause, row.deletedAt = schedule.Pause{}, c.At
	return c.save(row, "schedule.removed")
}

// end closes what is open: the span that is in force, or the gap of a pause.
func (c *change) end(row *stored) error {
	if row.paused() {
		return c.closeGap(row)
	}
	_, err := c.t.exec(`UPDATE belfry_revisions SET valid_to = ? WHERE schedule_id = ? AND valid_to IS NULL`, micros(c.At), row.id[:])
	return err
}

// insertSpan adds a revision row that begins now. An empty one ends where it begins.
func (c *change) insertSpan(row *stored, empty bool) error {
	var end any
	if empty {
		end = micros(c.At)
	}
	row.spanFrom = c.At
	_, err := c.t.exec(`INSERT INTO belfry_revisions (schedule_id, valid_from, valid_to, revision, spec, made_by, why) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		row.id[:], micros(c.At), end, row.revision, string(row.spec), c.by, c.why)
	return err
}

// save pins the schedule at the instant, or where it was pinned before, and tells what happened.
func (c *change) save(row *stored, event string) error {
	c.pinAt(row, c.At)
	if err := row.save(c.t, c.At, c.by); err != nil {
		return err
	}
	return c.event(row, event, map[string]any{"revision": row.revision})
}

func (c *change) pinAt(row *stored, at time.Time) {
	if (row.pin.IsZero() || at.Before(row.pin)) && !fault.Without("pin") {
		row.pin = at
	}
}

// event writes a fact about a schedule.
func (c *change) event(row *stored, kind string, data any) error {
	return event(c.t, fact{at: c.At, kind: kind, tenant: row.tenant, schedule: row.id, actor: c.by, reason: c.why, data: data})
}

type fact struct {
	at            time.Time
	kind          string
	tenant        string
	schedule      schedule.ID
	actor, reason string
	data          any
}

func event(t *tx, f fact) error {
	text := []byte("{}")
	if f.data != nil {
		var err error
		if text, err = json.Marshal(f.data); err != nil {
			return err
		}
	}
	id := newID()
	_, err := t.exec(`INSERT INTO belfry_events (id, at, kind, tenant, schedule_id, actor, reason, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		id[:], micros(f.at), f.kind, f.tenant, blob(f.schedule), f.actor, f.reason, string(text))
	return err
}
