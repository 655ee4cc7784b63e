package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// For returns the claim of one shard.
func (s *Store) For(shard int) timeline.ClaimStore { return claimStore{s, shard} }

type claimStore struct {
	*Store
	shard int
}

// Load returns the shard's claim.
func (c claimStore) Load(ctx context.Context) (timeline.Claim, bool, error) {
	return c.Planner(ctx, c.shard)
}

// Swap replaces the shard's claim if it still is old.
func (c claimStore) Swap(ctx context.Context, old *timeline.Claim, next timeline.Claim) (bool, error) {
	if err := c.enter(ctx); err != nil {
		return false, err
	}
	defer c.leaveChanged()
	stored, exists := c.claims[c.shard]
	if old == nil && exists || old != nil && !c.holds(c.shard, *old) {
		return false, nil
	}
	if next.CoveredUntil.Before(stored.CoveredUntil) {
		return false, errRewind
	}
	c.claims[c.shard] = exact(next)
	return true, nil
}

var errRewind = errors.New("store: the watermark never moves back; nothing was written")

// horizonSlack is what a window may reach beyond the store's clock and the lead (PROTOCOL A9).
const horizonSlack = time.Second

// Commit checks everything before it writes anything, so that there is nothing to undo.
func (s *Store) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	if err := s.enter(ctx); err != nil {
		return store.Committed{}, err
	}
	defer s.leaveChanged()
	switch {
	case !s.holds(c.Shard, c.Old):
		return store.Committed{}, store.ErrFenced
	case c.Next.CoveredUntil.After(s.now().Add(c.Lead + horizonSlack)):
		return store.Committed{}, store.ErrHorizon
	case c.Next.CoveredUntil.Before(s.claims[c.Shard].CoveredUntil):
		return store.Committed{}, errRewind
	}
	var done store.Committed
	var plans []store.Plan
	for _, p := range c.Plans {
		if d := s.definitions[p.Schedule]; d != nil && d.change == p.Change {
			plans = append(plans, p)
		} else {
			done.LeftOut = append(done.LeftOut, p.Schedule)
		}
	}
	if err := s.poison(plans); err != nil {
		return store.Committed{}, err
	}
	for _, p := range c.Plans {
		if d := s.definitions[p.Schedule]; d != nil && d.change != p.Change {
			d.Pin = earlier(d.Pin, micro(p.From))
		}
	}
	for _, p := range plans {
		s.carryOut(p, &done)
	}
	for _, a := range c.Arrears {
		s.putArrears(c.Shard, a)
	}
	s.claims[c.Shard] = exact(c.Next)
	return done, nil
}

// poison refuses content that breaks a key, other than an occurrence that is settled already.
func (s *Store) poison(plans []store.Plan) error {
	type key struct {
		schedule schedule.ID
		first    int64
		reason   run.Reason
	}
	runs, gaps, keys := map[run.ID]bool{}, map[run.GapID]bool{}, map[key]bool{}
	for _, g := range s.gaps {
		gaps[g.ID] = true
		keys[key{g.Schedule, g.First.UnixMicro(), g.Reason}] = true
	}
	for _, p := range plans {
		for _, r := range p.Runs {
			if _, settled := s.occurrences[occurrenceOf(r)]; settled && r.Kind == run.Scheduled {
				continue
			}
			if s.runs[r.ID] != nil || runs[r.ID] {
				return fmt.Errorf("run %s exists and stands for something else: %w", r.ID, store.ErrPoison)
			}
			runs[r.ID] = true
		}
		for _, g := range p.Gaps {
			k := key{g.Schedule, g.First.UnixMicro(), g.Reason}
			if gaps[g.ID] || keys[k] {
				return fmt.Errorf("gap %s of schedule %s from %s exists: %w", g.Reason, g.Schedule, g.First, store.ErrPoison)
			}
			gaps[g.ID], keys[k] = true, true
		}
	}
	return nil
}

func (s *Store) carryOut(p store.Plan, done *store.Committed) {
	for _, r := range p.Runs {
		if s.insert(r) {
			done.Inserted++
		} else {
			done.Duplicate++
		}
	}
	for _, g := range p.Gaps {
		g.First, g.Last, g.CreatedAt, g.ScheduleName = micro(g.First), micro(g.Last), s.now(), ""
		s.gaps[g.ID] = &g
	}
	d := s.definitions[p.Schedule]
	switch {
	case !p.Pin.IsZero():
		d.Pin, d.openedAt = micro(p.Pin), micro(p.OpenedAt)
	case p.Unpin:
		d.Pin, d.openedAt, d.dirty, d.Quarantine = time.Time{}, time.Time{}, false, ""
	}
	if p.Quarantine != "" {
		d.Quarantine = p.Quarantine
	}
}

