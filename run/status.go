package run

// Kind says why a run exists.
type Kind uint8

// The kinds. Their numbers are stored and never change meaning. Only Scheduled settles an occurrence.
const (
	Scheduled Kind = iota + 1
	Manual
	Backfill
	Delayed
	Reminder
	Rule
)

var kindNames = [...]string{"", "scheduled", "manual", "backfill", "delayed", "reminder", "rule"}

// String returns the kind's word.
func (k Kind) String() string { return word(kindNames[:], int(k)) }

// ParseKind finds the kind of a word; ok is false for an unknown one.
func ParseKind(s string) (Kind, bool) { n, ok := find(kindNames[:], s); return Kind(n), ok }

// Kinds lists every kind, for filters and messages. The caller may not change it.
func Kinds() []string { return kindNames[1:] }

// Status is where a run stands.
type Status uint8

// The statuses. Their numbers are stored and never change meaning.
const (
	Pending        Status = iota + 1 // claimable from its ReadyAt
	Held                             // waits behind an overlap lock
	Claimed                          // a worker has it and waits for its instant, or is about to start it
	Running                          // its code has been allowed to start
	Waiting                          // the target accepted it and completes it later
	RetryScheduled                   // claimable again from its ReadyAt
	Succeeded
	Failed
	SkippedOverlap // another run held its lock key
	Expired        // its start deadline passed
	Cancelled
	DeadLetter // deliveries exhausted, or nobody offers what it needs
)

var statusNames = [...]string{"", "pending", "held", "claimed", "running", "waiting", "retry_scheduled", "succeeded",
	"failed", "skipped_overlap", "expired", "cancelled", "dead_letter"}

// String returns the status's word.
func (s Status) String() string { return word(statusNames[:], int(s)) }

// ParseStatus finds the status of a word; ok is false for an unknown one.
func ParseStatus(s string) (Status, bool) { n, ok := find(statusNames[:], s); return Status(n), ok }

// Statuses lists every status, for filters and messages. The caller may not change it.
func Statuses() []string { return statusNames[1:] }

// Final reports whether the run has ended: a final status never changes.
func (s Status) Final() bool { return s >= Succeeded }

// Live reports whether the run may still execute or is executing.
func (s Status) Live() bool { return s >= Pending && s < Succeeded }

// Claimable reports whether a worker may take the run once its ReadyAt has come.
func (s Status) Claimable() bool { return s == Pending || s == RetryScheduled }

// transitions is the whole life of a run, read row by row. What is not here cannot happen, and storetest holds every
// store to it.
var transitions = map[Status][]Status{
	Pending: {Claimed, Held, SkippedOverlap, Expired, Cancelled, DeadLetter},
	Held:    {Pending, SkippedOverlap, Expired, Cancelled, DeadLetter},
	// back to pending: released before its start, or its lease was taken; running is skipped when a short run settles
	// before anybody wrote that it started
	Claimed:        {Pending, Running, Succeeded, Failed, RetryScheduled, Expired, Cancelled, DeadLetter},
	Running:        {Pending, Waiting, Succeeded, Failed, RetryScheduled, Cancelled, DeadLetter},
	Waiting:        {Succeeded, Failed, RetryScheduled, Cancelled, DeadLetter},
	RetryScheduled: {Claimed, Held, Expired, Cancelled, DeadLetter},
}

// CanBecome reports whether a run may go from s to t.
func (s Status) CanBecome(t Status) bool {
	for _, next := range transitions[s] {
		if next == t {
			return true
		}
	}
	return false
}

// Short is the word for people who want one of five: ran, failed, running, waiting_to_run, not_run.
func (s Status) Short() string {
	switch s {
	case Succeeded:
		return "ran"
	case Failed, DeadLetter:
		return "failed"
	case Running, Waiting:
		return "running"
	case SkippedOverlap, Expired, Cancelled:
		return "not_run"
	default:
		return "waiting_to_run"
	}
}

// Reason says why occurrences made no run. The list is closed (PROTOCOL C5).
type Reason uint8

// The reasons. Their numbers are stored and never change meaning.
const (
	Missed          Reason = iota + 1 // late under misfire skip
	Superseded                        // late, and collapsed into a newer occurrence
	TooOld                            // older than max_catchup_age
	Limit                             // beyond misfire_limit under keep newest
	Paused                            // the schedule was paused
	Quarantined                       // its definition could not be evaluated, and was then replaced
	Undeclared                        // code no longer declares it
	Removed                           // the schedule was deleted before they could be planned
	NoTenants                         // a per-tenant schedule with nobody to run for
	TenantSuspended                   // their tenant was suspended
	Unapproved                        // the definition waited for approval
	SingleFlight                      // another schedule of its single_flight_key ran in the same instant
	Restored                          // skipped by a restore
)

var reasonNames = [...]string{"", "missed", "superseded", "too_old", "limit", "paused", "quarantined", "undeclared",
	"removed", "no_tenants", "tenant_suspended", "unapproved", "single_flight", "restored"}

// String returns the reason's word.
func (r Reason) String() string { return word(reasonNames[:], int(r)) }

// ParseReason finds the reason of a word; ok is false for an unknown one.
func ParseReason(s string) (Reason, bool) { n, ok := find(reasonNames[:], s); return Reason(n), ok }

// Reasons lists every reason, for filters and messages. The caller may not change it.
func Reasons() []string { return reasonNames[1:] }

func word(names []string, n int) string {
	if n <= 0 || n >= len(names) {
		return "unknown"
	}
	return names[n]
}

func find(names []string, s string) (int, bool) {
	for i, name := range names {
		if i > 0 && name == s {
			return i, true
		}
	}
	return 0, false
}
