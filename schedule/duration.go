package schedule

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Duration is a length of time as manifests and the API write it: "90s", "1h30m" or ISO 8601 "PT1H30M" in, Go's form
// without units that are zero out ("1m30s", "24h", "0s").
type Duration time.Duration

// None is set before Complete to say "no limit" (Timeout, MaxCatchupAge), "at once" (KillGrace) or "keep nothing"
// (OutputLimit), where a plain zero would take the default. A completed Spec holds a zero in its place. No text reads
// as None.
const None = math.MinInt64

// maxText bounds the text of a duration, an instant or a size; a longer one is refused unread.
const maxText = 64

// ParseDuration reads a duration in either form. A number needs its unit, except 0. Days and weeks exist in the ISO form
// only (24 hours and 7 days, whatever the clocks do); months and years have no fixed length and are refused. The error
// is meant for the person who wrote the text.
func ParseDuration(text string) (Duration, error) {
	if len(text) > maxText {
		return 0, fmt.Errorf("is longer than %d characters; write a duration as 90s, 1h30m or PT90S", maxText)
	}
	unsigned := strings.TrimLeft(text, "+-")
	if strings.HasPrefix(unsigned, "P") && len(text)-len(unsigned) <= 1 {
		return parseISO(text, unsigned)
	}
	d, err := time.ParseDuration(text)
	if err == nil && d != None {
		return Duration(d), nil
	}
	return 0, durationError(text, unsigned)
}

// durationError says what is wrong with a text that is not a duration, and what to write instead.
func durationError(text, unsigned string) error {
	digits := strings.TrimSpace(strings.TrimLeft(unsigned, "0123456789."))
	switch {
	case text == "":
		return errors.New("is empty; write a duration as 90s, 1h30m or PT90S")
	case digits == "" && unsigned != "" && strings.Trim(unsigned, ".") != "":
		return fmt.Errorf("%q has no unit; write %ss for seconds", text, text)
	case digits == "d" || digits == "day" || digits == "days":
		return fmt.Errorf("%q: a day is no unit here; write it in hours (24h) or as P1D", text)
	case digits == "w" || digits == "week" || digits == "weeks":
		return fmt.Errorf("%q: a week is no unit here; write it in hours (168h) or as P1W", text)
	case len(text)-len(unsigned) <= 1 && wellFormed(unsigned):
		return fmt.Errorf("%q is out of range; the longest duration is 2562047h", text)
	}
	return fmt.Errorf("%q is not a duration; write it as 90s, 1h30m or PT90S", text)
}

// wellFormed reports whether the text has the shape of a Go duration, so that only its size can be wrong.
func wellFormed(unsigned string) bool {
	for rest := unsigned; rest != ""; {
		after := strings.TrimLeft(rest, "0123456789.")
		number := rest[:len(rest)-len(after)]
		rest = strings.TrimLeft(after, "nuµμmsh")
		unit := after[:len(after)-len(rest)]
		switch unit {
		case "ns", "us", "µs", "μs", "ms", "s", "m", "h":
		default:
			return false
		}
		if strings.Count(number, ".") > 1 || strings.Trim(number, ".") == "" {
			return false
		}
	}
	return unsigned != ""
}

// isoUnits in the order ISO 8601 wants them; the time units follow a T. Minutes and months share a letter.
var isoUnits = []struct {
	letter byte
	time   bool
	length time.Duration
}{
	{'W', false, 7 * 24 * time.Hour}, {'D', false, 24 * time.Hour},
	{'H', true, time.Hour}, {'M', true, time.Minute}, {'S', true, time.Second},
}

// parseISO reads the ISO 8601 form by turning each of its parts into Go's, whose arithmetic is exact and checked.
func parseISO(text, unsigned string) (Duration, error) {
	var total time.Duration
	rest, afterT, parts, next := unsigned[1:], false, 0, 0
	for rest != "" {
		if rest[0] == 'T' && !afterT && len(rest) > 1 {
			rest, afterT = rest[1:], true
			continue
		}
		tail := strings.TrimLeft(rest, "0123456789.")
		number := rest[:len(rest)-len(tail)]
		if number == "" || tail == "" {
			return 0, isoError(text)
		}
		unit := tail[0]
		if !afterT && (unit == 'Y' || unit == 'M') {
			return 0, fmt.Errorf("%q: years and months have no fixed length; write days (P30D) or hours", text)
		}
		for next < len(isoUnits) && (isoUnits[next].letter != unit || isoUnits[next].time != afterT) {
			next++
		}
		if next == len(isoUnits) {
			return 0, isoError(text)
		}
		var err error
		if total, err = addPart(total, number, isoUnits[next].length); err != nil {
			return 0, fmt.Errorf("%q %w", text, err)
		}
		rest, parts, next = tail[1:], parts+1, next+1
	}
	if parts == 0 {
		return 0, isoError(text)
	}
	if text[0] == '-' {
		total = -total
	}
	return Duration(total), nil
}

func isoError(text string) error {
	return fmt.Errorf("%q is not an ISO 8601 duration; write it as P1DT2H, PT1H30M or PT90S", text)
}

// addPart returns total plus number times unit. A fraction is allowed in every part.
func addPart(total time.Duration, number string, unit time.Duration) (time.Duration, error) {
	symbol, times := "h", unit/time.Hour
	switch unit {
	case time.Minute:
		symbol, times = "m", 1
	case time.Second:
		symbol, times = "s", 1
	}
	one, err := time.ParseDuration(number + symbol)
	part := one * times
	if err != nil || part/times != one || total+part < total {
		return 0, errOutOfRange
	}
	return total + part, nil
}

var errOutOfRange = errors.New("is out of range or not a number; the longest duration is 2562047h")

// FormatDuration prints a duration as every door of Belfry does: "1m30s", "24h", "0s".
func FormatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return strings.Replace(text, "h0m", "h", 1)
}

// String prints the canonical form.
func (d Duration) String() string { return FormatDuration(time.Duration(d)) }

// MarshalText prints the canonical form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads as ParseDuration does.
func (d *Duration) UnmarshalText(b []byte) (err error) {
	*d, err = ParseDuration(string(b))
	return err
}
