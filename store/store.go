// Package store is the contract between Belfry's loops and the database that keeps its ledger. One method is one
// transaction that keeps one invariant; there is no transaction handle and no CRUD. Every method may be called
// concurrently, by several processes on one database. All instants are UTC microseconds, and every "now" in a
// statement is the store's own clock. storetest holds every implementation to what is written here.
package store

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/timeline"
)

// Store is everything a node needs of its database.
type Store interface {
	Claims
	Dispatcher
	Queue
	Definitions
	Reader
	Nodes
	Waker
	// Now is the store's clock.
	Now(ctx context.Context) (time.Time, error)
	Close() error
}

// Errors that callers can tell apart. Losing a race, a fenced write and a full limit are different things.
var (
	ErrFenced   = errors.New("store: another planner holds the claim; nothing was written")
	ErrHorizon  = errors.New("store: the window reaches beyond the store's clock; nothing was written")
	ErrLost     = errors.New("store: this node's lease was taken")
	ErrNotFound = errors.New("store: not found")
	ErrExists   = errors.New("store: already exists")
	ErrStale    = errors.New("store: changed meanwhile")
	ErrBusy     = errors.New("store: the database is busy; try again")
	// ErrPoison marks an error that the content of a row causes, which no retry cures. The caller finds the row by
	// halving the batch (PROTOCOL A8).
	ErrPoison = errors.New("store: the database refuses this content")
)

// FarAhead is how far a definition may lie after the clock before the clock that it was written by counts as wrong.
const FarAhead = 5 * time.Second

// Claims keeps one claim a shard. A swap whose watermark lies before the stored one is an error, not a lost race, and
// writes nothing (P3).
type Claims interface {
	For(shard int) timeline.ClaimStore
}

// Dispatcher settles occurrences.
type Dispatcher interface {
	// Commit writes a window in one transaction, or nothing: the claim (only if it still has Old's token, epoch and
	// nonce, else ErrFenced), runs, gaps, pins, arrears. A plan whose schedule changed since (PROTOCOL A3) is left
	// out and its schedule pinned at the earlier of its pin and the plan's From; the rest commits. A run whose
	// occurrence exists is counted as a duplicate and is no error; a gap or an ID that exists is ErrPoison. ErrHorizon
	// when Next.CoveredUntil lies beyond the store's clock by more than Lead and one second (PROTOCOL A9); another error
	// when it lies before the stored one.
	Commit(ctx context.Context, c Commit) (Committed, error)
	// Settled lists the runs of kind scheduled and the gaps that already dispose of occurrences of one schedule in
	// [from, to) (PROTOCOL A10b). An open gap reaches into everything that follows it.
	Settled(ctx context.Context, id schedule.ID, from, to time.Time) (Settled, error)
	// Arrears lists a shard's open backlogs, oldest first.
	Arrears(ctx context.Context, shard int) ([]Arrears, error)
	// Correct takes back what lies after at, the clock that was put right (PROTOCOL A9): the watermark becomes at unless
	// it lies before it, under a new epoch, and the claim is swapped as in Commit. Gaps that begin at or after at are
	// removed, gaps that reach past it are cut and counted anew. Backlogs are cut at at as well, or windows would settle
	// the rest a second time; no pin lies behind it, and none is judged by a later instant. Runs and open gaps stay.
	//
	// Definitions that changed after at are pulled back to it, or a schedule would wait for the clock that was wrong: the
	// span in force at at ends there, the newest begins there, and spans that never were in force become empty, before
	// at, so that their specs can be read. Pause, its open gap, removal, creation and update that lie later move to at.
	// Each is un-planned from at on, marked dirty and pinned there as by a change of its own. Where a span begins at at
	// already, the newest takes the next free microsecond. An event "clock_corrected" tells of each and of the whole.
	Correct(ctx context.Context, shard int, old, next timeline.Claim, at time.Time) error
}

// Commit is one planning transaction.
type Commit struct {
	Shard     int
	Old, Next timeline.Claim
	Lead      time.Duration
	Plans     []Plan
	Arrears   []Arrears // opened or moved on; Done removes one
}

