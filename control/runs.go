package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/target"
)

// Run is a run and the kind of its target, which its own row does not hold. The caller owns it.
type Run struct {
	run.Run
	Target string
}

// RunFilter selects runs of one tenant. Zero fields do not restrict; Schedule is a name or an id, From is included and
// To is not, both of the due instant.
type RunFilter struct {
	Tenant, Schedule string
	Statuses         []run.Status
	Kind             run.Kind
	From, To         time.Time
	Page
}

// Runs lists runs, newest due first, with a token for the next page. A page may be shorter than asked for.
func (c *Control) Runs(ctx context.Context, f RunFilter) ([]Run, string, error) {
	q := store.RunQuery{Tenant: f.Tenant, Statuses: f.Statuses, Kind: f.Kind, From: f.From, To: f.To}
	var err error
	if q.Schedule, err = c.scheduleID(ctx, f.Tenant, f.Schedule); err != nil {
		return nil, "", err
	}
	rows, next, err := pages(f.Page, func(p store.Page) ([]run.Run, string, error) {
		q.Page = p
		return c.store.Runs(ctx, q)
	}, func(r run.Run) bool { return r.Tenant == f.Tenant })
	if err != nil {
		return nil, "", fmt.Errorf("list runs: %w", err)
	}
	out := make([]Run, len(rows))
	for i, r := range rows {
		if out[i], err = c.withTarget(ctx, r); err != nil {
			return nil, "", err
		}
	}
	return out, next, nil
}

// maxPages bounds how many pages of a store one listing reads to fill its own.
const maxPages = 20

// pages reads until the page is full, keeping what is the tenant's own: to a store an empty tenant means every tenant,
// while a door that asks for none must not see another's (P9).
func pages[T any](p Page, read func(store.Page) ([]T, string, error), own func(T) bool) ([]T, string, error) {
	limit := p.Limit
	if limit <= 0 {
		limit = 50
	}
	limit = min(limit, 1000)
	var items []T
	after := p.After
	for range maxPages {
		rows, next, err := read(store.Page{Limit: limit - len(items), After: after})
		if err != nil {
			return nil, "", err
		}
		for _, row := range rows {
			if own(row) {
				items = append(items, row)
			}
		}
		if after = next; next == "" || len(items) == limit {
			break
		}
	}
	return items, after, nil
}

// scheduleID finds the schedule that a filter names. An id is taken without looking: it may be that of a schedule that
// was removed.
func (c *Control) scheduleID(ctx context.Context, tenant, name string) (schedule.ID, error) {
	if name == "" {
		return schedule.ID{}, nil
	}
	s, err := c.find(ctx, tenant, name)
	if errors.Is(err, ErrNotFound) {
		if id, notID := schedule.ParseID(name); notID == nil {
			return id, nil
		}
	}
	return s.ID, err
}

