package planner

import (
	"context"
	"hash/crc32"
	"iter"
	"log/slog"
	"strconv"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// source shows the store's schedules to the loop. It belongs to the planner's goroutine.
type source struct {
	store store.Definitions
	shard int
	log   *slog.Logger
	// broken collects definitions that cannot be evaluated and are not yet pinned and quarantined in the store.
	broken map[schedule.ID]*plan.Definition
	ahead  ahead
	clk    clock.Clock
	hinted bool // a hint came: dirty rows are read now rather than at the next second
}

// Snapshot lists every schedule that may owe an occurrence.
func (s *source) Snapshot(ctx context.Context) iter.Seq2[timeline.Row, error] {
	return s.rows(s.store.Snapshot(ctx, s.shard), true)
}

// Since lists the rows whose dirty mark is set. They are found by the mark and never by a time, because a transaction
// that commits late would be passed over (PROTOCOL A3).
func (s *source) Since(ctx context.Context, _ time.Time) iter.Seq2[timeline.Row, error] {
	return s.rows(s.store.Dirty(ctx, s.shard), false)
}

// rows shows rows to the loop. A full pass names every schedule that is passed over, again and again until somebody
// mends it (R-REC-27).
func (s *source) rows(in iter.Seq2[schedule.Row, error], full bool) iter.Seq2[timeline.Row, error] {
	return func(yield func(timeline.Row, error) bool) {
		if full {
			clear(s.ahead) // of those that are listed no more
		}
		for r, err := range in {
			if err != nil {
				yield(timeline.Row{}, err)
				return
			}
			s.ahead.saw(r, s.clk.Now())
			if full && r.Quarantine != "" {
				s.log.Warn("schedule passed over", "schedule_id", r.ID.String(), "tenant", r.Tenant, "reason", r.Quarantine)
			}
			if !yield(timeline.Row{ID: r.ID.String(), Version: version(r), Pin: r.Pin, Data: r}, nil) {
				return
			}
		}
	}
}

// version tells two states of a definition apart: the row's change counter, a checksum of its specs for the case that
// somebody edited a row by hand, and when its backlog was found.
func version(r schedule.Row) string {
	sum := crc32.NewIEEE()
	for _, s := range r.Spans {
		_, _ = sum.Write(s.Spec) // a hash never fails to write
	}
	b := strconv.AppendUint(make([]byte, 0, 24), r.Change, 10)
	b = append(b, '-')
	b = strconv.AppendUint(b, uint64(sum.Sum32()), 36)
	if !r.OpenedAt.IsZero() { // a backlog is judged by when it was found, which another planner may have written
		b = append(b, '-')
		b = strconv.AppendInt(b, r.OpenedAt.UnixMicro(), 36)
	}
	if r.Deleted {
		b = append(b, 'd')
	}
	return string(b)
}

// Make compiles a row. It never fails: a definition that cannot be evaluated is never due, says why, and is pinned
// where it stands by the next commit (PROTOCOL C6).
func (s *source) Make(_ context.Context, r timeline.Row) (timeline.Entry, error) {
	row := r.Data.(schedule.Row)
	d := plan.Build(row)
	delete(s.broken, row.ID)
	if d.Broken != "" {
		if row.Quarantine != d.Broken || row.Pin.IsZero() {
			s.log.Warn("schedule quarantined", "schedule_id", row.ID.String(), "tenant", row.Tenant, "reason", d.Broken)
			s.broken[row.ID] = d
		}
	}
	return timeline.Entry{Trigger: d, Payload: d}, nil
}
