package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Instant is an instant as manifests and the API write it: RFC 3339 with any offset in; UTC, "Z" and at most six digits
// of a second out. What is finer than a microsecond is rounded up, so that a bound of a half-open window keeps meaning
// the same set of microseconds.
type Instant time.Time

// NewInstant returns t in UTC, rounded up to a whole microsecond.
func NewInstant(t time.Time) Instant {
	whole := t.UTC().Truncate(time.Microsecond)
	if whole.Before(t) {
		whole = whole.Add(time.Microsecond)
	}
	return Instant(whole)
}

// ParseInstant reads RFC 3339 text. The error is meant for the person who wrote it.
func ParseInstant(text string) (Instant, error) {
	if len(text) > maxText {
		return Instant{}, fmt.Errorf("is longer than %d characters; write an instant as 2026-07-01T10:00:00Z", maxText)
	}
	// Go's reader takes a comma for a point and cuts what is finer than a nanosecond; neither may pass here.
	coarse, fine := text, ""
	if at := strings.IndexByte(text, '.'); at >= 0 {
		tail := strings.TrimLeft(text[at+1:], "0123456789")
		fraction := text[at+1 : len(text)-len(tail)]
		if len(fraction) > 6 {
			coarse, fine = text[:at+1]+fraction[:6]+tail, fraction[6:]
		}
	}
	t, err := time.Parse(time.RFC3339, coarse)
	if err != nil || strings.Contains(text, ",") {
		return Instant{}, instantError(text, err)
	}
	if strings.Trim(fine, "0") != "" {
		t = t.Add(time.Microsecond)
	}
	t = t.UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return Instant{}, fmt.Errorf("%q: an instant lies in the years 1 to 9999, UTC", text)
	}
	return Instant(t), nil
}

// instantError says what a text lacks that is nearly an instant.
func instantError(text string, cause error) error {
	var e *time.ParseError
	if errors.As(cause, &e) && strings.HasSuffix(e.Message, "out of range") {
		return fmt.Errorf("%q is not an instant%s", text, e.Message)
	}
	if text == "" {
		return errors.New("is empty; write an instant as 2026-07-01T10:00:00Z")
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return fmt.Errorf("%q is no RFC 3339 instant: it has no offset or lacks a part; write %sZ if it is UTC", text, t.Format("2006-01-02T15:04:05"))
		}
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return fmt.Errorf("%q is a date; write an instant, such as %sT00:00:00Z", text, t.Format(time.DateOnly))
	}
	return fmt.Errorf("%q is not an instant; write it as 2026-07-01T10:00:00Z or 2026-07-01T12:00:00+02:00", text)
}

// FormatInstant prints an instant as every door of Belfry does: RFC 3339 in UTC with the digits that are needed, at most
// six. What is finer is rounded up, as NewInstant does.
func FormatInstant(t time.Time) string {
	return time.Time(NewInstant(t)).Format("2006-01-02T15:04:05.999999Z")
}

// Time returns the instant, in UTC.
func (i Instant) Time() time.Time { return time.Time(i).UTC() }

// Equal reports whether both are the same instant.
func (i Instant) Equal(j Instant) bool { return time.Time(i).Equal(time.Time(j)) }

// String prints as FormatInstant does.
func (i Instant) String() string { return FormatInstant(time.Time(i)) }

// MarshalText prints as FormatInstant does.
func (i Instant) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads as ParseInstant does.
func (i *Instant) UnmarshalText(b []byte) (err error) {
	*i, err = ParseInstant(string(b))
	return err
}
