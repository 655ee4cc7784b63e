package timeline

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Loop selects what is due from a source's definitions, and keeps leadership and coverage in one claim. It is driven
// by hand: Reconcile, Tick, hand over, Commit, wait until NextWake. One goroutine owns it; only Stop, Count, Leading
// and IsCurrent may be called from any.
type Loop struct {
	src    Source
	claims ClaimStore
	o      Options

	mu      sync.RWMutex // held by the owner to change table, by others to read it
	table   *table
	live    atomic.Int64 // entries that are not forgotten
	stopped atomic.Bool

	// Definitions.
	lastSync, lastFull, nextRead time.Time
	seen                         marks

	// The claim. Leading is what the last answer of the store said; unsure says that a write's outcome is unknown and
	// the record must be read before anything else (PROTOCOL B2).
	claim           Claim
	known           bool // claim holds a record that was read or written
	leading, unsure bool
	nonces          uint64
	nonceBase       string // of this loop alone: a record that has it was written by this loop
	last, confirmed attempt
	suspect         sighting // a claim of somebody else that ends too far off
	trusted         guard
	pending         atomic.Int64 // store calls that have not returned

	// Selection. The watermark may be ahead of the claim's when Recover gave something up.
	watermark int64
	riding    queue            // by next occurrence
	pinned    queue            // by next occurrence at or after the pin; never included
	from      map[uint32]int64 // where an entry's own coverage starts, if not at the watermark
	term      bool             // the queues are kept, for claim.Epoch; also while unsure makes leading false
	resync    bool             // a full snapshot has to be read before the next selection (PROTOCOL A3)
	eager     bool             // pinned entries may have something to settle now
	failed    bool             // the last call failed: pause before the next one
	due       []item           // scratch of selection
	open      bool
	window    Window
	inWindow  []selected          // what window.Stretches stands for, in its order
	synced    time.Time           // what the open window's commit may claim to have known
	swept     time.Time           // the sync after which own coverage was last cleared of what is settled
	touched   map[uint32]struct{} // slots changed since the window was selected
}

// New returns a loop that has read nothing yet. It returns ErrOptions, naming the field, when the options cannot work.
func New(src Source, claims ClaimStore, o Options) (*Loop, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	return &Loop{
		src: src, claims: claims, o: o,
		table:     newTable(),
		nonceBase: rand.Text(),
		from:      map[uint32]int64{},
		touched:   map[uint32]struct{}{},
	}, nil
}

// Tick confirms leadership and selects what is due, without moving anything: until a commit, the next tick selects the
// same again. False means that this loop does not lead; the error then says why, if it should. The window belongs to
// the caller.
func (l *Loop) Tick(ctx context.Context) (Window, bool, error) {
	w, ok, err := l.tick(ctx)
	l.failed = err != nil
	if err != nil {
		err = fmt.Errorf("timeline: tick: %w", err)
	}
	return w, ok, err
}

func (l *Loop) tick(ctx context.Context) (Window, bool, error) {
	if l.stopped.Load() {
		return Window{}, false, l.release(ctx)
	}
	ok, err := l.lead(ctx)
	l.open = false
	if err != nil || !ok {
		return Window{}, false, err
	}
	if l.resync {
		if err := l.sync(ctx, true); err != nil {
			return Window{}, false, err
		}
		// Reading a large set may have cost the lease that let it begin.
		if ok, err := l.lead(ctx); err != nil || !ok || l.resync {
			return Window{}, false, err
		}
	}
	return l.selectDue(l.now()), true, nil
}

// NextWake says when the next tick or sync has something to do, at most MaxIdle from now. A follower looks at the
// claim every Options.Tick, so that it takes over from a leader that released it without waiting for the lease.
func (l *Loop) NextWake() time.Time {
	now := l.now()
	at := earlier(now.Add(l.o.MaxIdle), later(l.nextRead, now))
	switch {
	case l.stopped.Load():
		at = now
	case l.failed || l.unsure:
		at = earlier(at, now.Add(min(pause, l.o.Tick)))
	case !l.leading:
		at = earlier(at, now.Add(l.o.Tick))
		if l.known && l.claim.ExpiresAt.After(now) {
			at = earlier(at, l.claim.ExpiresAt)
		}
	case l.resync:
		at = now
	default:
		at = earlier(at, now.Add(l.o.Renew-l.age()))
		at = earlier(at, l.nextDue(now))
	}
	return later(at, now)
}

// pause is how long a loop waits after a failed call. It is short because the claim does not wait.
const pause = 100 * time.Millisecond

func (l *Loop) nextDue(now time.Time) time.Time {
	at := now.Add(l.o.MaxIdle)
	consider := func(due int64) {
		if due != never {
			at = earlier(at, justAfter(due).Add(-l.o.Lead))
		}
	}
	consider(l.riding.min())
	switch next := l.pinned.min(); {
	case l.eager:
		at = earlier(at, instant(l.watermark).Add(-l.o.Lead))
	case next < l.watermark:
		at = earlier(at, now.Add(l.o.Tick)) // it was selected, and left as it was; a sync has to change that first
	default:
		consider(next)
	}
	return at
}

// Stop makes the next Tick release the claim and answer that this loop does not lead. A window that is open can still
// be committed before.
func (l *Loop) Stop() { l.stopped.Store(true) }

// Leading reports whether this loop holds the claim and may trust it: it turns false when 90 % of the lease have gone
// since the last confirmed renewal, also while the loop is stuck elsewhere. Hand nothing over when it is false.
func (l *Loop) Leading() bool { return l.trusted.holds(l.o) }

// Claim returns the record as this loop last read or wrote it. Zero when there was none.
func (l *Loop) Claim() Claim { return l.claim }

// Count returns how many definitions are loaded that may be due again.
func (l *Loop) Count() int { return int(l.live.Load()) }

// IsCurrent reports whether the occurrence comes from the definition as it is known now. It turns false when the
// definition is edited, paused or removed after the occurrence was selected.
func (l *Loop) IsCurrent(o Occurrence) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	slot, ok := l.table.find(o.ID)
	return ok && l.table.at(slot).version() == o.Version
}

func (l *Loop) now() time.Time { return whole(l.o.Clock.Now()) }
