package memory

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// definition is a schedule with everything that it ever was.
type definition struct {
	schedule.Schedule // Spec is not kept here: the spans have it
	spec              []byte
	change            uint64
	spans             []schedule.Span // every one, also those that a planner needs no more
	openedAt          time.Time
	dirty             bool
	changedAt         time.Time // the instant of the last change
}

// Apply first finds out what is to do, then does it: nothing is half applied.
func (s *Store) Apply(ctx context.Context, a store.Apply) (store.Applied, error) {
	if err := s.enter(ctx); err != nil {
		return store.Applied{}, err
	}
	defer s.leaveChanged()
	edits, err := s.compare(a)
	if err != nil {
		return store.Applied{}, err
	}
	out := store.Applied{Change: store.Change{At: s.now()}}
	for _, e := range edits {
		if e.kind != unchanged && e.kind != relabelled && e.known != nil {
			s.mend(e.known, &out.Change)
			out.At = later(out.At, e.known.changedAt.Add(time.Microsecond))
		}
	}
	for _, e := range edits {
		s.carryOutEdit(e, a, &out)
	}
	return out, nil
}

type editKind uint8

const (
	unchanged editKind = iota
	relabelled
	created
	edited
	revived
	removed
)

// edit is what Apply has to do about one schedule.
type edit struct {
	kind  editKind
	item  schedule.Schedule
	spec  []byte
	known *definition // nil for one that is created
}

func (s *Store) compare(a store.Apply) ([]edit, error) {
	type name struct{ tenant, name string }
	named := map[name]bool{}
	var edits []edit
	for _, item := range a.Items {
		n := name{item.Tenant, item.Name}
		if named[n] {
			return nil, fmt.Errorf("schedule %q is named twice: %w", item.Name, store.ErrExists)
		}
		named[n] = true
		e, err := s.compareItem(a.Origin, item)
		if err != nil {
			return nil, fmt.Errorf("schedule %q: %w", item.Name, err)
		}
		edits = append(edits, e)
	}
	for _, d := range s.definitions {
		if !a.Keep && d.Origin == a.Origin && d.DeletedAt.IsZero() && !named[name{d.Tenant, d.Name}] {
			edits = append(edits, edit{kind: removed, known: d})
		}
	}
	return edits, nil
}

func (s *Store) compareItem(origin schedule.Origin, item schedule.Schedule) (edit, error) {
	spec, err := schedule.EncodeSpec(item.Spec)
	if err != nil {
		return edit{}, err
	}
	e := edit{kind: created, item: item, spec: spec}
	for _, d := range s.definitions {
		if d.Tenant == item.Tenant && d.Name == item.Name && d.DeletedAt.IsZero() {
			e.known = d
		}
	}
	if e.known == nil && origin != schedule.OriginAPI {
		if e.known = s.definitions[schedule.DeclaredID(origin, item.Tenant, item.Name)]; e.known != nil {
			e.kind = revived
		}
		return e, nil
	}
	switch d := e.known; {
	case d == nil:
	case d.Origin != origin:
		return edit{}, fmt.Errorf("taken by a schedule of origin %s: %w", d.Origin, store.ErrExists)
	case !sameSpec(d.spec, item.Spec):
		e.kind = edited
	case !maps.Equal(d.Labels, item.Labels) || !maps.Equal(d.Annotations, item.Annotations):
		e.kind = relabelled
	default:
		e.kind = unchanged
	}
	return e, nil
}

// sameSpec compares what a revision is about. Whether a schedule is paused is read when it is created, and belongs to
// the operators from then on.
func sameSpec(stored []byte, spec schedule.Spec) bool {
	old, err := schedule.DecodeSpec(stored)
	if err != nil {
		return false
	}
	spec.Paused = old.Paused
	again, err := schedule.EncodeSpec(spec)
	return err == nil && bytes.Equal(stored, again)
}

func (s *Store) carryOutEdit(e edit, a store.Apply, out *store.Applied) {
	d := e.known
	switch e.kind {
	case unchanged:
		out.Unchanged++
		return
	case relabelled:
		out.Updated = append(out.Updated, d.ID)
	case created:
		d = s.create(a.Origin, e.item)
		d.CreatedAt, d.CreatedBy = out.At, a.By
		s.begin(d, e, a, &out.Change)
		out.Created = append(out.Created, d.ID)
	case revived:
		d.DeletedAt = time.Time{}
		s.begin(d, e, a, &out.Change)
		out.Created = append(out.Created, d.ID)
	case edited:
		s.end(d, out.At)
		s.revise(d, e.spec, out.At)
		s.changed(d, &out.Change)
		out.Updated = append(out.Updated, d.ID)
	case removed:
		s.end(d, out.At)
		d.DeletedAt, d.Pause = out.At, nil
		s.changed(d, &out.Change)
		s.cancelQueued(d.ID, &out.Change)
		out.Removed = append(out.Removed, d.ID)
	}
	if e.kind != removed {
		d.Labels, d.Annotations = maps.Clone(e.item.Labels), maps.Clone(e.item.Annotations)
	}
	d.UpdatedAt, d.UpdatedBy = out.At, a.By
}

func (s *Store) create(origin schedule.Origin, item schedule.Schedule) *definition {
	id := schedule.DeclaredID(origin, item.Tenant, item.Name)
	if origin == schedule.OriginAPI {
		id = schedule.ID(s.newID())
	}
	d := &definition{Schedule: schedule.Schedule{ID: id, Tenant: item.Tenant, Name: item.Name, Origin: origin}}
	s.definitions[id] = d
	return d
}

