package sqlstore

import (
	"context"
	"fmt"
	"io"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// Gaps lists gaps, newest first instant first. One that is open is counted up to now, and keeps its place in the
// listing by the instant at which it was opened.
func (s *Store) Gaps(ctx context.Context, q store.GapQuery) (items []run.Gap, next string, err error) {
	c, err := gapConditions(q)
	if err != nil {
		return nil, "", err
	}
	limit := pageLimit(q.Page)
	err = s.read(ctx, "list gaps", func(ctx context.Context) error {
		return s.reads.each(ctx, nil, func(scan func(...any) error) error {
			g, err := scanGap(scan)
			items = append(items, g)
			return err
		}, selectGaps+c.where()+` ORDER BY g.first_at DESC, g.id DESC`+limitTo(limit+1), c.args...)
	})
	if err != nil {
		return nil, "", err
	}
	if len(items) > limit {
		items = items[:limit]
		last := items[limit-1]
		next = position{last.First.UnixMicro(), last.ID}.token()
	}
	for i := range items {
		if items[i].Open {
			if err := s.countOpen(ctx, &items[i]); err != nil {
				return nil, "", err
			}
		}
	}
	return items, next, nil
}

func gapConditions(q store.GapQuery) (c conditions, err error) {
	if q.Tenant != "" {
		c.add("g.tenant = ?", q.Tenant)
	}
	if q.Schedule != (schedule.ID{}) {
		c.add("g.schedule_id = ?", q.Schedule[:])
	}
	if q.Reason != 0 {
		c.add("g.reason = ?", q.Reason)
	}
	if !q.From.IsZero() {
		c.add("g.last_at >= ?", micros(q.From))
	}
	if !q.To.IsZero() {
		c.add("g.first_at < ?", micros(q.To))
	}
	if q.After != "" {
		p, err := parsePosition(q.After)
		if err != nil {
			return c, err
		}
		c.add("g.first_at <= ? AND (g.first_at < ? OR g.id < ?)", p.at, p.at, p.id[:])
	}
	return c, nil
}

// outputPage is how many chunks are read at once.
const outputPage = 32

// ReadOutput writes the output of one delivery, page by page, so that a slow reader holds no connection.
func (s *Store) ReadOutput(ctx context.Context, id run.ID, delivery, from int, w io.Writer) (int, error) {
	r, err := s.Run(ctx, id)
	if err != nil {
		return from, err
	}
	if delivery == 0 {
		delivery = r.Deliveries
	}
	for {
		page, err := s.chunks(ctx, id, delivery, from)
		if err != nil {
			return from, err
		}
		for _, c := range page {
			if _, err := w.Write(c.Data); err != nil {
				return from, fmt.Errorf("write the output of %s: %w", id, err)
			}
			from = c.Seq + 1
		}
		if len(page) < outputPage {
			return from, nil
		}
	}
}

func (s *Store) chunks(ctx context.Context, id run.ID, delivery, from int) (page []store.Chunk, err error) {
	err = s.read(ctx, "read output", func(ctx context.Context) error {
		return s.reads.each(ctx, nil, func(scan func(...any) error) error {
			c := store.Chunk{Delivery: delivery}
			err := scan(&c.Seq, &c.Stream, &c.Data)
			page = append(page, c)
			return err
		}, `SELECT seq, stream, data FROM belfry_outputs
			WHERE run_id = ? AND n = ? AND seq >= ? ORDER BY seq`+limitTo(outputPage), id[:], delivery, from)
	})
	return page, err
}
