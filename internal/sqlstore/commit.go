package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// horizonSlack is what a window may reach beyond the store's clock and the lead (PROTOCOL A9).
const horizonSlack = time.Second

// Commit writes a window. Everything that can be refused for the whole is refused before the first row is written.
func (s *Store) Commit(ctx context.Context, c store.Commit) (done store.Committed, err error) {
	cost := 1
	for i := range c.Plans {
		cost += 1 + len(c.Plans[i].Runs) + len(c.Plans[i].Gaps)
	}
	err = s.writer.do(ctx, &write{name: "commit", point: "commit", urgent: true, cost: cost, run: func(t *tx) (err error) {
		done, err = s.commit(t, c)
		return err
	}})
	if err != nil {
		return store.Committed{}, err
	}
	return done, nil
}

func (s *Store) commit(t *tx, c store.Commit) (done store.Committed, err error) {
	now := s.now()
	stored, held, err := heldClaim(t, c.Shard, c.Old)
	switch {
	case err != nil:
		return done, err
	case !held:
		return done, decline(store.ErrFenced)
	case c.Next.CoveredUntil.After(now.Add(c.Lead + horizonSlack)):
		return done, decline(store.ErrHorizon)
	case rewinds(stored, c.Next):
		return done, decline(errRewind)
	}
	if swapped, err := writeClaim(t, c.Shard, c.Old, c.Next); err != nil || !swapped {
		return done, errors.Join(err, store.ErrFenced)
	}
	crash("commit", ".claim")
	runs := runInserter{t: t, now: now, epoch: c.Next.Epoch}
	for i := range c.Plans {
		p := &c.Plans[i]
		planned, err := s.carryOut(t, p, &runs)
		if err != nil {
			return done, err
		}
		if !planned {
			done.LeftOut = append(done.LeftOut, p.Schedule)
		}
	}
	if err := runs.flush(); err != nil {
		return done, err
	}
	crash("commit", ".runs")
	done.Inserted, done.Duplicate = runs.inserted, runs.given-runs.inserted
	for _, a := range c.Arrears {
		if err := putArrears(t, c.Shard, a); err != nil {
			return done, err
		}
	}
	t.hint = t.hint || done.Inserted > 0
	return done, nil
}

// planned is what a commit must know of a schedule.
type planned struct {
	change     uint64
	pin        time.Time
	dirty      bool
	quarantine string
}

// carryOut does what one plan says. It reports false when the schedule changed since it was planned; then only its pin
// is written (PROTOCOL A3).
func (s *Store) carryOut(t *tx, p *store.Plan, runs *runInserter) (bool, error) {
	var row planned
	found, err := t.one(into(&row.change, instant{&row.pin}, &row.dirty, &row.quarantine),
		`SELECT change, pin_at, COALESCE(dirty, 0), quarantine FROM belfry_schedules WHERE id = ?`, p.Schedule[:])
	switch {
	case err != nil || !found:
		return false, err
	case row.change != p.Change:
		return false, leaveOut(t, p, row)
	}
	for i := range p.Runs {
		if err := runs.add(&p.Runs[i]); err != nil {
			return false, err
		}
	}
	for i := range p.Gaps {
		if err := insertGap(t, &p.Gaps[i], runs.now, runs.epoch); err != nil {
			return false, err
		}
	}
	return true, mark(t, p, row)
}

// leaveOut pins a schedule that changed under its plan, so that the watermark may go past it.
func leaveOut(t *tx, p *store.Plan, row planned) error {
	if fault.Without("pin") || (!row.pin.IsZero() && !p.From.Before(row.pin)) {
		return nil
	}
	_, err := t.exec(`UPDATE belfry_schedules SET pin_at = ?, pin_reason = 'changed' WHERE id = ?`, micros(p.From), p.Schedule[:])
	return err
}

// mark writes where the schedule's coverage stands after its plan.
func mark(t *tx, p *store.Plan, row planned) error {
	quarantine := row.quarantine
	if p.Unpin && p.Pin.IsZero() || p.Quarantine != "" {
		quarantine = p.Quarantine
	}
	var err error
	switch {
	case !p.Pin.IsZero():
		_, err = t.exec(`UPDATE belfry_schedules SET pin_at = ?, pin_opened_at = ?, pin_reason = ?, quarantine = ?
			WHERE id = ? AND change = ?`, micros(p.Pin), micros(p.OpenedAt), p.PinReason, quarantine, p.Schedule[:], p.Change)
	case p.Unpin && (row.dirty || !row.pin.IsZero() || quarantine != row.quarantine):
		_, err = t.exec(`UPDATE belfry_schedules SET pin_at = NULL, pin_opened_at = NULL, pin_reason = '', dirty = NULL, quarantine = ?
			WHERE id = ? AND change = ?`, quarantine, p.Schedule[:], p.Change)
	case quarantine != row.quarantine:
		_, err = t.exec(`UPDATE belfry_schedules SET quarantine = ? WHERE id = ? AND change = ?`, quarantine, p.Schedule[:], p.Change)
	}
	return err
}

// putArrears opens a backlog, moves it on or ends it.
func putArrears(t *tx, shard int, a store.Arrears) error {
	if a.Done {
		_, err := t.exec(`DELETE FROM belfry_arrears WHERE shard = ? AND from_at = ?`, shard, micros(a.From))
		return err
	}
	n, err := t.exec(`UPDATE belfry_arrears SET to_at = ?, opened_at = ?, cursor_id = ? WHERE shard = ? AND from_at = ?`,
		micros(a.To), micros(a.OpenedAt), a.Cursor[:], shard, micros(a.From))
	if n == 0 && err == nil {
		_, err = t.exec(`INSERT INTO belfry_arrears (shard, from_at, to_at, opened_at, cursor_id) VALUES (?, ?, ?, ?, ?)`,
			shard, micros(a.From), micros(a.To), micros(a.OpenedAt), a.Cursor[:])
	}
	return err
}

// Arrears lists a shard's backlogs.
func (s *Store) Arrears(ctx context.Context, shard int) (out []store.Arrears, err error) {
	err = s.read(ctx, "list arrears", func(ctx context.Context) error {
		rows, err := s.c.Reader.QueryContext(ctx, `SELECT from_at, to_at, opened_at, cursor_id FROM belfry_arrears
			WHERE shard = ? ORDER BY opened_at, from_at`, shard)
		if err != nil {
			return err
		}
		return eachRow(rows, func(scan func(...any) error) error {
			a := store.Arrears{Shard: shard}
			err := scan(instant{&a.From}, instant{&a.To}, instant{&a.OpenedAt}, ident{(*[16]byte)(&a.Cursor)})
			out = append(out, a)
			return err
		})
	})
	return out, err
}

// scheduleID reads an identifier out of a column.
func scheduleID(id *schedule.ID) ident { return ident{(*[16]byte)(id)} }