// Plan is what a window does with one schedule.
type Plan struct {
	Schedule schedule.ID
	Tenant   string
	Change   uint64    // of the row that was planned from
	From     time.Time // where its unsettled stretch began
	Runs     []run.Run
	Gaps     []run.Gap
	// Unpin clears the schedule's pin and dirty mark: it is covered up to the new watermark.
	Unpin bool
	// Pin, when set, leaves the schedule unsettled from there on, with OpenedAt the instant at which lateness and age
	// are judged for its backlog. It wins over Unpin.
	Pin, OpenedAt time.Time
	PinReason     string
	// Quarantine, when set, marks the schedule as not planned, with the reason for people. "" on an Unpin clears it.
	Quarantine string
}

// Committed counts what a commit did.
type Committed struct {
	Inserted  int
	Duplicate int
	LeftOut   []schedule.ID // plans whose schedule had changed; now pinned
}

// Settled is what already disposes of a stretch.
type Settled struct {
	Runs []time.Time // due instants, ascending
	Gaps []run.Gap
}

// Arrears is a backlog cut by schedule: schedules with an ID above Cursor are unsettled in [From, To) (PROTOCOL A4).
type Arrears struct {
	Shard    int
	From, To time.Time
	OpenedAt time.Time
	Cursor   schedule.ID
	Done     bool
}

// Held names a run that a worker holds: the pair that every write about it is conditional on.
type Held struct {
	Run   run.ID
	Fence uint64
}

// Take asks for work.
type Take struct {
	Node  run.NodeID
	Pools []PoolRoom
	Ahead time.Duration // runs ready within this of now may be taken before their instant; at most one second
	Kinds []string      // targets this node can run ("command", "job:name"); empty: all (capabilities come with several kinds of node)
}

// PoolRoom is how many more runs a pool may hold on this node.
type PoolRoom struct {
	Pool string
	Free int
}

// Taken is the answer to a Take.
type Taken struct {
	Runs []run.Run // each claimed by this node under its Fence, deliveries counted, owner of its lock; oldest ready first
	// Next is when something else may become takeable: the earliest ReadyAt beyond the reach, or of a run that was
	// passed over because its lock is held and its instant has not come. Zero: nothing known.
	Next    time.Time
	Skipped []run.ID // ended skipped_overlap in this transaction
}

// Queue hands out work and takes back its outcomes.
type Queue interface {
	// Take claims the oldest ready runs of the pools (of equals the lowest ID), within their room. A run with a lock key
	// is taken only if no other run owns the key; if one does and the run is of kind scheduled and ready now, overlap
	// skip ends it skipped_overlap (PROTOCOL B7), and before its instant it is left alone. ErrLost when the node's lease
	// was taken, or it has none.
	Take(ctx context.Context, t Take) (Taken, error)
	// Start moves claimed runs to running: from then on their code may execute and an edit can no longer un-plan them.
	// StartedAt is written as given. It returns those that are no longer this node's, which must not start; one that
	// runs already under this fence is not among them.
	Start(ctx context.Context, started []Started) ([]Held, error)
	// Settle writes outcomes under their fences. A refused outcome changes nothing; an outcome that is already
	// recorded under the same fence is a success (PROTOCOL B2). A run's lock is freed when its status is final.
	Settle(ctx context.Context, node run.NodeID, outcomes []Outcome) ([]Refused, error)
	// Release gives back claimed runs that did not start: pending again, the delivery not counted, the lock freed if
	// this claim was the first to own it.
	Release(ctx context.Context, held []Held) error
	// Output appends to a running run's output. A chunk that is there already was sent again and is left as it is, here
	// and in Settle. ErrLost when the run is no longer held under the fence.
	Output(ctx context.Context, h Held, chunks []Chunk) error
	// Lost tells which of the held runs are no longer this node's (revoked, cancelled, recovered).
	Lost(ctx context.Context, held []Held) ([]Held, error)
	// Recover takes the lease of a silent node: only if its row still shows seenAt, and it is silent as Nodes.Silent
	// has it. The node is marked lost, and up to limit of its runs get a new fence and go back to pending
	// (deliveries left), to dead_letter (none left), or by on_lost fail count the attempt and are retried or failed
	// with code LOST_WORKER (running ones; claimed ones go back to pending, however often). A run that does not end keeps
	// its lock. Attempts and history say what happened. Call it again until it answers fewer than limit; where the
	// conditions do not hold it does nothing and answers none.
	Recover(ctx context.Context, node run.NodeID, seenAt time.Time, limit int) ([]Recovered, error)
}

// Started is one run whose code is about to start.
type Started struct {
	Held
	At time.Time
}

