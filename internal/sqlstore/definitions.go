package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// Apply makes the live schedules of one origin equal to a declared set. It reads everything first, because the one
// instant at which all changes take effect must be later than every earlier change of each of them.
func (s *Store) Apply(ctx context.Context, a store.Apply) (done store.Applied, err error) {
	items, err := declare(a)
	if err != nil {
		return store.Applied{}, fmt.Errorf("apply: %w", err)
	}
	err = s.writer.do(ctx, &write{name: "apply", point: "apply", urgent: true, cost: 1 + len(items), run: func(t *tx) error {
		done = store.Applied{Change: store.Change{At: s.now()}}
		todo, err := compare(t, a, items, &done)
		if err != nil || len(todo) == 0 {
			return err
		}
		c := s.change(t, a.By, a.Why)
		for _, item := range todo {
			if item.relabels() {
				continue
			}
			if err := c.after(item.stored); err != nil {
				return fmt.Errorf("%s: %w", item.name(), err)
			}
		}
		for _, item := range todo {
			if err := c.apply(item, a.Origin, &done); err != nil {
				return fmt.Errorf("%s: %w", item.name(), err)
			}
		}
		done.Change = c.Change
		return nil
	}})
	if err != nil {
		return store.Applied{}, err
	}
	return done, nil
}

// declared is one item of a set: what it should be, and what it is. Either may be missing.
type declared struct {
	*schedule.Schedule
	id          schedule.ID
	spec        []byte
	asPaused    []byte // the same spec with paused the other way round, which is no difference once it exists
	labels      string
	annotations string
	stored      *stored
}

func (d *declared) name() string {
	if d.Schedule != nil {
		return d.Name
	}
	return d.stored.name
}

// declare prepares the set, and refuses names that occur twice.
func declare(a store.Apply) ([]*declared, error) {
	type key struct{ tenant, name string }
	seen := map[key]bool{}
	items := make([]*declared, 0, len(a.Items))
	for i := range a.Items {
		d := &declared{Schedule: &a.Items[i]}
		if seen[key{d.Tenant, d.Name}] {
			return nil, fmt.Errorf("schedule %q is declared twice: %w", d.Name, store.ErrExists)
		}
		seen[key{d.Tenant, d.Name}] = true
		if err := d.encode(a.Origin); err != nil {
			return nil, fmt.Errorf("schedule %q: %w", d.Name, err)
		}
		items = append(items, d)
	}
	return items, nil
}

func (d *declared) encode(o schedule.Origin) error {
	d.id = schedule.DeclaredID(o, d.Tenant, d.Name)
	if o == schedule.OriginAPI {
		d.id = schedule.ID(newID()) // a name may come back, and is then another schedule
	}
	var errs [4]error
	d.spec, errs[0] = schedule.EncodeSpec(d.Spec)
	other := d.Spec
	other.Paused = !other.Paused
	d.asPaused, errs[1] = schedule.EncodeSpec(other)
	d.labels, errs[2] = object(d.Labels)
	d.annotations, errs[3] = object(d.Annotations)
	return errors.Join(errs[:]...)
}

// sameSpec tells whether the stored spec is the declared one; whether it is paused counts only at creation.
func (d *declared) sameSpec() bool {
	return bytes.Equal(d.stored.spec, d.spec) || bytes.Equal(d.stored.spec, d.asPaused)
}

// relabels tells whether nothing changes that a planner must know.
func (d *declared) relabels() bool {
	return d.Schedule != nil && d.stored != nil && !d.stored.deleted() && d.sameSpec()
}

// unchanged tells whether there is nothing to write.
func (d *declared) unchanged() bool {
	return d.relabels() && d.labels == d.stored.labels && d.annotations == d.stored.annotations
}

// find looks for the schedule under its name, and for a removed one under its identity.
func (d *declared) find(t *tx, o schedule.Origin) (err error) {
	d.stored, err = findStored(t, `s.tenant = ? AND s.name_live = ?`, d.Tenant, d.Name)
	if err != nil {
		return err
	}
	if d.stored == nil {
		d.stored, err = findStored(t, `s.id = ?`, d.id[:])
		return err
	}
	if d.stored.origin != o {
		return decline(fmt.Errorf("the name %q belongs to a schedule of origin %s: %w", d.Name, d.stored.origin, store.ErrExists))
	}
	d.id = d.stored.id
	return nil
}

// compare finds what is to be done. Names that another origin has are refused before anything is written.
func compare(t *tx, a store.Apply, items []*declared, done *store.Applied) ([]*declared, error) {
	var todo []*declared
	wanted := map[schedule.ID]bool{}
	for _, d := range items {
		if err := d.find(t, a.Origin); err != nil {
			return nil, err
		}
		wanted[d.id] = true
		if d.unchanged() {
			done.Unchanged++
		} else {
			todo = append(todo, d)
		}
	}
	if a.Keep {
		return todo, nil
	}
	err := eachStored(t, func(live *stored) {
		if !wanted[live.id] {
			todo = append(todo, &declared{id: live.id, stored: live})
		}
	}, `s.origin = ? AND s.name_live IS NOT NULL`, a.Origin)
	return todo, err
}
