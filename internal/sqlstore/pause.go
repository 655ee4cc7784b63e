package sqlstore

import (
	"context"
	"fmt"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// Pause ends the span in force and opens a gap that stands for everything due from now on (PROTOCOL B10).
func (s *Store) Pause(ctx context.Context, id schedule.ID, p schedule.Pause) (store.Change, error) {
	return s.alter(ctx, "pause", id, func(c *change, row *stored) error {
		c.by, c.why = p.By, p.Reason
		if row.paused() {
			return nil
		}
		if err := c.after(row); err != nil {
			return err
		}
		if err := c.end(row); err != nil {
			return err
		}
		if err := c.openGap(row); err != nil {
			return err
		}
		if err := c.unplan(row); err != nil {
			return err
		}
		row.pause = schedule.Pause{At: c.At, By: p.By, Reason: p.Reason, Until: p.Until}
		return c.save(row, "schedule.paused")
	})
}

// Resume puts the same revision in force again. With catchUp the pause owes what it held back: its gap goes, the span
// that it ended goes on, and the schedule is pinned where the pause began.
func (s *Store) Resume(ctx context.Context, id schedule.ID, by string, catchUp bool) (store.Change, error) {
	return s.alter(ctx, "resume", id, func(c *change, row *stored) error {
		c.by = by
		if !row.paused() {
			return nil
		}
		if err := c.after(row); err != nil {
			return err
		}
		resume := c.goOn
		if catchUp {
			resume = c.catchUp
		}
		if err := resume(row); err != nil {
			return err
		}
		if err := c.unplan(row); err != nil {
			return err
		}
		row.pause = schedule.Pause{}
		return c.save(row, "schedule.resumed")
	})
}

// alter changes one live schedule.
func (s *Store) alter(ctx context.Context, name string, id schedule.ID, fn func(*change, *stored) error) (done store.Change, err error) {
	err = s.writer.do(ctx, &write{name: name, point: "apply", urgent: true, cost: 8, run: func(t *tx) error {
		done = store.Change{}
		row, err := findStored(t, `s.id = ? AND s.name_live IS NOT NULL`, id[:])
		if err != nil {
			return err
		}
		if row == nil {
			return decline(fmt.Errorf("schedule %s: %w", id, store.ErrNotFound))
		}
		c := s.change(t, "", "")
		before := *row
		if err := fn(c, row); err != nil {
			return err
		}
		if before.pause != row.pause {
			done = c.Change
		}
		return nil
	}})
	if err != nil {
		return store.Change{}, err
	}
	return done, nil
}

func (c *change) goOn(row *stored) error {
	if err := c.closeGap(row); err != nil {
		return err
	}
	return c.insertSpan(row, false)
}

func (c *change) catchUp(row *stored) error {
	gap, err := c.pauseGap(row)
	if err != nil || gap == nil {
		return err
	}
	if _, err := c.t.exec(`DELETE FROM belfry_gaps WHERE id = ?`, gap.ID[:]); err != nil {
		return err
	}
	c.pinAt(row, gap.First)
	n, err := c.t.exec(`UPDATE belfry_revisions SET valid_to = NULL WHERE schedule_id = ? AND valid_from = ? AND valid_to = ?`,
		row.id[:], micros(row.spanFrom), micros(gap.First))
	if err == nil && n != 1 {
		return fmt.Errorf("the span before the pause of %s does not end where the pause began", row.id)
	}
	return err
}

// openGap begins the gap of a pause. Its first instant is the pause's until the gap is closed and counted.
func (c *change) openGap(row *stored) error {
	return insertGap(c.t, &run.Gap{ID: newID(), Tenant: row.tenant, Schedule: row.id, Revision: row.revision,
		Reason: run.Paused, First: c.At, Open: true}, c.At, 0)
}

// closeGap ends the gap of a pause with its count; a pause that held nothing back leaves none.
func (c *change) closeGap(row *stored) error {
	gap, err := c.pauseGap(row)
	if err != nil || gap == nil {
		return err
	}
	return c.s.recount(c.t, gap, c.At)
}

// pauseGap finds the gap of the pause that is going on.
func (c *change) pauseGap(row *stored) (gap *run.Gap, err error) {
	err = c.t.each(func(scan func(...any) error) error {
		g, err := scanGap(scan)
		gap = &g
		return err
	}, selectGaps+` WHERE g.schedule_id = ? AND g.last_at = ? AND g.reason = ?`, row.id[:], int64(forever), run.Paused)
	return gap, err
}