// Outcome is how one execution ended.
type Outcome struct {
	Held
	Status                run.Status // Succeeded, Failed, RetryScheduled, Cancelled, DeadLetter
	Reason                string
	ReadyAt               time.Time // for RetryScheduled
	Answered              bool      // the execution gave an answer and counts as an attempt
	StartedAt, FinishedAt time.Time
	ErrorCode, Error      string
	ExitCode              *int
	Output                []Chunk // what was not yet appended by Output
	OutputBytes           int64   // all of it, kept or dropped
	Truncated             bool
}

// Refused is an outcome that came too late.
type Refused struct {
	Held
	Status run.Status // what the run is now; zero when it is gone
}

// Chunk is a piece of a run's output, in order of Seq within an attempt's delivery.
type Chunk struct {
	Delivery int // the run's Deliveries when it was taken
	Seq      int
	Stream   Stream
	Data     []byte
}

// Stream tells output from error output.
type Stream uint8

// The streams.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

// Recovered is one run whose lease was taken.
type Recovered struct {
	Run    run.ID
	Status run.Status // what it became
	Was    run.Status // Claimed or Running
}

// CountLimit is the least count at which a Counter may stop.
const CountLimit = 1_000_000

// Counter counts the occurrences of a stored definition in [from, to), with the first and the last of them. It is a
// pure function that the wiring hands to a store, so that a gap is counted in the transaction that closes it. A count
// of CountLimit or more may be all or not: the store goes on just after the last one, so that what it keeps is exact.
type Counter func(id schedule.ID, spec []byte, from, to time.Time) (n int, first, last time.Time)

// Definitions keeps schedules and their revisions.
type Definitions interface {
	// Apply makes the live schedules of one origin, in every tenant, equal to items, in one transaction: creates, edits,
	// revives and removes. An equal definition writes nothing; Spec.Paused counts only when a schedule comes to life
	// (D20), and labels and annotations alone make no revision. Every change un-plans (PROTOCOL A2): in the same
	// transaction the old span ends and the new one begins at one instant of the store's clock, later than every
	// earlier one; a definition that changed more than FarAhead after the clock is first pulled back to it as by Correct.
	// Runs of kind scheduled that are pending or claimed and due at or after the instant are deleted; the schedule is
	// marked dirty and pinned at the earlier of its pin and that instant. A removal also cancels its runs that were
	// due before and wait for a worker (pending, held, retry_scheduled). Names taken by another origin, or named twice,
	// give ErrExists, and nothing is applied.
	Apply(ctx context.Context, a Apply) (Applied, error)
	// Pause ends the current span and opens a gap "paused" from the store's now on, un-planning what follows it.
	// Pausing a paused schedule changes nothing; nor does resuming one that is not. ErrNotFound, also for removed ones.
	//
	// A gap "paused" that is closed or cut, by whatever call, never spans an occurrence that has a run of kind scheduled,
	// in whatever status: one that was running when the pause came. It becomes one gap for each stretch between them, with
	// its own first, last and count, the first one under its ID, and none for a stretch in which nothing was due.
	Pause(ctx context.Context, id schedule.ID, p schedule.Pause) (Change, error)
	// Resume begins a new span of the same revision and closes the gap with its count, as Pause says; one without
	// occurrences is removed. With catchUp the gap is removed, the span goes on from where the gap began, and the schedule is pinned
	// there (PROTOCOL B10).
	Resume(ctx context.Context, id schedule.ID, by string, catchUp bool) (Change, error)
	// Snapshot lists every schedule a planner must know: the live ones, and those removed but still dirty, pinned or in
	// arrears. Spans that lie wholly before everything unsettled are left out, and so are empty ones.
	Snapshot(ctx context.Context, shard int) iter.Seq2[schedule.Row, error]
	// Dirty lists the rows whose dirty mark is set, in the same form.
	Dirty(ctx context.Context, shard int) iter.Seq2[schedule.Row, error]
}

// Apply is a whole declared set.
type Apply struct {
	Origin schedule.Origin
	Items  []schedule.Schedule // Tenant, Name, Labels, Annotations and a completed Spec are read
	By     string
	Why    string
	// Keep leaves schedules of the origin that Items does not name as they are.
	Keep bool
}

// Applied tells what Apply did.
type Applied struct {
	Created, Updated, Removed []schedule.ID
	Unchanged                 int
	Change
}

