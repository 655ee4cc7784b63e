package sqlstore

import (
	"context"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

const (
	selectSettledRuns = `SELECT occurrence_at FROM belfry_runs
		WHERE schedule_id = ? AND occurrence_at >= ? AND occurrence_at < ? ORDER BY occurrence_at`
	selectSettledGaps = selectGaps + ` WHERE g.schedule_id = ? AND g.last_at >= ? AND g.first_at < ? ORDER BY g.first_at, g.id`
)

// Settled lists what disposes of a stretch of one schedule. A gap that is open reaches into every later stretch.
func (s *Store) Settled(ctx context.Context, id schedule.ID, from, to time.Time) (out store.Settled, err error) {
	err = s.read(ctx, "list what is settled", func(ctx context.Context) error {
		err = s.reads.each(ctx, nil, dues(&out.Runs), selectSettledRuns, id[:], from.UnixMicro(), to.UnixMicro())
		if err != nil {
			return err
		}
		return s.reads.each(ctx, nil, func(scan func(...any) error) error {
			g, err := scanGap(scan)
			g.ScheduleName = ""
			out.Gaps = append(out.Gaps, g)
			return err
		}, selectSettledGaps, id[:], from.UnixMicro(), to.UnixMicro())
	})
	return out, err
}

const gapColumns = `g.id, g.tenant, g.schedule_id, COALESCE(s.name, ''), g.revision, g.reason, g.policy, g.first_at, g.last_at,
	g.occurrences, g.is_open, g.run_id, g.epoch, g.zone_release, g.created_at`

const selectGaps = `SELECT ` + gapColumns + ` FROM belfry_gaps g LEFT JOIN belfry_schedules s ON s.id = g.schedule_id`

// scanGap reads a gap as it is stored: an open one has no last instant and no count.
func scanGap(scan func(...any) error) (g run.Gap, err error) {
	var policy int
	var last int64
	err = scan(ident{(*[16]byte)(&g.ID)}, &g.Tenant, scheduleID(&g.Schedule), &g.ScheduleName, &g.Revision, &g.Reason, &policy,
		instant{&g.First}, &last, &g.Count, &g.Open, ident{(*[16]byte)(&g.Run)}, &g.Epoch, &g.ZoneRelease, instant{&g.CreatedAt})
	g.Policy = wordAt(misfires, policy)
	if !g.Open {
		g.Last = time.UnixMicro(last).UTC()
	}
	return g, err
}
