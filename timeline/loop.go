package timeline

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Loop selects what is due from a source's definitions, and keeps leadership and coverage in one claim. Run drives it,
// or its owner does by hand: Reconcile, Tick, hand over, Commit, wait until NextWake. One goroutine owns it; only Stop,
// Count, Leading and IsCurrent may be called from any.
type Loop struct {
	src    Source
	claims ClaimStore
	o      Options

	mu      sync.RWMutex // held by the owner to change table, by others to read it
	table   *table
	live    atomic.Int64 // entries that are not forgotten
	stopped atomic.Bool
	running atomic.Bool // Run is

	onError  func(Stage, string, error) // as given; nil says that Run returns what fails
	raised   error                      // what Run has to return
	stopping chan struct{}              // closed by Stop
	began    time.Duration              // when the last tick did, by Options.Elapsed

	// Definitions.
	lastSync, lastFull, nextRead time.Time
	seen                         marks

	// The claim. Leading is what the last answer of the store said; unsure says that a write's outcome is unknown and
	// the record must be read before anything else (PROTOCOL B2).
	claim, recalled Claim
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
	debts     map[string][]debt
	windows   uint64 // how many were selected
	term      bool   // the queues are kept, for claim.Epoch; also while unsure makes leading false
	resync    bool   // a full snapshot has to be read before the next selection (PROTOCOL A3)
	eager     bool   // pinned entries may have something to settle now
	failed    bool   // the last call failed: pause before the next one
	due       []item // scratch of selection
	open      bool
	window    Window
	inWindow  []selected          // the entries in window.Stretches
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
	l := &Loop{
		src: src, claims: claims, o: o,
		onError:   o.OnError,
		stopping:  make(chan struct{}),
		table:     newTable(),
		nonceBase: rand.Text(),
		from:      map[uint32]int64{},
		debts:     map[string][]debt{},
		touched:   map[uint32]struct{}{},
	}
	l.o.OnError = l.report
	if l.o.Dropped == nil {
		l.o.Dropped = l.o.reportDropped
	}
	return l, nil
}

// Tick confirms leadership and selects what is due, without moving anything: until a commit, the next tick selects the
// same again. False means that this loop does not lead; the error then says why, if it should. The window belongs to
// the caller.
func (l *Loop) Tick(ctx context.Context) (Window, bool, error) {
	l.began = l.o.Elapsed()
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
	consider(l.nextOwed())
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

// Stop ends the loop for good: Run returns after the current tick. By hand, the next Tick releases the claim and answers
// that this loop does not lead; a window that is open can still be committed before. It may be called from the callback,
// from a signal handler and more than once.
func (l *Loop) Stop() {
	if !l.stopped.Swap(true) {
		close(l.stopping)
	}
}

// Leading reports whether this loop holds the claim and may trust it: it turns false when 90 % of the lease have gone
// since the last confirmed renewal, also while the loop is stuck elsewhere. Hand nothing over when it is false.
func (l *Loop) Leading() bool { return l.trusted.holds(l.o) }

// Claim returns the record as this loop last read or wrote it. Zero when there was none.
func (l *Loop) Claim() Claim { return l.claim }

// Count returns how many definitions are loaded that may be due again.
func (l *Loop) Count() int { return int(l.live.Load()) }

// IsCurrent reports whether the occurrence comes from the definition that is known now to be in force at its instant.
// It turns false when the definition is paused or removed after the occurrence was selected, or edited with effect from
// before it; a Row that does not say since when it is in force counts as always having been.
func (l *Loop) IsCurrent(o Occurrence) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	slot, ok := l.table.find(o.ID)
	if ok && l.table.at(slot).version() == o.Version {
		return true
	}
	return slices.ContainsFunc(l.debts[o.ID], func(d debt) bool {
		return d.version == o.Version && nanos(o.Due) < d.to
	})
}

func (l *Loop) now() time.Time { return whole(l.o.Clock.Now()) }
