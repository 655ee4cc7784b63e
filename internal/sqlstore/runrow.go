package sqlstore

import (
	"github.com/belfryhq/belfry/run"
)

// runColumns are a run's columns in the order of scanRun, but for the schedule's name, which only readers fill.
const runColumns = `r.id, r.tenant, r.schedule_id, r.revision, r.kind, r.status, r.reason, r.due_at, r.available_at, r.pool, r.lock_key,
	r.overlap, r.max_attempts, r.attempt, r.max_deliveries, r.deliveries, r.on_lost, r.backoff, r.node_id, r.fence, r.epoch,
	r.created_at, r.claimed_at, r.started_at, r.finished_at, r.misfire, r.error_code, r.error, r.exit_code, r.output_bytes, r.output_truncated`

// scanRun reads runColumns, and whatever columns follow them into more.
func scanRun(scan func(...any) error, more ...any) (r run.Run, err error) {
	var overlap, onLost int
	dest := append(into(ident{(*[16]byte)(&r.ID)}, &r.Tenant, scheduleID(&r.Schedule), &r.Revision, &r.Kind, &r.Status, &r.Reason,
		instant{&r.Due}, instant{&r.ReadyAt}, &r.Pool, &r.LockKey, &overlap, &r.MaxAttempts, &r.Attempt, &r.MaxDeliveries,
		&r.Deliveries, &onLost, &r.Backoff, ident{(*[16]byte)(&r.Node)}, &r.Fence, &r.Epoch, instant{&r.CreatedAt},
		instant{&r.ClaimedAt}, instant{&r.StartedAt}, instant{&r.FinishedAt}, document{&r.Misfire}, &r.ErrorCode, &r.Error,
		&r.ExitCode, &r.OutputBytes, &r.OutputTruncated), more...)
	err = scan(dest...)
	r.Overlap, r.OnLost = wordAt(overlaps, overlap), wordAt(onLosts, onLost)
	return r, err
}