// begin brings a schedule to life, paused if its spec says so.
func (s *Store) begin(d *definition, e edit, a store.Apply, c *store.Change) {
	if e.item.Spec.Paused {
		d.Pause = &schedule.Pause{At: c.At, By: a.By, Reason: a.Why}
	}
	s.revise(d, e.spec, c.At)
	s.changed(d, c)
}

// revise begins a revision at an instant: with a span of its own, or with the gap of a pause. Of a paused one the spec
// is kept in a span of no length.
func (s *Store) revise(d *definition, spec []byte, at time.Time) {
	d.Revision++
	d.ValidFrom, d.spec = at, spec
	span := schedule.Span{Revision: d.Revision, From: at, Spec: spec}
	if d.Pause != nil {
		span.To = at
		s.openGap(d, at)
	}
	d.spans = append(d.spans, span)
}

// end closes what is open: the span in force, or the gap of a pause.
func (s *Store) end(d *definition, at time.Time) {
	if d.Pause != nil {
		s.closeGap(d, at)
		return
	}
	d.spans[len(d.spans)-1].To = at
}

// changed marks a definition for the planner and takes back what was planned from the instant on (PROTOCOL A2, A3).
func (s *Store) changed(d *definition, c *store.Change) {
	d.change++
	d.dirty = true
	d.changedAt = c.At
	d.Pin = earlier(d.Pin, c.At)
	for id, r := range s.live {
		if r.Schedule != d.ID || r.Kind != run.Scheduled || r.Due.Before(c.At) {
			continue
		}
		switch r.Status {
		case run.Pending, run.Claimed:
			c.Unplanned++
			s.unlock(r)
			delete(s.live, id)
			delete(s.runs, id)
			delete(s.occurrences, occurrenceOf(r.Run))
		case run.Running, run.Waiting:
			c.NotRevoked = append(c.NotRevoked, id)
		}
	}
}

// cancelQueued ends the runs of a removed schedule that were due already and wait for a worker (S-075).
func (s *Store) cancelQueued(id schedule.ID, c *store.Change) {
	for _, r := range s.live {
		if r.Schedule == id && r.Due.Before(c.At) && (r.Status.Claimable() || r.Status == run.Held) {
			r.Reason, r.FinishedAt = "schedule_removed", c.At
			s.become(r, run.Cancelled, "its schedule was removed")
			c.Cancelled = append(c.Cancelled, r.ID)
		}
	}
}

// Snapshot lists what a planner must know; the rows are as of the call.
func (s *Store) Snapshot(ctx context.Context, shard int) iter.Seq2[schedule.Row, error] {
	return s.rowsThat(ctx, shard, func(d *definition) bool {
		return d.DeletedAt.IsZero() || d.dirty || !d.Pin.IsZero() || s.inArrears(d)
	})
}

// Dirty lists the marked rows.
func (s *Store) Dirty(ctx context.Context, shard int) iter.Seq2[schedule.Row, error] {
	return s.rowsThat(ctx, shard, func(d *definition) bool { return d.dirty })
}

func (s *Store) rowsThat(ctx context.Context, shard int, want func(*definition) bool) iter.Seq2[schedule.Row, error] {
	return func(yield func(schedule.Row, error) bool) {
		if err := s.enter(ctx); err != nil {
			yield(schedule.Row{}, err)
			return
		}
		var rows []schedule.Row
		for _, d := range s.definitions {
			if want(d) {
				rows = append(rows, s.rowOf(d, shard))
			}
		}
		s.mu.Unlock()
		slices.SortFunc(rows, func(a, b schedule.Row) int { return bytes.Compare(a.ID[:], b.ID[:]) })
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

// rowOf leaves out the spans that owe nothing any more, and those of no length, which never owed anything.
func (s *Store) rowOf(d *definition, shard int) schedule.Row {
	row := schedule.Row{
		ID: d.ID, Tenant: d.Tenant, Change: d.change, Pin: d.Pin, OpenedAt: d.openedAt,
		Dirty: d.dirty, Quarantine: d.Quarantine, Deleted: !d.DeletedAt.IsZero(),
	}
	settled := s.settledUntil(d, shard)
	for _, span := range d.spans {
		if span.To.IsZero() || span.To.After(settled) && span.To.After(span.From) {
			span.Spec = bytes.Clone(span.Spec)
			row.Spans = append(row.Spans, span)
		}
	}
	return row
}

// settledUntil is D9: the watermark, the schedule's pin and the backlogs that have not come to it.
func (s *Store) settledUntil(d *definition, shard int) time.Time {
	until := s.claims[shard].CoveredUntil
	if until.IsZero() {
		return until // nothing is settled yet
	}
	until = earlier(until, d.Pin)
	for _, a := range s.arrears {
		if a.Shard == shard && bytes.Compare(d.ID[:], a.Cursor[:]) > 0 {
			until = earlier(until, a.From)
		}
	}
	return until
}

// inArrears reports whether a backlog still has to come to a removed schedule.
func (s *Store) inArrears(d *definition) bool {
	for _, a := range s.arrears {
		if bytes.Compare(d.ID[:], a.Cursor[:]) > 0 && a.From.Before(d.DeletedAt) {
			return true
		}
	}
	return false
}
