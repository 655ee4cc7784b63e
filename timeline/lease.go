package timeline

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// An attempt is one write of the claim, with both clocks read before it was sent: a lease that is counted from its
// answer would be trusted for longer than the record says (PROTOCOL A9).
type attempt struct {
	nonce   string
	wall    time.Time
	elapsed time.Duration
}

// A guard tells other goroutines until when the lease may be trusted. It is judged by both clocks, because either can
// stand still: the wall clock when it is set back, the monotonic one while the machine sleeps.
type guard struct {
	on            atomic.Bool
	wall, elapsed atomic.Int64 // deadlines
}

func (g *guard) holds(o Options) bool {
	young := nanos(o.Clock.Now()) < g.wall.Load() && int64(o.Elapsed()) < g.elapsed.Load()
	return g.on.Load() && (young || unguarded())
}

// lead reports whether this loop leads and may select: it settles what is unknown, renews when that is due, and takes
// the claim when it is free.
func (l *Loop) lead(ctx context.Context) (bool, error) { return l.leadFresh(ctx, l.o.Renew) }

// leadFresh is lead with a renewal as soon as the last one is older than fresh.
func (l *Loop) leadFresh(ctx context.Context, fresh time.Duration) (bool, error) {
	if l.unsure {
		if _, err := l.resolve(ctx); err != nil {
			return false, err
		}
	}
	if !l.leading {
		err := l.elect(ctx)
		return l.leading, err
	}
	if l.age() < fresh {
		return true, nil
	}
	err := l.renew(ctx)
	if err == nil {
		return l.leading, nil
	}
	if l.leading && (l.age() < l.o.guard() || unguarded()) {
		l.o.OnError(StageLease, "", err) // the lease still holds; the next tick tries again
		return true, nil
	}
	return false, err
}

// age is how much of the lease is spent, by the clock that says more.
func (l *Loop) age() time.Duration {
	return max(l.now().Sub(l.confirmed.wall), l.o.Elapsed()-l.confirmed.elapsed)
}

// Nonces of commits end in a mark of their own: a commit that landed unseen changed more than the claim.
const (
	plain  = "."
	commit = "!"
)

// prepare completes a claim that is about to be written and remembers when.
func (l *Loop) prepare(next Claim, kind string) Claim {
	l.nonces++
	next.Token = l.o.Token
	next.Nonce = l.nonceBase + "-" + strconv.FormatUint(l.nonces, 36) + kind
	l.last = attempt{nonce: next.Nonce, wall: l.now(), elapsed: l.o.Elapsed()}
	next.ExpiresAt = l.last.wall.Add(l.o.Lease)
	return next
}

// ours reports whether this very loop wrote the record.
func (l *Loop) ours(c Claim) bool {
	return c.Token == l.o.Token && strings.HasPrefix(c.Nonce, l.nonceBase+"-")
}

// confirm takes note of a write that is known to have happened.
func (l *Loop) confirm(a attempt) {
	l.confirmed = a
	l.trusted.wall.Store(nanos(a.wall.Add(l.o.guard())))
	l.trusted.elapsed.Store(int64(a.elapsed + l.o.guard()))
	l.trusted.on.Store(true)
}

func (l *Loop) elect(ctx context.Context) error {
	rec, found, err := l.load(ctx)
	if err != nil {
		return err
	}
	l.claim, l.known = rec, found
	now := l.now()
	if found && rec.Token != l.o.Token && rec.ExpiresAt.After(now) && !l.abandoned(rec, now) {
		return nil
	}
	next := Claim{Epoch: rec.Epoch + 1, CoveredUntil: rec.CoveredUntil, SyncedUntil: rec.SyncedUntil}
	old := &rec
	if !found {
		next = l.firstClaim(now)
		old = nil
	}
	next = l.prepare(next, plain)
	swapped, err := l.swap(ctx, old, next)
	switch {
	case err != nil:
		l.unsure = true
		return err
	case swapped:
		l.adopt(next)
	}
	return nil
}

// firstClaim is what to write where there is no record. Nobody covered anything then, so that nothing before now is owed
// (R-WIN-7), whatever takes effect when; unless this loop has seen a record, and the store lost it.
func (l *Loop) firstClaim(now time.Time) Claim {
	if l.o.Pinned || l.recalled.Epoch == 0 {
		return Claim{Epoch: 1, CoveredUntil: now, SyncedUntil: now}
	}
	l.o.OnError(StageLease, "", errVanished)
	return Claim{Epoch: l.recalled.Epoch + 1, CoveredUntil: l.recalled.CoveredUntil, SyncedUntil: l.recalled.SyncedUntil}
}

var errVanished = errors.New("timeline: the claim store lost its record; this loop goes on from what it last knew of it")

// recall keeps the furthest record that is known to have been in the store.
func (l *Loop) recall(c Claim) {
	if c.Epoch > l.recalled.Epoch || c.CoveredUntil.After(l.recalled.CoveredUntil) {
		l.recalled = c
	}
}

