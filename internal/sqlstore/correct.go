package sqlstore

import (
	"context"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// Correct is the one way back for a watermark and for definitions (PROTOCOL A9). A gap that is still open says nothing
// about what is due, and stays. Backlogs are cut as well: nothing may be decided, or judged late, by an instant that has
// not come.
func (s *Store) Correct(ctx context.Context, shard int, old, next timeline.Claim, at time.Time) error {
	at = at.UTC().Truncate(time.Microsecond)
	return s.writer.do(ctx, &write{name: "correct the watermark", urgent: true, cost: groupCost, run: func(t *tx) error {
		stored, held, err := heldClaim(t, shard, old)
		if err != nil {
			return err
		}
		if !held {
			return decline(store.ErrFenced)
		}
		next.CoveredUntil = stored.CoveredUntil // it never covers more than before
		if at.Before(stored.CoveredUntil) {
			next.CoveredUntil = at
		}
		if swapped, err := writeClaim(t, shard, old, next); err != nil || !swapped {
			return err
		}
		t.hint = true
		if err := s.cutGaps(t, at, ""); err != nil {
			return err
		}
		if err := cutBacklogs(t, shard, at); err != nil {
			return err
		}
		pulled, err := s.pullAll(t, at)
		if err != nil {
			return err
		}
		return event(t, fact{at: s.now(), kind: "clock_corrected", reason: "the ledger was ahead of the clock", data: map[string]any{
			"shard": shard, "from": stored.CoveredUntil, "to": next.CoveredUntil, "epoch": next.Epoch, "schedules": pulled}})
	}})
}

// cutGaps takes back what gaps say of the time from an instant on. of narrows them down, with its arguments.
func (s *Store) cutGaps(t *tx, at time.Time, of string, args ...any) error {
	args = append([]any{micros(at)}, args...)
	if _, err := t.exec(`DELETE FROM belfry_gaps WHERE is_open = 0 AND first_at >= ?`+of, args...); err != nil {
		return err
	}
	var cut []run.Gap
	err := t.each(func(scan func(...any) error) error {
		g, err := scanGap(scan)
		cut = append(cut, g)
		return err
	}, selectGaps+` WHERE g.is_open = 0 AND g.last_at >= ?`+of, args...)
	if err != nil {
		return err
	}
	for i := range cut {
		if err := s.recount(t, &cut[i], at); err != nil {
			return err
		}
	}
	return nil
}

func cutBacklogs(t *tx, shard int, at time.Time) error {
	if _, err := t.exec(`DELETE FROM belfry_arrears WHERE shard = ? AND from_at >= ?`, shard, micros(at)); err != nil {
		return err
	}
	_, err := t.exec(`UPDATE belfry_arrears SET to_at = ? WHERE shard = ? AND to_at > ?`, micros(at), shard, micros(at))
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE belfry_arrears SET opened_at = ? WHERE shard = ? AND opened_at > ?`, micros(at), shard, micros(at))
	if err != nil {
		return err
	}
	_, err = t.exec(`UPDATE belfry_schedules SET pin_opened_at = ? WHERE pin_opened_at > ?`, micros(at), micros(at))
	return err
}
