package control

import (
	"errors"
	"fmt"

	"github.com/belfryhq/belfry/store"
)

// What can go wrong with a verb, for doors: they see no store. Find them with errors.Is.
var (
	ErrNotFound = store.ErrNotFound // there is no such thing, or it belongs to another tenant
	ErrExists   = store.ErrExists   // the name belongs to a schedule of another origin
	ErrBusy     = store.ErrBusy     // the database is busy; trying again helps
	// ErrRefused is what the server's own settings forbid.
	ErrRefused = errors.New("refused by this server's settings")
	// ErrPageToken answers a page token that was not given out for this listing and these filters.
	ErrPageToken = errors.New("the page token belongs to another listing or to other filters")
)

// Missing says what was not found; it is ErrNotFound.
type Missing struct {
	What string // "schedule"
	Name string
	Hint string // `did you mean "x"?`, or ""
}

// Error names what is missing.
func (m *Missing) Error() string {
	text := fmt.Sprintf("there is no %s %q", m.What, m.Name)
	if m.Hint != "" {
		text += "; " + m.Hint
	}
	return text
}

// Unwrap gives ErrNotFound.
func (m *Missing) Unwrap() error { return ErrNotFound }
