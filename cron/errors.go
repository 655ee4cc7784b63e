package cron

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrSyntax is what errors.Is finds in an *Error about a text that breaks a rule of
// the dialect.
var ErrSyntax = errors.New("not a cron expression of this dialect")

// ErrNever is what errors.Is finds in an *Error about an expression that parses but
// that no date of the Gregorian calendar can satisfy.
var ErrNever = errors.New("no date can ever match")

// maxQuoted is how many bytes of a text an Error quotes, so that an expression of
// four KiB does not make an error of the same size. More is cut off with an ellipsis.
const maxQuoted = 64

// Error says what is wrong with an expression and where.
type Error struct {
	// Expr is the text that was given, cut to maxQuoted bytes.
	Expr string
	// Field names the field: "minute", "day of month", … or "expression" where
	// the fault lies in no single one.
	Field string
	// Text is the element at fault, cut to maxQuoted bytes.
	Text string
	// Reason says which rule it breaks.
	Reason string
	// Hint, when there is one, says what to write instead.
	Hint string
	// Pos is the byte offset of Text in the expression that was given.
	Pos int

	never bool
}

// Error gives field, text, position, reason and hint in one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "cron: %s %q at byte %d: %s", e.Field, e.Text, e.Pos, e.Reason)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (%s)", e.Hint)
	}
	return b.String()
}

// Unwrap gives ErrNever or ErrSyntax.
func (e *Error) Unwrap() error {
	if e.never {
		return ErrNever
	}
	return ErrSyntax
}

// clip cuts a text to what an Error may quote, at a border between characters.
func clip(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	n := maxQuoted
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

func allowed(words []string) string { return "allowed: " + strings.Join(words, ", ") }
