package timeline

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/belfryhq/belfry/trigger"
)

// Row is one definition as a Source lists it: cheap to read. Two rows with the same ID and Version are the same.
type Row struct {
	ID       string
	Version  string
	Inactive bool // removes the entry; how an incremental feed reports a removal
	// ActiveFrom is when the definition took effect. A loop whose coverage had gone past it without knowing the
	// definition covers it from there, once. Ignored under Options.Pinned.
	ActiveFrom time.Time
	// Pin says where this row's own coverage stands, under Options.Pinned: everything from here on is unsettled,
	// whatever the claim's watermark says. Zero: the row rides the watermark. A row whose version is known moves a pin
	// only back; a later or a missing one counts when a new leader, or one that missed a commit's verdict, reads the
	// full set.
	Pin time.Time
	// Data is carried to Source.Make.
	Data any
}

// Entry is what a Row becomes once its trigger is built.
type Entry struct {
	Trigger trigger.Trigger
	Payload any
}

// Source supplies definitions. The loop calls it from its own goroutine only.
type Source interface {
	// Snapshot lists the whole desired set. An error in the sequence discards the whole snapshot.
	Snapshot(ctx context.Context) iter.Seq2[Row, error]
	// Make builds the entry of a new or changed row. An error leaves the entry known before in force and is reported.
	Make(ctx context.Context, r Row) (Entry, error)
}

// Changes is implemented by a Source that can list what changed lately. Rows may be repeated, since they are compared
// by version; the answer to Since(t) must hold everything that took effect at or after t, or is marked as changed.
type Changes interface {
	Since(ctx context.Context, t time.Time) iter.Seq2[Row, error]
}

// Claim is the one small record behind a loop: who leads, until when, and up to where occurrences are covered.
type Claim struct {
	Token        string    // the holder
	Epoch        uint64    // rises by one with every change of holder
	Nonce        string    // new with every swap, so that a holder can tell whether a swap with a lost reply happened
	ExpiresAt    time.Time // zero: released
	CoveredUntil time.Time // the watermark: occurrences before it are settled
	SyncedUntil  time.Time // definitions that took effect before it were known to whoever committed the coverage
}

// ClaimStore keeps a claim. The record never expires by itself.
type ClaimStore interface {
	// Load returns the record; false when there is none.
	Load(ctx context.Context) (Claim, bool, error)
	// Swap writes next if the record still equals old in Token, Epoch and Nonce; a nil old means there must be none.
	// It reports whether it wrote.
	Swap(ctx context.Context, old *Claim, next Claim) (bool, error)
}

// Stretch is one entry's unsettled time in a window: its occurrences in [From, To) are due to be handed over.
type Stretch struct {
	ID, Version string
	From, To    time.Time
	Next        time.Time // the first occurrence of the stretch; zero when a pinned entry has none before To
	Pinned      bool
	Trigger     trigger.Trigger
	Payload     any
}

// Window is what a tick selected, against a fixed interval: from the watermark to the horizon.
type Window struct {
	Start, End time.Time // [watermark, horizon)
	Stretches  []Stretch // of riding entries with something due, by next due then ID; then of pinned entries
	Deferred   int       // pinned entries left for a later tick because of Options.MaxPinned
}

// Occurrence is one due instant of one entry.
type Occurrence struct {
	ID, Version string
	Due         time.Time
	Payload     any
}

// Key is the occurrence's stable identity, the same on every delivery: ID, "@" and the due instant in UTC.
func (o Occurrence) Key() string {
	return o.ID + "@" + o.Due.UTC().Format(time.RFC3339Nano)
}

// Verdict is what a commit did.
type Verdict struct {
	Swapped bool // false: fenced, and nothing was written
	// Pinned holds entries that are still unsettled from the given instant on: of the window, and, under Options.Pinned,
	// others of which the commit settled a backlog in part.
	Pinned map[string]time.Time
	Gone   []string // entries that will never be due again and can be forgotten
}

// Swapper writes next in place of old, together with whatever the caller commits in the same transaction.
type Swapper func(ctx context.Context, old, next Claim) (Verdict, error)

// Clock is the loop's wall clock. Waits use ordinary timers.
type Clock interface{ Now() time.Time }

// Stage says which duty of the loop an error came from.
type Stage string

// The stages.
const (
	StageReconcile Stage = "reconcile" // the source could not be read
	StageMake      Stage = "make"      // one row could not be built
	StageDispatch  Stage = "dispatch"  // the callback or the commit failed
	StageLease     Stage = "lease"     // a claim was lost, or could not be read or written in time
)

// Errors that callers can tell apart.
var (
	ErrFenced       = errors.New("timeline: another loop holds the claim; nothing was written")
	ErrNotLeader    = errors.New("timeline: this loop does not lead")
	ErrStoreTimeout = errors.New("timeline: the claim store did not answer in time")
	ErrOptions      = errors.New("timeline: options")
)