// Run returns one run of a tenant. The error is a *Missing when there is none, or it is another tenant's.
func (c *Control) Run(ctx context.Context, tenant string, id run.ID) (Run, error) {
	r, err := c.store.Run(ctx, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && r.Tenant != tenant {
		return Run{}, &Missing{What: "run", Name: id.String()}
	}
	if err != nil {
		return Run{}, fmt.Errorf("read run: %w", err)
	}
	return c.withTarget(ctx, r)
}

// Attempts returns what is recorded about a run's deliveries, and its transitions off the plain path.
func (c *Control) Attempts(ctx context.Context, tenant string, id run.ID) ([]run.Attempt, []run.Event, error) {
	if _, err := c.Run(ctx, tenant, id); err != nil {
		return nil, nil, err
	}
	attempts, err := c.store.Attempts(ctx, id)
	if err != nil {
		return nil, nil, fmt.Errorf("list attempts: %w", err)
	}
	history, err := c.store.History(ctx, id)
	if err != nil {
		return nil, nil, fmt.Errorf("list history: %w", err)
	}
	return attempts, history, nil
}

// OutputQuery says which output is wanted.
type OutputQuery struct {
	Delivery int // 0: the last one
	From     int // chunk to begin with
}

// Output writes what a run has written so far, and returns the chunk to go on from and whether the run has ended: then
// nothing follows.
func (c *Control) Output(ctx context.Context, r Run, q OutputQuery, w io.Writer) (next int, ended bool, err error) {
	now, err := c.store.Run(ctx, r.ID) // before reading: what ends afterwards has written everything by the next look
	if err != nil {
		return q.From, false, fmt.Errorf("read run: %w", err)
	}
	next, err = c.store.ReadOutput(ctx, r.ID, q.Delivery, q.From, w)
	if err != nil {
		return next, false, fmt.Errorf("read output: %w", err)
	}
	return next, now.Status.Final() || q.Delivery > 0 && q.Delivery < now.Deliveries, nil
}

// GapFilter selects gaps of one tenant. Zero fields do not restrict; Schedule is a name or an id, and gaps that touch
// [From, To) are listed.
type GapFilter struct {
	Tenant, Schedule string
	Reason           run.Reason
	From, To         time.Time
	Page
}

// Gaps lists gaps, newest first instant first, with a token for the next page. A page may be shorter than asked for.
func (c *Control) Gaps(ctx context.Context, f GapFilter) ([]run.Gap, string, error) {
	q := store.GapQuery{Tenant: f.Tenant, Reason: f.Reason, From: f.From, To: f.To}
	var err error
	if q.Schedule, err = c.scheduleID(ctx, f.Tenant, f.Schedule); err != nil {
		return nil, "", err
	}
	gaps, next, err := pages(f.Page, func(p store.Page) ([]run.Gap, string, error) {
		q.Page = p
		return c.store.Gaps(ctx, q)
	}, func(g run.Gap) bool { return g.Tenant == f.Tenant })
	if err != nil {
		return nil, "", fmt.Errorf("list gaps: %w", err)
	}
	return gaps, next, nil
}

// kinds remembers the kind of target of revisions: it never changes, and reading it costs a whole spec.
type kinds struct {
	mu    sync.Mutex
	known map[revision]string
}

type revision struct {
	id schedule.ID
	n  uint64
}

// maxKinds bounds what is remembered; it is forgotten as a whole.
const maxKinds = 10_000

func (c *Control) withTarget(ctx context.Context, r run.Run) (Run, error) {
	key := revision{r.Schedule, r.Revision}
	c.kinds.mu.Lock()
	kind, known := c.kinds.known[key]
	c.kinds.mu.Unlock()
	if known {
		return Run{r, kind}, nil
	}
	text, err := c.store.Revision(ctx, r.Schedule, r.Revision)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Run{}, fmt.Errorf("read revision: %w", err)
	}
	kind = "unknown"
	if spec, err := schedule.DecodeSpec(text); err == nil {
		kind = TargetKind(spec.Target)
	}
	c.kinds.mu.Lock()
	defer c.kinds.mu.Unlock()
	if c.kinds.known == nil || len(c.kinds.known) >= maxKinds {
		c.kinds.known = map[revision]string{}
	}
	c.kinds.known[key] = kind
	return Run{r, kind}, nil
}

// TargetKind is the word for what a target does; "unknown" when none is set.
func TargetKind(t schedule.Target) string { return cmp.Or(target.Kind(t), "unknown") }

// Installation is what a store knows about the processes on it.
type Installation struct {
	Now   time.Time // the store's clock
	Nodes []store.Node
	// The planner's claim, by whoever holds it; Epoch is 0 when nobody ever did.
	Epoch        uint64
	Watermark    time.Time
	ClaimExpires time.Time
}

// Installation tells who works on the store. It is what readiness asks: it fails when the store does not answer.
func (c *Control) Installation(ctx context.Context) (Installation, error) {
	now, err := c.store.Now(ctx)
	if err != nil {
		return Installation{}, fmt.Errorf("read the clock: %w", err)
	}
	nodes, err := c.store.Living(ctx)
	if err != nil {
		return Installation{}, fmt.Errorf("list nodes: %w", err)
	}
	out := Installation{Now: now, Nodes: nodes}
	claim, found, err := c.store.Planner(ctx, 0)
	if err != nil {
		return Installation{}, fmt.Errorf("read the claim: %w", err)
	}
	if found {
		out.Epoch, out.Watermark, out.ClaimExpires = claim.Epoch, claim.CoveredUntil, claim.ExpiresAt
	}
	return out, nil
}