// insert adds a run, and reports false when its occurrence has one.
func (s *Store) insert(r run.Run) bool {
	if r.Kind == run.Scheduled {
		if _, settled := s.occurrences[occurrenceOf(r)]; settled {
			return false
		}
		s.occurrences[occurrenceOf(r)] = r.ID
	}
	r = detached(r)
	r.Due, r.ReadyAt, r.CreatedAt, r.ScheduleName = micro(r.Due), micro(r.ReadyAt), s.now(), ""
	s.runs[r.ID] = &row{Run: r}
	if !r.Status.Final() {
		s.live[r.ID] = s.runs[r.ID]
	}
	return true
}

func (s *Store) putArrears(shard int, a store.Arrears) {
	a.Shard, a.From, a.To, a.OpenedAt = shard, micro(a.From), micro(a.To), micro(a.OpenedAt)
	key := backlog{shard, a.From.UnixMicro()}
	if a.Done {
		delete(s.arrears, key)
		return
	}
	s.arrears[key] = a
}

// Settled lists what disposes of a stretch of one schedule. A gap that is open reaches into every later stretch.
func (s *Store) Settled(ctx context.Context, id schedule.ID, from, to time.Time) (store.Settled, error) {
	if err := s.enter(ctx); err != nil {
		return store.Settled{}, err
	}
	defer s.mu.Unlock()
	var out store.Settled
	for _, r := range s.runs {
		if r.Schedule == id && r.Kind == run.Scheduled && !r.Due.Before(from) && r.Due.Before(to) {
			out.Runs = append(out.Runs, r.Due)
		}
	}
	for _, g := range s.gaps {
		if g.Schedule == id && touches(*g, from, to) {
			out.Gaps = append(out.Gaps, *g)
		}
	}
	slices.SortFunc(out.Runs, time.Time.Compare)
	slices.SortFunc(out.Gaps, func(a, b run.Gap) int { return a.First.Compare(b.First) })
	return out, nil
}

// touches reports whether a gap reaches into [from, to); a zero bound does not restrict.
func touches(g run.Gap, from, to time.Time) bool {
	return (to.IsZero() || g.First.Before(to)) && (from.IsZero() || g.Open || !g.Last.Before(from))
}

// Arrears lists a shard's backlogs.
func (s *Store) Arrears(ctx context.Context, shard int) ([]store.Arrears, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var out []store.Arrears
	for _, a := range s.arrears {
		if a.Shard == shard {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b store.Arrears) int {
		return cmp.Or(a.OpenedAt.Compare(b.OpenedAt), a.From.Compare(b.From))
	})
	return out, nil
}

// Correct is the one way back for a watermark and for definitions. A gap that is still open says nothing about what is
// due, and stays.
func (s *Store) Correct(ctx context.Context, shard int, old, next timeline.Claim, at time.Time) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leaveChanged()
	if !s.holds(shard, old) {
		return store.ErrFenced
	}
	at = micro(at)
	s.cutGaps(at, func(*run.Gap) bool { return true })
	s.cutBacklogs(shard, at)
	for _, d := range s.definitions {
		if d.Pin.After(at) {
			d.Pin = at
		}
		if d.changedAt.After(at) {
			s.pullBack(d, at, new(store.Change))
		}
	}
	if next.CoveredUntil = s.claims[shard].CoveredUntil; at.Before(next.CoveredUntil) {
		next.CoveredUntil = at
	}
	s.claims[shard] = exact(next)
	return nil
}

// cutGaps takes back what some gaps say of the time from an instant on.
func (s *Store) cutGaps(at time.Time, some func(*run.Gap) bool) {
	for id, g := range maps.Clone(s.gaps) {
		switch {
		case g.Open || g.Last.Before(at) || !some(g):
		case !g.First.Before(at):
			delete(s.gaps, id)
		default:
			s.cutGap(g, at)
		}
	}
}

// cutBacklogs leaves no backlog beyond an instant: what follows it is a window's again, and nothing is judged by a
// moment that has not come.
func (s *Store) cutBacklogs(shard int, at time.Time) {
	for key, a := range s.arrears {
		if a.Shard != shard {
			continue
		}
		if !a.From.Before(at) {
			delete(s.arrears, key)
			continue
		}
		a.To, a.OpenedAt = earlier(a.To, at), earlier(a.OpenedAt, at)
		s.arrears[key] = a
	}
	for _, d := range s.definitions {
		if !d.openedAt.IsZero() {
			d.openedAt = earlier(d.openedAt, at)
		}
	}
}

// holds reports whether the shard's claim is the one that the caller last saw.
func (s *Store) holds(shard int, c timeline.Claim) bool {
	stored, exists := s.claims[shard]
	return exists && stored.Token == c.Token && stored.Epoch == c.Epoch && stored.Nonce == c.Nonce
}

func exact(c timeline.Claim) timeline.Claim {
	c.ExpiresAt, c.CoveredUntil, c.SyncedUntil = micro(c.ExpiresAt), micro(c.CoveredUntil), micro(c.SyncedUntil)
	return c
}

func occurrenceOf(r run.Run) occurrence { return occurrence{r.Tenant, r.Schedule, r.Due.UnixMicro()} }
