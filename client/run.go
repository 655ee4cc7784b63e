package client

// Run is one row of the ledger. A null instant has not come.
type Run struct {
	ID               string   `json:"id"`
	Key              string   `json:"key"` // the same on every delivery
	Kind             string   `json:"kind"`
	Tenant           string   `json:"tenant"` // "": none
	Schedule         string   `json:"schedule"`
	ScheduleID       string   `json:"schedule_id"`
	ScheduleRevision uint64   `json:"schedule_revision"`
	Status           string   `json:"status"`
	Reason           string   `json:"reason"`
	Short            string   `json:"short"` // ran | failed | running | waiting_to_run | not_run
	Due              Time     `json:"due"`
	ReadyAt          *Time    `json:"ready_at"`
	CreatedAt        *Time    `json:"created_at"`
	ClaimedAt        *Time    `json:"claimed_at"`
	StartedAt        *Time    `json:"started_at"`
	FinishedAt       *Time    `json:"finished_at"`
	LatenessMS       *float64 `json:"lateness_ms"` // started_at - max(due, ready_at)
	Misfire          *Misfire `json:"misfire"`     // null: it was on time
	Attempt          int      `json:"attempt"`     // the one in hand, or the last that gave an answer; 0 before the first
	MaxAttempts      int      `json:"max_attempts"`
	Deliveries       int      `json:"deliveries"`
	Pool             string   `json:"pool"`
	Priority         int      `json:"priority"`
	LockKey          string   `json:"lock_key"`
	Node             string   `json:"node"` // "": none has it
	Fence            uint64   `json:"fence"`
	Target           Target   `json:"target"`
	ExitCode         *int     `json:"exit_code"`
	HTTPStatus       *int     `json:"http_status"`
	Error            *Failure `json:"error"`
	Output           Output   `json:"output"`
	HeldBehind       *string  `json:"held_behind"`
}

// Final reports whether the run has ended: such a status never changes. A status that this version does not know is
// taken as not final.
func (r Run) Final() bool {
	switch r.Status {
	case "succeeded", "failed", "skipped_overlap", "expired", "cancelled", "dead_letter":
		return true
	}
	return false
}

// Misfire tells how a late occurrence came to run.
type Misfire struct {
	Policy     string `json:"policy"`
	Superseded int    `json:"superseded"`
	GapID      string `json:"gap_id"`
}

// Target names what a run does.
type Target struct {
	Kind string `json:"kind"`
}

// Failure says why a run did not succeed.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
}

// Output tells how much a run wrote, kept or dropped.
type Output struct {
	Bytes     int64 `json:"bytes"`
	Truncated bool  `json:"truncated"`
}

// Attempt is one execution that gave an answer, or one delivery that was lost.
type Attempt struct {
	N          int      `json:"n"` // the delivery, from 1
	Node       string   `json:"node"`
	Fence      uint64   `json:"fence"`
	StartedAt  *Time    `json:"started_at"`
	FinishedAt *Time    `json:"finished_at"`
	Outcome    string   `json:"outcome"` // succeeded | failed | lost
	ExitCode   *int     `json:"exit_code"`
	Error      *Failure `json:"error"`
	Output     Output   `json:"output"`
}

// Event is one transition of a run off the plain path.
type Event struct {
	At   Time   `json:"at"`
	From string `json:"from"`
	To   string `json:"to"`
	Node string `json:"node"`
	Note string `json:"note"`
}

// Attempts is what is recorded about a run's deliveries.
type Attempts struct {
	Items   []Attempt `json:"items"`
	History []Event   `json:"history"`
}

// Gap accounts for occurrences that made no run: Count of them, from First to Last, both included. While it is open,
// Last and Count are as of now.
type Gap struct {
	ID         string `json:"id"`
	Tenant     string `json:"tenant"` // "": none
	Schedule   string `json:"schedule"`
	ScheduleID string `json:"schedule_id"`
	Reason     string `json:"reason"`
	First      Time   `json:"first"`
	Last       Time   `json:"last"`
	Count      int    `json:"count"`
	Open       bool   `json:"open"`
	RunID      string `json:"run_id"` // the run they collapsed into; "" for none
	Policy     string `json:"policy"`
	CreatedAt  Time   `json:"created_at"`
}

// Explanation is the stored answer to "what became of this instant".
type Explanation struct {
	Schedule   string `json:"schedule"`
	ScheduleID string `json:"schedule_id"`
	At         Time   `json:"at"`
	// Answer is run, gap, paused, pending (due, and not settled yet), future, not_due or unknown.
	Answer   string  `json:"answer"`
	Due      bool    `json:"due"`
	Revision uint64  `json:"revision"` // under which the question was answered; 0: none was in force
	Sentence string  `json:"sentence"`
	Run      *Run    `json:"run"`
	Gap      *Gap    `json:"gap"`
	Before   *string `json:"before"` // the occurrences around the instant, with the zone's offset
	After    *string `json:"after"`
	// CoveredUntil is up to where the schedule is settled.
	CoveredUntil *Time `json:"covered_until"`
}
