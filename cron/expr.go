package cron

import (
	"fmt"
	"slices"
)

// Gap says what becomes of a local time that the clocks skip. The zero value is
// GapShift. It reads and writes the words of a manifest's dst_gap.
type Gap uint8

const (
	// GapShift runs a skipped time late by the length of the gap.
	GapShift Gap = iota
	// GapSkip drops it: no occurrence exists for that day's skipped time.
	GapSkip
)

// Repeat says at which reading of a repeated local time an expression is due. The
// zero value is RepeatAuto. It reads and writes the words of a manifest's dst_repeat.
type Repeat uint8

const (
	// RepeatAuto is RepeatBoth for an expression with a star or a step in its
	// minute or hour field, and RepeatFirst for any other.
	RepeatAuto Repeat = iota
	// RepeatFirst is due at the first reading only.
	RepeatFirst
	// RepeatLast is due at the last reading only.
	RepeatLast
	// RepeatBoth is due at every reading.
	RepeatBoth
)

var (
	gapWords    = [...]string{GapShift: "shift", GapSkip: "skip"}
	repeatWords = [...]string{RepeatAuto: "auto", RepeatFirst: "first", RepeatLast: "last", RepeatBoth: "both"}
)

// String gives the word of a manifest: "shift" or "skip".
func (g Gap) String() string { return word(gapWords[:], uint8(g), "Gap") }

// MarshalText gives the word of a manifest. It fails for a value that has none.
func (g Gap) MarshalText() ([]byte, error) { return marshalWord(gapWords[:], uint8(g), "dst_gap") }

// UnmarshalText reads the word of a manifest; an empty text is the default. Any
// other text is an error that lists the words.
func (g *Gap) UnmarshalText(text []byte) error {
	n, err := unmarshalWord(gapWords[:], text, "dst_gap")
	if err == nil {
		*g = Gap(n)
	}
	return err
}

// String gives the word of a manifest: "auto", "first", "last" or "both".
func (r Repeat) String() string { return word(repeatWords[:], uint8(r), "Repeat") }

// MarshalText gives the word of a manifest. It fails for a value that has none.
func (r Repeat) MarshalText() ([]byte, error) {
	return marshalWord(repeatWords[:], uint8(r), "dst_repeat")
}

// UnmarshalText reads the word of a manifest; an empty text is the default. Any
// other text is an error that lists the words.
func (r *Repeat) UnmarshalText(text []byte) error {
	n, err := unmarshalWord(repeatWords[:], text, "dst_repeat")
	if err == nil {
		*r = Repeat(n)
	}
	return err
}

// Options say how an expression is read and what it does where clocks change. The
// zero value is the default of every door.
type Options struct {
	// Seconds makes six fields due, the seconds in front. Without it six fields
	// are refused.
	Seconds bool
	// Gap decides about local times that the clocks skip.
	Gap Gap
	// Repeat decides about local times that come twice.
	Repeat Repeat
}

// validate names the option that has no meaning.
func (o Options) validate() error {
	if int(o.Gap) >= len(gapWords) {
		return noSuchWord(gapWords[:], o.Gap.String(), "dst_gap")
	}
	if int(o.Repeat) >= len(repeatWords) {
		return noSuchWord(repeatWords[:], o.Repeat.String(), "dst_repeat")
	}
	return nil
}

// Expr is a cron expression that has been read. It is immutable and may be used
// concurrently. The zero value has no occurrences; Parse makes all others.
//
// The masks hold a bit for each value: bit 0 of min is minute 0, bit 1 of dom is
// the first of the month. What the sets of days mean together is in days.
type Expr struct {
	text string // canonical; Describe reads the syntax tree from it again

	sec, min uint64
	hour     uint32
	dom      uint32   // days of the month
	last     uint32   // bit n: n days before the last day
	nearest  uint32   // bit n: the weekday nearest the n-th
	months   uint16   // bits 1 to 12
	dow      uint8    // bits 0 (Sunday) to 6
	dowLast  uint8    // the last such day of the month
	nth      [5]uint8 // the first to fifth such day of the month

	lastWeekday bool // LW
	either      bool // both day fields are restricted
	weekly      bool // the weekday alone decides: the fast path of nextDay
	special     bool // any of last, nearest, lastWeekday, dowLast, nth is set
	wild        bool // a star or a step in the minute or the hour field

	options  Options
	readings Repeat // options.Repeat with RepeatAuto resolved
}

// Parse reads an expression. It fails with an *Error that is ErrSyntax where the
// text breaks a rule of the dialect, and ErrNever where no date of the Gregorian
// calendar can satisfy it; options without a meaning are ErrSyntax too. The text is not kept unless it is canonical already.
func Parse(text string, o Options) (*Expr, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	var p parser
	if err := p.parse(text, o.Seconds); err != nil {
		return nil, err
	}
	e := &Expr{options: o}
	e.compile(&p)
	if !e.possible() {
		return nil, p.never()
	}
	e.text = p.canonical(text)
	return e, nil
}

// String gives the canonical text: one space between fields, numbers for names, the
// elements of a list in order and once each, macros written out. Reading it again
// with the same Options gives the same occurrences and the same text.
func (e *Expr) String() string { return e.text }

// Options gives back what the expression was read with.
func (e *Expr) Options() Options { return e.options }

// Seconds tells whether the six-field form is used, with a seconds field in front.
func (e *Expr) Seconds() bool { return e.options.Seconds }

func word(words []string, n uint8, kind string) string {
	if int(n) < len(words) {
		return words[n]
	}
	return fmt.Sprintf("%s(%d)", kind, n)
}

func marshalWord(words []string, n uint8, key string) ([]byte, error) {
	if int(n) < len(words) {
		return []byte(words[n]), nil
	}
	return nil, noSuchWord(words, itoa(int(n)), key)
}

func unmarshalWord(words []string, text []byte, key string) (uint8, error) {
	if len(text) == 0 {
		return 0, nil
	}
	if n := slices.Index(words, string(text)); n >= 0 {
		return uint8(n), nil
	}
	return 0, noSuchWord(words, string(text), key)
}

func noSuchWord(words []string, text, key string) error {
	hint := allowed(words)
	if best := closest(words, text); best != "" {
		hint = "did you mean " + best + "?"
	}
	return &Error{Expr: clip(text), Field: key, Text: clip(text), Reason: "no such setting", Hint: hint}
}
