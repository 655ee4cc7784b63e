package sqlstore

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

const selectSchedules = `SELECT s.id, s.tenant, s.name, s.origin, s.revision, s.labels, s.annotations, v.spec,
	(SELECT MIN(f.valid_from) FROM belfry_revisions f WHERE f.schedule_id = s.id AND f.revision = s.revision),
	s.paused_at, s.paused_by, s.paused_reason, s.paused_until, s.quarantine, s.pin_at,
	s.created_at, s.created_by, s.updated_at, s.updated_by, s.deleted_at
	FROM belfry_schedules s JOIN belfry_revisions v ON v.schedule_id = s.id AND v.valid_from = s.span_from`

// Schedules lists live schedules of a tenant by name. One whose stored spec cannot be read is listed as quarantined.
func (s *Store) Schedules(ctx context.Context, q store.ScheduleQuery) (items []schedule.Schedule, next string, err error) {
	after, err := base64.RawURLEncoding.DecodeString(q.After)
	if err != nil {
		return nil, "", errToken
	}
	var c conditions
	c.add("s.tenant = ?", q.Tenant)
	c.add("s.name_live > ?", string(after))
	if q.Name != "" {
		c.add("s.name_live = ?", q.Name)
	}
	if q.Origin != 0 {
		c.add("s.origin = ?", q.Origin)
	}
	limit := pageLimit(q.Page)
	err = s.read(ctx, "list schedules", func(ctx context.Context) error {
		return s.reads.each(ctx, nil, func(scan func(...any) error) error {
			item, err := scanSchedule(scan)
			items = append(items, item)
			return err
		}, selectSchedules+c.where()+` ORDER BY s.name_live`+limitTo(limit+1), c.args...)
	})
	if err != nil {
		return nil, "", err
	}
	if len(items) > limit {
		items = items[:limit]
		next = base64.RawURLEncoding.EncodeToString([]byte(items[limit-1].Name))
	}
	return items, next, nil
}

func scanSchedule(scan func(...any) error) (d schedule.Schedule, err error) {
	var spec []byte
	var p schedule.Pause
	err = scan(scheduleID(&d.ID), &d.Tenant, &d.Name, &d.Origin, &d.Revision, document{&d.Labels}, document{&d.Annotations}, &spec,
		instant{&d.ValidFrom}, instant{&p.At}, &p.By, &p.Reason, instant{&p.Until}, &d.Quarantine, instant{&d.Pin},
		instant{&d.CreatedAt}, &d.CreatedBy, instant{&d.UpdatedAt}, &d.UpdatedBy, instant{&d.DeletedAt})
	if err != nil {
		return d, err
	}
	if !p.At.IsZero() {
		d.Pause = &p
	}
	if d.Spec, err = schedule.DecodeSpec(spec); err != nil && d.Quarantine == "" {
		d.Quarantine = err.Error()
	}
	return d, nil
}

const selectRevision = `SELECT spec FROM belfry_revisions WHERE schedule_id = ? AND revision = ? ORDER BY valid_from LIMIT 1`

// Revision returns the spec that a revision had.
func (s *Store) Revision(ctx context.Context, id schedule.ID, revision uint64) (spec []byte, err error) {
	found := false
	err = s.read(ctx, "read a revision", func(ctx context.Context) error {
		return s.reads.each(ctx, nil, func(scan func(...any) error) error {
			found = true
			return scan(&spec)
		}, selectRevision, id[:], revision)
	})
	if err == nil && !found {
		err = fmt.Errorf("revision %d of schedule %s: %w", revision, id, store.ErrNotFound)
	}
	return spec, err
}

const selectPin = `SELECT pin_at FROM belfry_schedules WHERE id = ?`

// Unsettled tells up to where a schedule is settled.
func (s *Store) Unsettled(ctx context.Context, id schedule.ID) (until time.Time, err error) {
	found := false
	err = s.read(ctx, "read coverage", func(ctx context.Context) error {
		q, err := s.beginRead(ctx, onlyShard, selectPin)
		if err != nil {
			return err
		}
		defer q.end()
		var pin time.Time
		err = q.reads.each(ctx, q.tx, func(scan func(...any) error) error {
			found = true
			return scan(instant{&pin})
		}, selectPin, id[:])
		until = q.settled.until(id, pin)
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("schedule %s: %w", id, store.ErrNotFound)
	}
	return until, err
}

// onlyShard is the shard of every schedule until there are several.
const onlyShard = 0
