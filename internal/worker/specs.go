package worker

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/target"
)

// definition is what a run executes: the revision it was planned from (PROTOCOL C10). Shared; nobody changes it.
type definition struct {
	spec   schedule.Spec
	name   string
	origin schedule.Origin
	bad    error // why the spec cannot be executed; it is then empty
}

type revision struct {
	schedule schedule.ID
	number   uint64
}

// maxSpecs bounds the definitions that are kept in memory: a run of one that is not costs two reads.
const maxSpecs = 1024

// specs reads definitions and keeps the ones used last. A revision never changes, so neither does what is kept.
type specs struct {
	s Store

	mu    sync.Mutex
	order *list.List // of *kept; the one used last in front
	known map[revision]*list.Element
}

type kept struct {
	revision
	def *definition
}

func newSpecs(s Store) *specs {
	return &specs{s: s, order: list.New(), known: map[revision]*list.Element{}}
}

// of returns the definition of a run. An error is the store's and may pass; what is wrong with the definition itself is
// in the definition.
func (c *specs) of(ctx context.Context, r *run.Run) (*definition, error) {
	key := revision{r.Schedule, r.Revision}
	if def := c.cached(key); def != nil {
		return def, nil
	}
	def, err := c.read(ctx, r)
	if err != nil {
		return nil, err
	}
	c.keep(key, def)
	return def, nil
}

func (c *specs) read(ctx context.Context, r *run.Run) (*definition, error) {
	def := &definition{name: r.ScheduleName}
	text, err := c.s.Revision(ctx, r.Schedule, r.Revision)
	switch {
	case errors.Is(err, store.ErrNotFound):
		def.bad = fmt.Errorf("revision %d of the schedule is not in the store", r.Revision)
	case err != nil:
		return nil, fmt.Errorf("read revision %d of %s: %w", r.Revision, r.Schedule, err)
	default:
		def.spec, def.bad = schedule.DecodeSpec(text)
	}
	if def.name == "" {
		full, err := c.s.Run(ctx, r.ID)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, fmt.Errorf("read %s: %w", r.ID, err)
		}
		def.name = full.ScheduleName
	}
	def.origin = target.OriginOf(r.Schedule, r.Tenant, def.name)
	return def, nil
}

func (c *specs) cached(key revision) *definition {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.known[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*kept).def
}

func (c *specs) keep(key revision, def *definition) {
	if def.name == "" {
		return // the run was deleted meanwhile; the next one can tell
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.known[key]; ok {
		return
	}
	c.known[key] = c.order.PushFront(&kept{key, def})
	if c.order.Len() > maxSpecs {
		oldest := c.order.Back()
		c.order.Remove(oldest)
		delete(c.known, oldest.Value.(*kept).revision)
	}
}
