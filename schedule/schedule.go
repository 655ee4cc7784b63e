// Package schedule holds the noun at the centre of Belfry: a schedule is a trigger, a target and policies, owned by a
// tenant or by none. The package is pure: it validates, fills defaults and builds triggers, and never reads a clock.
package schedule

import (
	"time"

	"github.com/google/uuid"

	"github.com/belfryhq/belfry/internal/ident"
)

// ID names a schedule for ever: an ID never comes to mean another schedule (PROTOCOL A10).
type ID ident.ID

// String prints "sch_" and 26 characters.
func (i ID) String() string { return ident.Encode("sch_", ident.ID(i)) }

// ParseID reads what String printed.
func ParseID(text string) (ID, error) {
	id, err := ident.Decode("sch_", text)
	return ID(id), err
}

// MarshalText prints as String does.
func (i ID) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads as ParseID does.
func (i *ID) UnmarshalText(b []byte) (err error) {
	*i, err = ParseID(string(b))
	return err
}

// Origin says who owns a schedule's definition.
type Origin uint8

// The origins. Their numbers are stored and never change meaning.
const (
	OriginAPI    Origin = iota + 1 // made at run time, owned by its users
	OriginFile                     // a file named on the server's own command line
	OriginCode                     // declared by a program that embeds Belfry
	OriginSystem                   // Belfry's own
)

var originNames = map[Origin]string{OriginAPI: "api", OriginFile: "file", OriginCode: "code", OriginSystem: "system"}

// String returns the origin's word.
func (o Origin) String() string { return originNames[o] }

// namespace is the UUIDv5 name space of declared schedules. It is part of the identity of every declared schedule and
// never changes.
var namespace = uuid.MustParse("6f0c0a34-9f5e-5b0a-9b1d-6a1f6f9a2c55")

// DeclaredID is the identity of a schedule declared in a file or in code: the same declaration has the same ID on
// every node and in a new database.
func DeclaredID(o Origin, tenant, name string) ID {
	return ID(uuid.NewSHA1(namespace, []byte(o.String()+"\x00"+tenant+"\x00"+name)))
}

// Schedule is one schedule as it stands: its current revision and what the store knows about it.
type Schedule struct {
	ID          ID
	Tenant      string // "" is no tenant
	Name        string
	Origin      Origin
	Revision    uint64 // 1 for the first
	Labels      map[string]string
	Annotations map[string]string
	Spec        Spec
	ValidFrom   time.Time // when the current revision took effect
	Pause       *Pause    // nil: not paused
	Quarantine  string    // why it is not planned; "" when it is
	Pin         time.Time // where its coverage stands behind its shard's watermark; zero: rides the watermark
	CreatedAt   time.Time
	CreatedBy   string
	UpdatedAt   time.Time
	UpdatedBy   string
	DeletedAt   time.Time // zero: live
}

// Pause says since when, by whom and why a schedule is paused.
type Pause struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Reason string    `json:"reason,omitempty"`
	Until  time.Time `json:"until,omitzero"` // zero: until somebody resumes it
}

// Span is a stretch of time in which one revision was in force: [From, To). A zero To is open. A pause ends a span and
// a resume begins another of the same revision, so a planner that walks the spans owes a paused stretch nothing.
type Span struct {
	Revision uint64
	From, To time.Time
	Spec     []byte // the canonical JSON of Spec, as stored; it may be unreadable if somebody edited the row by hand
}

// Row is what a planner reads of a schedule: cheap to read, and compared by Change alone.
type Row struct {
	ID         ID
	Tenant     string
	Change     uint64    // counts every change of the row that a planner must know: edit, pause, resume, delete
	Spans      []Span    // ascending; every span that may still owe an occurrence
	Pin        time.Time // coverage stands here; zero: rides the watermark
	OpenedAt   time.Time // when the backlog behind Pin was found: lateness and age are judged at this instant; zero: now
	Dirty      bool      // changed since a commit last covered it
	Quarantine string    // why it is passed over; "" when it is planned
	Deleted    bool
}
