package sqlstore

import (
	"bytes"
	"context"
	"database/sql"
	"iter"
	"time"

	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// snapshotPage is how many schedules are read at once.
const snapshotPage = 500

// Snapshot lists every schedule a planner must know. All pages are read in one transaction.
func (s *Store) Snapshot(ctx context.Context, shard int) iter.Seq2[schedule.Row, error] {
	return s.rows(ctx, shard, `(s.name_live IS NOT NULL OR s.dirty IS NOT NULL OR s.pin_at IS NOT NULL OR EXISTS (
		SELECT 1 FROM belfry_arrears a WHERE s.id > a.cursor_id AND s.deleted_at > a.from_at))`)
}

// Dirty lists the rows whose dirty mark is set.
func (s *Store) Dirty(ctx context.Context, shard int) iter.Seq2[schedule.Row, error] {
	return s.rows(ctx, shard, `s.dirty = 1`)
}

// selectRows reads a page of schedules; the page's size is snapshotPage.
const selectRows = `SELECT s.id, s.tenant, s.change, s.pin_at, s.pin_opened_at, COALESCE(s.dirty, 0), s.quarantine,
	CASE WHEN s.name_live IS NULL THEN 1 ELSE 0 END FROM belfry_schedules s WHERE s.id > ? AND `

const selectSpans = `SELECT schedule_id, revision, valid_from, valid_to, spec FROM belfry_revisions
	WHERE schedule_id >= ? AND schedule_id <= ? AND (valid_to IS NULL OR valid_to > valid_from) ORDER BY schedule_id, valid_from`

func (s *Store) rows(ctx context.Context, shard int, where string) iter.Seq2[schedule.Row, error] {
	query := selectRows + where + ` ORDER BY s.id` + limitTo(snapshotPage)
	return func(yield func(schedule.Row, error) bool) {
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		q, err := s.beginRead(ctx, shard, query, selectSpans)
		if err != nil {
			yield(schedule.Row{}, s.wrap("list schedules", err))
			return
		}
		defer q.end()
		for {
			page, err := q.next(ctx, query)
			if err != nil {
				yield(schedule.Row{}, s.wrap("list schedules", err))
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
			}
			if len(page) < snapshotPage {
				return
			}
		}
	}
}

// snapshot is a walk through the schedules, by ID, as of one moment.
type snapshot struct {
	reads   *reads
	tx      *sql.Tx
	settled settled
	after   schedule.ID
}

// settled tells up to where a schedule is settled (D9).
type settled struct {
	watermark time.Time // zero: nothing is
	arrears   []store.Arrears
}

// until is min(watermark, pin, arrears) of a schedule; zero when nothing of it is settled.
func (s *settled) until(id schedule.ID, pin time.Time) time.Time {
	until := s.watermark
	if !pin.IsZero() && pin.Before(until) {
		until = pin
	}
	for _, a := range s.arrears {
		if bytes.Compare(id[:], a.Cursor[:]) > 0 && a.From.Before(until) {
			until = a.From
		}
	}
	return until
}

const selectArrearsOf = `SELECT from_at, cursor_id FROM belfry_arrears WHERE shard = ?`

// beginRead begins a read transaction. Statements are prepared before it, because preparing takes a connection, and a
// transaction that waits for a second one may wait for others that do the same.
func (s *Store) beginRead(ctx context.Context, shard int, queries ...string) (*snapshot, error) {
	for _, query := range append(queries, selectClaim, selectArrearsOf) {
		if _, err := s.reads.stmt(ctx, query); err != nil { //nolint:sqlclosecheck // reads keeps it
			return nil, err
		}
	}
	tx, err := s.c.Reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	q := &snapshot{reads: &s.reads, tx: tx}
	if err := q.readSettled(ctx, shard); err != nil {
		q.end()
		return nil, err
	}
	return q, nil
}

func (q *snapshot) end() { _ = q.tx.Rollback() } // it read only

func (q *snapshot) readSettled(ctx context.Context, shard int) error {
	var claim timeline.Claim
	err := q.reads.each(ctx, q.tx, func(scan func(...any) error) error { return scan(claimColumns(&claim)...) }, selectClaim, shard)
	if err != nil {
		return err
	}
	q.settled.watermark = claim.CoveredUntil
	return q.reads.each(ctx, q.tx, func(scan func(...any) error) error {
		var a store.Arrears
		err := scan(instant{&a.From}, scheduleID(&a.Cursor))
		q.settled.arrears = append(q.settled.arrears, a)
		return err
	}, selectArrearsOf, shard)
}

// next reads a page of schedules and then their spans.
func (q *snapshot) next(ctx context.Context, query string) (page []schedule.Row, err error) {
	err = q.reads.each(ctx, q.tx, func(scan func(...any) error) error {
		var r schedule.Row
		err := scan(scheduleID(&r.ID), &r.Tenant, &r.Change, instant{&r.Pin}, instant{&r.OpenedAt}, &r.Dirty, &r.Quarantine, &r.Deleted)
		page = append(page, r)
		return err
	}, query, q.after[:])
	if err != nil || len(page) == 0 {
		return nil, err
	}
	q.after = page[len(page)-1].ID
	return page, q.spans(ctx, page)
}

// spans adds the spans of a page that may still owe something: not the empty ones, and none before what is unsettled.
func (q *snapshot) spans(ctx context.Context, page []schedule.Row) error {
	i := 0
	return q.reads.each(ctx, q.tx, func(scan func(...any) error) error {
		var id schedule.ID
		var span schedule.Span
		if err := scan(scheduleID(&id), &span.Revision, instant{&span.From}, instant{&span.To}, &span.Spec); err != nil {
			return err
		}
		for i < len(page)-1 && bytes.Compare(page[i].ID[:], id[:]) < 0 {
			i++
		}
		r := &page[i]
		if r.ID == id && (span.To.IsZero() || span.To.After(q.settled.until(id, r.Pin))) {
			r.Spans = append(r.Spans, span)
		}
		return nil
	}, selectSpans, page[0].ID[:], q.after[:])
}
