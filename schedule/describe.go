package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfryhq/belfry/cron"
)

// Describe says in one sentence when a complete spec is due: "At 03:00, every day, Europe/Berlin". It is the
// description in a schedule's status, written anew at each asking and never stored.
func (s Spec) Describe() string {
	parts := []string{s.Trigger.describe()}
	if len(s.Trigger.Cron) > 0 {
		parts = append(parts, s.TimeZone)
	}
	switch shift := time.Duration(s.Shift); {
	case shift > 0:
		parts = append(parts, FormatDuration(shift)+" later")
	case shift < 0:
		parts = append(parts, FormatDuration(-shift)+" earlier")
	}
	if s.Spread > 0 {
		parts = append(parts, fmt.Sprintf("moved by a fixed offset below %s", s.Spread))
	}
	if s.Jitter > 0 {
		parts = append(parts, fmt.Sprintf("each delayed by less than %s", s.Jitter))
	}
	if s.StartsAt != nil {
		parts = append(parts, fmt.Sprintf("from %s on", s.StartsAt))
	}
	if s.EndsAt != nil {
		parts = append(parts, fmt.Sprintf("before %s", s.EndsAt))
	}
	switch {
	case s.MaxCount == 1:
		parts = append(parts, "once")
	case s.MaxCount > 1:
		parts = append(parts, fmt.Sprintf("at most %d times", s.MaxCount))
	}
	return strings.Join(parts, ", ")
}

func (t Trigger) describe() string {
	switch {
	case t.Every != 0 && t.Anchor != nil:
		return fmt.Sprintf("Every %s, counted from %s", t.Every, t.Anchor)
	case t.Every != 0:
		return fmt.Sprintf("Every %s", t.Every)
	case len(t.At) == 1:
		return fmt.Sprintf("Once, at %s", t.At[0])
	case len(t.At) > 1:
		return fmt.Sprintf("At %d instants from %s to %s", len(t.At), t.At[0], t.At[len(t.At)-1])
	}
	sentences := make([]string, len(t.Cron))
	for i, text := range t.Cron {
		sentences[i] = t.describeExpression(text)
		if i > 0 {
			sentences[i] = strings.ToLower(sentences[i][:1]) + sentences[i][1:]
		}
	}
	return strings.Join(sentences, "; and ")
}

func (t Trigger) describeExpression(text string) string {
	if every, ok := everyText(text); ok {
		if length, err := ParseDuration(every); err == nil {
			return fmt.Sprintf("Every %s", length)
		}
	}
	e, err := cron.Parse(text, t.options())
	if err != nil {
		return quote(text) // an incomplete spec; Validate says what is wrong
	}
	return e.Describe()
}