// renew extends the lease. After an error the claim is read at once, unless the store did not answer: then it is lost
// until the store does.
func (l *Loop) renew(ctx context.Context) error {
	old := l.claim
	next := l.prepare(old, plain)
	swapped, err := l.swap(ctx, &old, next)
	switch {
	case err == nil && swapped:
		l.claim = next
		l.confirm(l.last)
		return nil
	case err == nil:
		_, err := l.refused(ctx)
		if errors.Is(err, ErrFenced) {
			return nil // OnError was told; not to lead is an ordinary answer
		}
		return err
	case l.doubt(err):
		return err
	}
	if _, unread := l.resolve(ctx); unread != nil {
		return errors.Join(err, unread)
	}
	if l.leading && l.confirmed.nonce == next.Nonce {
		return nil // it was written, and only the answer was lost
	}
	return err
}

// doubt notes that a write's outcome is unknown, and reports whether the claim counts as lost meanwhile, as it does
// when the store did not answer.
func (l *Loop) doubt(err error) bool {
	l.unsure = true
	if !errors.Is(err, ErrStoreTimeout) {
		return false
	}
	l.leading = false
	l.trusted.on.Store(false)
	return true
}

// resolve reads the claim after a write whose outcome is unknown. It reports whether the open window turned out to be
// committed.
func (l *Loop) resolve(ctx context.Context) (bool, error) {
	rec, found, err := l.load(ctx)
	if err != nil {
		l.doubt(err)
		return false, err
	}
	l.unsure = false
	switch {
	case found && l.ours(rec):
		return l.adopt(rec), nil
	case l.ours(l.claim) && !l.claim.ExpiresAt.IsZero():
		l.lose(rec, found)
	default: // it was an election, and was not won
		l.claim, l.known = rec, found
	}
	return false, nil
}

// refused finds out why a swap did not write. An earlier write of this loop may have landed late, and then the claim
// is still its own; else it returns ErrFenced.
func (l *Loop) refused(ctx context.Context) (bool, error) {
	rec, found, err := l.load(ctx)
	if err != nil {
		l.doubt(err)
		return false, err
	}
	if found && l.ours(rec) && rec.Nonce != l.claim.Nonce {
		return l.adopt(rec), nil
	}
	l.lose(rec, found)
	return false, ErrFenced
}

// adopt makes a record that this loop wrote its state, whether the write was seen to succeed or found later. It
// reports whether the open window turned out to be committed by it.
func (l *Loop) adopt(rec Claim) bool {
	l.recall(rec)
	sameEpoch := l.term && l.claim.Epoch == rec.Epoch
	unseen := sameEpoch && rec.Nonce != l.claim.Nonce && strings.HasSuffix(rec.Nonce, commit)
	l.claim, l.known = rec, true
	if rec.ExpiresAt.IsZero() { // a release
		l.step(false)
		return false
	}
	l.leading = true
	l.trusted.on.Store(true) // until the deadline of what was confirmed last
	if rec.Nonce == l.last.nonce {
		l.confirm(l.last)
	}
	switch {
	case !sameEpoch:
		l.term = true
		l.forgiveAll()
		l.restart(nanos(rec.CoveredUntil))
	case unseen && l.open && rec.Nonce == l.last.nonce:
		l.settle(Verdict{Swapped: true})
		if l.o.Pinned { // the verdict is lost, and only the source knows the pins now
			l.restart(l.watermark)
		}
		return true
	case unseen: // of an earlier window
		l.restart(max(l.watermark, nanos(rec.CoveredUntil)))
	}
	return false
}

// restart makes the next tick build its queues anew, from a full read.
func (l *Loop) restart(watermark int64) {
	l.watermark = watermark
	l.open, l.resync = false, true
}

// lose gives leadership up to whoever holds the record.
func (l *Loop) lose(rec Claim, found bool) {
	l.claim, l.known = rec, found
	l.step(false)
	l.o.OnError(StageLease, "", ErrFenced)
}

// step ends leadership without a word.
func (l *Loop) step(unsure bool) {
	l.leading, l.unsure = false, unsure
	l.open, l.resync, l.term = false, false, false
	l.forgiveAll()
	l.trusted.on.Store(false)
}

// Release gives the claim up, so that another loop takes over at once, and keeps the watermark. A window that is open
// is not committed. When it returns an error the claim may stay until its lease is over.
func (l *Loop) Release(ctx context.Context) error { return l.release(ctx) }

func (l *Loop) release(ctx context.Context) error {
	if l.unsure {
		if _, err := l.resolve(ctx); err != nil {
			return err
		}
	}
	if !l.leading {
		return nil
	}
	old := l.claim
	next := l.prepare(old, plain)
	next.ExpiresAt = time.Time{}
	swapped, err := l.swap(ctx, &old, next)
	l.step(err != nil)
	if swapped {
		l.claim = next
	}
	return err
}
