package sqlstore

import (
	"context"
	"errors"
	"slices"
	"strings"
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
	runs := newRunInserter(t, now, c.Next.Epoch)
	for plans := range slices.Chunk(c.Plans, planChunk) {
		rows, err := readPlanned(t, plans)
		if err != nil {
			return done, err
		}
		for i := range plans {
			planned, err := carryOut(&plans[i], rows[plans[i].Schedule], runs)
			if err != nil {
				return done, err
			}
			if !planned {
				done.LeftOut = append(done.LeftOut, plans[i].Schedule)
			}
		}
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

// planChunk is how many schedules are read by one statement.
const planChunk = 32

var selectPlanned = `SELECT id, change, pin_at, COALESCE(dirty, 0), quarantine FROM belfry_schedules WHERE id IN (?` +
	strings.Repeat(", ?", planChunk-1) + `)`

// readPlanned reads the schedules of a chunk of plans again, in the transaction that acts on them (PROTOCOL A3). The
// places of a short chunk are filled by its last schedule, so that one statement serves all.
func readPlanned(t *tx, plans []store.Plan) (map[schedule.ID]*planned, error) {
	rows := make(map[schedule.ID]*planned, len(plans))
	args := make([]any, planChunk)
	for i := range args {
		args[i] = plans[min(i, len(plans)-1)].Schedule[:]
	}
	err := t.each(func(scan func(...any) error) error {
		var id schedule.ID
		var p planned
		err := scan(scheduleID(&id), &p.change, instant{&p.pin}, &p.dirty, &p.quarantine)
		rows[id] = &p
		return err
	}, selectPlanned, args...)
	return rows, err
}

// carryOut does what one plan says. It reports false when the schedule changed since it was planned, or is not there;
// then only its pin is written.
func carryOut(p *store.Plan, row *planned, runs *runInserter) (bool, error) {
	t := runs.t
	switch {
	case row == nil:
		return false, nil
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
func leaveOut(t *tx, p *store.Plan, row *planned) error {
	if fault.Without("pin") || (!row.pin.IsZero() && !p.From.Before(row.pin)) {
		return nil
	}
	row.pin = p.From
	_, err := t.exec(`UPDATE belfry_schedules SET pin_at = ?, pin_reason = 'changed' WHERE id = ?`, micros(p.From), p.Schedule[:])
	return err
}

// mark writes where the schedule's coverage stands after its plan.
func mark(t *tx, p *store.Plan, row *planned) (err error) {
	was := *row
	if p.Unpin && p.Pin.IsZero() || p.Quarantine != "" {
		row.quarantine = p.Quarantine
	}
	switch {
	case !p.Pin.IsZero():
		row.pin = p.Pin
		_, err = t.exec(`UPDATE belfry_schedules SET pin_at = ?, pin_opened_at = ?, pin_reason = ?, quarantine = ?
			WHERE id = ? AND change = ?`, micros(p.Pin), micros(p.OpenedAt), p.PinReason, row.quarantine, p.Schedule[:], p.Change)
	case p.Unpin && (row.dirty || !row.pin.IsZero() || row.quarantine != was.quarantine):
		row.pin, row.dirty = time.Time{}, false
		_, err = t.exec(`UPDATE belfry_schedules SET pin_at = NULL, pin_opened_at = NULL, pin_reason = '', dirty = NULL, quarantine = ?
			WHERE id = ? AND change = ?`, row.quarantine, p.Schedule[:], p.Change)
	case row.quarantine != was.quarantine:
		_, err = t.exec(`UPDATE belfry_schedules SET quarantine = ? WHERE id = ? AND change = ?`, row.quarantine, p.Schedule[:], p.Change)
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
		return s.reads.each(ctx, nil, func(scan func(...any) error) error {
			a := store.Arrears{Shard: shard}
			err := scan(instant{&a.From}, instant{&a.To}, instant{&a.OpenedAt}, ident{(*[16]byte)(&a.Cursor)})
			out = append(out, a)
			return err
		}, `SELECT from_at, to_at, opened_at, cursor_id FROM belfry_arrears
			WHERE shard = ? ORDER BY opened_at, from_at`, shard)
	})
	return out, err
}

// scheduleID reads an identifier out of a column.
func scheduleID(id *schedule.ID) ident { return ident{(*[16]byte)(id)} }
