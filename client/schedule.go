package client

import (
	"encoding/json"
	"time"
)

// List is one page of a listing. NextPageToken is "" on the last one.
type List[T any] struct {
	Items         []T    `json:"items"`
	NextPageToken string `json:"next_page_token"`
}

// Schedule is one schedule: what names it, what its owner wrote, and how it stands.
type Schedule struct {
	Metadata Metadata        `json:"metadata"`
	Spec     json.RawMessage `json:"spec"` // a manifest's spec with every default filled in; null when it cannot be read
	Status   ScheduleStatus  `json:"status"`
}

// Metadata names a schedule and says who changed it last.
type Metadata struct {
	Name        string            `json:"name"`
	Tenant      string            `json:"tenant,omitempty"` // absent: none
	ID          string            `json:"id"`
	Origin      string            `json:"origin"` // file | api | code | system
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Revision    uint64            `json:"revision"`
	CreatedAt   Time              `json:"created_at"`
	CreatedBy   string            `json:"created_by"`
	UpdatedAt   Time              `json:"updated_at"`
	UpdatedBy   string            `json:"updated_by"`
}

// ScheduleStatus is what the server knows about a schedule. NextDue is computed at each asking.
type ScheduleStatus struct {
	State        string    `json:"state"` // active | paused | quarantined | undeclared | finished | pending_approval
	Reason       string    `json:"reason"`
	Description  string    `json:"description"`
	NextDue      *Time     `json:"next_due"`
	LastRun      *LastRun  `json:"last_run"`
	CoveredUntil *Time     `json:"covered_until"` // every occurrence before it is a run or a gap
	Paused       *Pause    `json:"paused"`
	Warnings     []Warning `json:"warnings"`
}

// LastRun is the run with the newest due instant.
type LastRun struct {
	ID     string `json:"id"`
	Due    Time   `json:"due"`
	Status string `json:"status"`
	Short  string `json:"short"`
}

// Pause says since when, by whom and why a schedule is paused.
type Pause struct {
	At     Time   `json:"at"`
	By     string `json:"by"`
	Reason string `json:"reason"`
	Until  *Time  `json:"until"`
}

// Warning is something that may not be what its author meant; it is never a reason to refuse.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// Next is one line of "what is due next".
type Next struct {
	Schedule   string `json:"schedule"`
	ScheduleID string `json:"schedule_id"`
	NextDue    *Time  `json:"next_due"`
	LastDue    *Time  `json:"last_due"` // of the last run; null: none yet
	Target     string `json:"target"`   // the kind of target
	State      string `json:"state"`
}

// Due lists the coming occurrences of one schedule, printed with the offset of its zone.
type Due struct {
	Schedule    string   `json:"schedule"`
	ScheduleID  string   `json:"schedule_id"`
	TimeZone    string   `json:"time_zone"`
	Description string   `json:"description"`
	State       string   `json:"state"`
	Occurrences []string `json:"occurrences"`
	Truncated   bool     `json:"truncated"`
}

// Time is an instant that is written as RFC 3339 in UTC with the digits that are needed, six at most.
type Time struct{ time.Time }

// NewTime returns a Time, and nil for the zero time.
func NewTime(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t}
}

// String prints the instant as it is written.
func (t Time) String() string {
	return t.UTC().Truncate(time.Microsecond).Format("2006-01-02T15:04:05.999999Z")
}

// MarshalJSON writes the instant in quotes, and null for the zero time.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(t.String())
}

// UnmarshalJSON reads RFC 3339 text or null.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		t.Time = time.Time{}
		return nil
	}
	return json.Unmarshal(b, &t.Time)
}