// Change tells what a change of definition did to runs that were planned ahead.
type Change struct {
	At         time.Time // the instant it takes effect
	Unplanned  int       // runs deleted before their start
	Cancelled  []run.ID  // already due, of a removed schedule
	NotRevoked []run.ID  // running already although due at or after At
}

// Page bounds a listing: at most Limit rows (0: 50, at most 1000) after the row that After names.
type Page struct {
	Limit int
	After string
}

// ScheduleQuery selects live schedules of one tenant, ordered by name. A spec that cannot be read is shown as zero.
type ScheduleQuery struct {
	Tenant string // exact; "" is no tenant, not every tenant
	Name   string // exact; "": all
	Origin schedule.Origin
	Page
}

// RunQuery selects runs, newest due first. Zero fields do not restrict.
type RunQuery struct {
	Tenant   string
	Schedule schedule.ID
	Statuses []run.Status
	Kind     run.Kind
	From, To time.Time // of due, half-open
	Page
}

// GapQuery selects gaps, newest first instant first. Zero fields do not restrict.
type GapQuery struct {
	Tenant   string
	Schedule schedule.ID
	Reason   run.Reason
	From, To time.Time // gaps that touch [From, To)
	Page
}

// Reader answers questions. It never writes.
type Reader interface {
	Schedules(ctx context.Context, q ScheduleQuery) (items []schedule.Schedule, next string, err error)
	// Revision returns the spec that a revision had. ErrNotFound.
	Revision(ctx context.Context, id schedule.ID, revision uint64) ([]byte, error)
	Runs(ctx context.Context, q RunQuery) (items []run.Run, next string, err error)
	Run(ctx context.Context, id run.ID) (run.Run, error) // ErrNotFound
	// LastRuns gives, for each schedule that has one, the run with the newest due instant that has come by the store's
	// clock: what is only planned ahead is no last run.
	LastRuns(ctx context.Context, ids []schedule.ID) (map[schedule.ID]run.Run, error)
	Attempts(ctx context.Context, id run.ID) ([]run.Attempt, error)
	History(ctx context.Context, id run.ID) ([]run.Event, error)
	// Gaps lists gaps; an open gap is counted up to the store's now, without the occurrences that have a run of kind
	// scheduled: its first and last instant are those of the others.
	Gaps(ctx context.Context, q GapQuery) (items []run.Gap, next string, err error)
	// ReadOutput writes the output of one delivery (0: the last) from chunk sequence from on, and returns the sequence
	// to go on from.
	ReadOutput(ctx context.Context, id run.ID, delivery, from int, w io.Writer) (int, error)
	// Unsettled tells up to where a schedule is settled: min(watermark, pin, arrears); zero before there is a claim.
	// ErrNotFound.
	Unsettled(ctx context.Context, id schedule.ID) (time.Time, error)
	// Planner tells who leads a shard.
	Planner(ctx context.Context, shard int) (timeline.Claim, bool, error)
}

// Node is one living process.
type Node struct {
	ID           run.NodeID
	Host         string
	PID          int
	Version      string
	ZoneRelease  string
	Roles, Pools []string
	StartedAt    time.Time
	SeenAt       time.Time
	LeaseUntil   time.Time
	LostAt       time.Time // zero: not lost
}

// Nodes keeps the heartbeat rows that run leases hang on (PROTOCOL B5).
type Nodes interface {
	// Beat inserts or renews the node's row: seen now, lease until now plus lease. ErrLost when the lease was taken;
	// the node must then stop everything it runs and go on under a new ID.
	Beat(ctx context.Context, n Node, lease time.Duration) error
	// Leave removes a node that holds nothing any more. One that does stays, to be recovered: ErrStale.
	Leave(ctx context.Context, id run.NodeID) error
	// Living lists nodes whose lease has not run out. Silent lists those whose lease has run out by the store's clock, or
	// that were seen later than it is now: then the clock was set back, a living node's next heartbeat says so, and the
	// lease of a dead one would last for as long as the clock was wrong. Nodes that are marked lost are listed while they
	// still have runs.
	Living(ctx context.Context) ([]Node, error)
	Silent(ctx context.Context) ([]Node, error)
}

// Waker tells that something may have changed: new runs, definitions or claims, by this process or another. Hints
// may be lost, merged or false. The channel is closed when ctx ends.
type Waker interface {
	Wake(ctx context.Context) <-chan struct{}
}
