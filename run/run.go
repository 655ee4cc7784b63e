// Package run holds the ledger's nouns: a run, its statuses and what each may become, its key, and the gap that
// accounts for occurrences which made no run. It is pure: no clock, no I/O.
package run

import (
	"time"

	"github.com/belfryhq/belfry/internal/ident"
	"github.com/belfryhq/belfry/schedule"
)

// ID names a run.
type ID ident.ID

// String prints "run_" and 26 characters.
func (i ID) String() string { return ident.Encode("run_", ident.ID(i)) }

// ParseID reads what ID.String printed.
func ParseID(text string) (ID, error) {
	id, err := ident.Decode("run_", text)
	return ID(id), err
}

// GapID names a gap.
type GapID ident.ID

// String prints "gap_" and 26 characters.
func (i GapID) String() string { return ident.Encode("gap_", ident.ID(i)) }

// NodeID names one life of one process; a restarted process has another.
type NodeID ident.ID

// String prints "nod_" and 26 characters.
func (i NodeID) String() string { return ident.Encode("nod_", ident.ID(i)) }

// Key is the stable name of an occurrence, the same on every delivery: schedule, due instant and, for a fanned-out
// run, tenant.
type Key string

// NewKey prints the key of an occurrence. The due instant is printed in UTC with the digits it needs, six at most.
func NewKey(s schedule.ID, due time.Time, tenant string) Key {
	k := s.String() + ":" + due.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
	if tenant != "" {
		k += "@" + tenant
	}
	return Key(k)
}

// Run is one row of the ledger. Instants are UTC microseconds; a zero time is absent.
type Run struct {
	ID           ID
	Tenant       string
	Schedule     schedule.ID
	ScheduleName string // filled by readers only
	Revision     uint64 // of the schedule it was planned from, and which it executes (PROTOCOL C10)
	Kind         Kind
	Status       Status
	Reason       string // a word that explains the status, such as "lease_lost"
	Due          time.Time
	ReadyAt      time.Time // claimable from; due plus jitter, or the next retry
	Pool         string
	LockKey      string // "": overlap is allowed
	Overlap      schedule.Overlap

	MaxAttempts, Attempt      int // executions that gave an answer
	MaxDeliveries, Deliveries int // leases granted
	OnLost                    schedule.OnLost
	Backoff                   time.Duration
	Node                      NodeID
	Fence                     uint64
	Epoch                     uint64 // of the planner that committed it
	CreatedAt                 time.Time
	ClaimedAt                 time.Time
	StartedAt                 time.Time
	FinishedAt                time.Time
	Misfire                   *Misfire
	ErrorCode, Error          string
	ExitCode                  *int
	OutputBytes               int64
	OutputTruncated           bool
}

// Key is the run's stable key. A run of kind scheduled has its occurrence's; every other run has its own ID.
func (r *Run) Key() Key {
	if r.Kind == Scheduled {
		return NewKey(r.Schedule, r.Due, "")
	}
	return Key(r.ID.String())
}

// Misfire tells how a late occurrence came to run.
type Misfire struct {
	Policy     schedule.Misfire `json:"policy"`
	Superseded int              `json:"superseded"` // late occurrences that collapsed into this run
	Gap        string           `json:"gap_id,omitempty"`
}

// Attempt is one execution of a run that gave an answer, or one delivery that was lost.
type Attempt struct {
	Run                   ID
	N                     int // 1 for the first delivery
	Node                  NodeID
	Fence                 uint64
	StartedAt, FinishedAt time.Time
	Outcome               Status // Succeeded, Failed, or Pending for a delivery that was lost
	ErrorCode, Error      string
	ExitCode              *int
	OutputBytes           int64
	Truncated             bool
}

// Event is one transition off the plain path, for a run's history.
type Event struct {
	Run      ID
	At       time.Time
	From, To Status
	Node     NodeID
	Note     string
}

// Gap accounts for occurrences of one schedule that made no run. First and Last are due instants, both included;
// Count is exact. An open gap (Open) stands for everything due from First on, until it is closed.
type Gap struct {
	ID           GapID
	Tenant       string
	Schedule     schedule.ID
	ScheduleName string // filled by readers only
	Revision     uint64
	Reason       Reason
	Policy       schedule.Misfire // "" where no misfire policy decided
	First, Last  time.Time
	Count        int
	Open         bool
	Run          ID // the run the occurrences collapsed into; zero for none
	Epoch        uint64
	ZoneRelease  string // of the zone data it was computed with
	CreatedAt    time.Time
}
