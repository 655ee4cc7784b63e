package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

const selectRuns = `SELECT ` + runColumns + `, COALESCE(s.name, '') FROM belfry_runs r LEFT JOIN belfry_schedules s ON s.id = r.schedule_id`

// Runs lists runs, newest due first.
func (s *Store) Runs(ctx context.Context, q store.RunQuery) (items []run.Run, next string, err error) {
	limit := pageLimit(q.Page)
	query, args, err := runsQuery(q, limit+1)
	if err != nil {
		return nil, "", err
	}
	err = s.read(ctx, "list runs", func(ctx context.Context) (err error) {
		items, err = s.scanRuns(ctx, query, args...)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	if len(items) > limit {
		items = items[:limit]
		last := items[limit-1]
		next = position{last.Due.UnixMicro(), last.ID}.token()
	}
	return items, next, nil
}

// runsQuery is the statement that lists at most limit runs.
func runsQuery(q store.RunQuery, limit int) (string, []any, error) {
	c, err := runConditions(q)
	if err != nil {
		return "", nil, err
	}
	if q.Schedule != (schedule.ID{}) {
		query, args := runsOfSchedule(q.Schedule, c, limit)
		return query, args, nil
	}
	return selectRuns + c.where() + ` ORDER BY ` + cmp.Or(c.order, "r.due_at") + ` DESC, r.id DESC` + limitTo(limit), c.args, nil
}

func (s *Store) scanRuns(ctx context.Context, query string, args ...any) (items []run.Run, err error) {
	err = s.reads.each(ctx, nil, func(scan func(...any) error) error {
		var name string
		r, err := scanRun(scan, &name)
		r.ScheduleName = name
		items = append(items, r)
		return err
	}, query, args...)
	return items, err
}

func runConditions(q store.RunQuery) (c conditions, err error) {
	if q.Tenant != "" {
		c.add("r.tenant = ?", q.Tenant)
	}
	if q.Kind != 0 {
		c.add("r.kind = ?", q.Kind)
	}
	if len(q.Statuses) > 0 {
		c.add("r.status IN (?"+strings.Repeat(", ?", len(q.Statuses)-1)+")", statusArgs(q.Statuses)...)
		addPartial(&c, q.Statuses)
	}
	c.between("r.due_at", q.From, q.To)
	if q.After != "" {
		p, err := parsePosition(q.After)
		if err != nil {
			return c, err
		}
		c.add("r.due_at <= ? AND (r.due_at < ? OR r.id < ?)", p.at, p.at, p.id[:])
	}
	return c, nil
}

func statusArgs(statuses []run.Status) []any {
	args := make([]any, len(statuses))
	for i, st := range statuses {
		args[i] = st
	}
	return args
}

// addPartial says what follows from the statuses asked for, in the words of a partial index, so that the few runs in
// such a status are found among the millions in others. Live ones are then sorted; the index has them in no useful order.
func addPartial(c *conditions, statuses []run.Status) {
	switch {
	case all(statuses, run.Claimed, run.Running):
		c.add("r.lease_node IS NOT NULL")
		c.order = sorted
	case all(statuses, run.Pending, run.RetryScheduled):
		c.add("r.ready_at IS NOT NULL")
		c.order = sorted
	case all(statuses, run.Failed, run.SkippedOverlap, run.Expired, run.Cancelled, run.DeadLetter):
		c.add("r.unwell_at IS NOT NULL")
		c.order = "r.unwell_at"
	}
}

// sorted is the due instant as an expression, so that nobody looks for it in the order of an index that has everything.
const sorted = "r.due_at + 0"

// all tells whether every status is one of a few.
func all(statuses []run.Status, few ...run.Status) bool {
	return !slices.ContainsFunc(statuses, func(st run.Status) bool { return !slices.Contains(few, st) })
}

// runsOfSchedule lists one schedule's runs by the two indexes that have them in order: occurrences by the index that
// makes them unique, the rest by the index of the rest. A third one over all would cost every insert.
func runsOfSchedule(id schedule.ID, c conditions, limit int) (string, []any) {
	var args []any
	half := func(column string, null string) string {
		h := conditions{parts: slices.Clone(c.parts), args: slices.Clone(c.args)}
		for i, part := range h.parts {
			h.parts[i] = strings.ReplaceAll(part, "r.due_at", column)
		}
		h.add("r.schedule_id = ?", id[:])
		h.add("r.occurrence_at " + null)
		args = append(args, h.args...)
		return `SELECT r.id FROM belfry_runs r` + h.where() + ` ORDER BY ` + column + ` DESC, r.id DESC` + limitTo(limit)
	}
	query := selectRuns + ` WHERE r.id IN (SELECT id FROM (` + half("r.occurrence_at", "IS NOT NULL") + `) AS planned
		UNION ALL SELECT id FROM (` + half("r.due_at", "IS NULL") + `) AS others) ORDER BY r.due_at DESC, r.id DESC` + limitTo(limit)
	return query, args
}

// Run returns one run.
func (s *Store) Run(ctx context.Context, id run.ID) (r run.Run, err error) {
	err = s.read(ctx, "read a run", func(ctx context.Context) error {
		items, err := s.scanRuns(ctx, selectRuns+` WHERE r.id = ?`, id[:])
		if err == nil && len(items) == 0 {
			return fmt.Errorf("run %s: %w", id, store.ErrNotFound)
		}
		if err == nil {
			r = items[0]
		}
		return err
	})
	return r, err
}

// LastRuns returns the newest run of each schedule whose instant has come.
func (s *Store) LastRuns(ctx context.Context, ids []schedule.ID) (map[schedule.ID]run.Run, error) {
	last := make(map[schedule.ID]run.Run, len(ids))
	err := s.read(ctx, "read last runs", func(ctx context.Context) error {
		var come conditions
		come.add("r.due_at <= ?", micros(s.now()))
		for _, id := range ids {
			query, args := runsOfSchedule(id, come, 1)
			items, err := s.scanRuns(ctx, query, args...)
			if err != nil {
				return err
			}
			if len(items) > 0 {
				last[id] = items[0]
			}
		}
		return nil
	})
	return last, err
}

// Attempts lists a run's executions and lost deliveries in order.
func (s *Store) Attempts(ctx context.Context, id run.ID) (items []run.Attempt, err error) {
	err = s.read(ctx, "list attempts", func(ctx context.Context) error {
		return s.reads.each(ctx, nil, func(scan func(...any) error) error {
			a := run.Attempt{Run: id}
			err := scan(&a.N, ident{(*[16]byte)(&a.Node)}, &a.Fence, instant{&a.StartedAt}, instant{&a.FinishedAt}, &a.Outcome,
				&a.ErrorCode, &a.Error, &a.ExitCode, &a.OutputBytes, &a.Truncated)
			items = append(items, a)
			return err
		}, `SELECT n, node_id, fence, started_at, finished_at, outcome, error_code, error, exit_code,
			output_bytes, truncated FROM belfry_attempts WHERE run_id = ? ORDER BY n`, id[:])
	})
	return items, s.runMustExist(ctx, id, len(items), err)
}

// History lists a run's transitions off the plain path in order.
func (s *Store) History(ctx context.Context, id run.ID) (items []run.Event, err error) {
	err = s.read(ctx, "list history", func(ctx context.Context) error {
		return s.reads.each(ctx, nil, func(scan func(...any) error) error {
			e := run.Event{Run: id}
			err := scan(instant{&e.At}, &e.From, &e.To, ident{(*[16]byte)(&e.Node)}, &e.Note)
			items = append(items, e)
			return err
		}, `SELECT at, from_status, to_status, node_id, note FROM belfry_history WHERE run_id = ? ORDER BY seq`, id[:])
	})
	return items, s.runMustExist(ctx, id, len(items), err)
}

// runMustExist tells a run that has no such rows from one that is not there.
func (s *Store) runMustExist(ctx context.Context, id run.ID, rows int, err error) error {
	if rows == 0 && err == nil {
		_, err = s.Run(ctx, id)
	}
	return err
}
