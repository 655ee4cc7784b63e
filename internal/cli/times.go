package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/schedule"
)

// times reads and prints instants for people.
type times struct {
	now   time.Time
	zone  *time.Location
	named bool // the zone was given: local times may be read
	style string
}

// times are those of the common flags.
func (e *env) times() (times, error) {
	zone, err := schedule.Zone(e.common.zone)
	if err != nil {
		return times{}, err
	}
	return times{now: e.now(), zone: zone, named: e.common.zone != "", style: e.common.timeStyle}, nil
}

var localLayouts = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}

var dayWords = map[string]int{"yesterday": -1, "today": 0, "tomorrow": 1}

// parse reads an instant: RFC 3339; now, now+2h, +2h, -1d; tomorrow 09:00 or a local date-time, both in the named zone.
func (t times) parse(text string) (time.Time, error) {
	text = strings.TrimSpace(text)
	if at, ok, err := t.relative(text); ok {
		return at, err
	}
	if wall, ok := t.wall(text); ok {
		if !t.named {
			return time.Time{}, fmt.Errorf("%q is a local time: name its zone with --zone, or write an offset", text)
		}
		return t.local(wall, text)
	}
	at, err := schedule.ParseInstant(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%w; now+2h, -1d and, with --zone, tomorrow 09:00 are understood, too", err)
	}
	return at.Time(), nil
}

// relative reads what is counted from now.
func (t times) relative(text string) (time.Time, bool, error) {
	rest, fromNow := strings.CutPrefix(text, "now")
	if fromNow && rest == "" {
		return t.now.UTC(), true, nil
	}
	if rest == "" || (rest[0] != '+' && rest[0] != '-') {
		return time.Time{}, false, nil
	}
	// "-2s" is meant as a second that schedules can be due at.
	now, unsigned, sign := t.now.Truncate(time.Second), rest[1:], time.Duration(1)
	if rest[0] == '-' {
		sign = -1
	}
	var d time.Duration
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		var n int
		if digits, ok := strings.CutSuffix(unsigned, unit); ok && strings.Trim(digits, "0123456789") == "" && len(digits) < 6 {
			if _, err := fmt.Sscan(digits, &n); err == nil {
				d = time.Duration(n) * length
				return now.Add(sign * d).UTC(), true, nil
			}
		}
	}
	parsed, err := schedule.ParseDuration(unsigned)
	if err != nil {
		return time.Time{}, true, fmt.Errorf("%q: %w", text, err)
	}
	return now.Add(sign * time.Duration(parsed)).UTC(), true, nil
}

// wall reads a local date-time; it is returned as if it were UTC.
func (t times) wall(text string) (time.Time, bool) {
	day, clock, _ := strings.Cut(text, " ")
	if n, ok := dayWords[day]; ok {
		date := t.now.In(t.zone).AddDate(0, 0, n).Format(time.DateOnly)
		if clock == "" {
			clock = "00:00"
		}
		text = date + " " + clock
	}
	for _, layout := range localLayouts {
		if wall, err := time.Parse(layout, text); err == nil {
			return wall, true
		}
	}
	return time.Time{}, false
}

// local finds the instant at which the zone's clock shows the wall time, and refuses one that it shows twice or never.
func (t times) local(wall time.Time, text string) (time.Time, error) {
	var found []time.Time
	seen := map[int]bool{}
	for _, near := range []time.Duration{-24 * time.Hour, 0, 24 * time.Hour} {
		_, offset := wall.Add(near).In(t.zone).Zone()
		if seen[offset] {
			continue
		}
		seen[offset] = true
		at := wall.Add(-time.Duration(offset) * time.Second)
		if _, own := at.In(t.zone).Zone(); own == offset {
			found = append(found, at)
		}
	}
	switch len(found) {
	case 1:
		return found[0].UTC(), nil
	case 0:
		return time.Time{}, fmt.Errorf("%q does not exist in %s: the clocks skip it%s", text, t.zone, t.jump(wall))
	}
	if found[1].Before(found[0]) {
		found[0], found[1] = found[1], found[0]
	}
	return time.Time{}, fmt.Errorf("%q comes twice in %s: write %s or %s", text, t.zone,
		found[0].In(t.zone).Format(time.RFC3339), found[1].In(t.zone).Format(time.RFC3339))
}

// jump names the change of the clocks around a local time.
func (t times) jump(wall time.Time) string {
	for _, change := range cron.Transitions(t.zone, wall.Add(-48*time.Hour), wall.Add(48*time.Hour)) {
		if !wall.Before(change.LocalFrom) && wall.Before(change.LocalTo) {
			return fmt.Sprintf(", from %s to %s", change.LocalFrom.Format("15:04"), change.LocalTo.Format("15:04"))
		}
	}
	return ""
}

// print prints an instant for a table. The zero time is a hyphen.
func (t times) print(at time.Time) string {
	if at.IsZero() {
		return "-"
	}
	switch t.style {
	case "unix":
		return fmt.Sprintf("%d", at.Unix())
	case "rfc3339":
		local := at.In(t.zone)
		if _, offset := local.Zone(); offset%60 != 0 {
			local = at.UTC() // RFC 3339 has no offsets with seconds, as some zones had long ago
		}
		return local.Format("2006-01-02T15:04:05.999999Z07:00")
	case "relative":
		return t.relativeText(at)
	}
	if t.zone == time.UTC {
		return at.UTC().Format("2006-01-02 15:04:05Z")
	}
	return at.In(t.zone).Format("2006-01-02 15:04:05-07:00")
}

// relativeText is "in 2h5m" or "3m ago".
func (t times) relativeText(at time.Time) string {
	d := at.Sub(t.now).Round(time.Second)
	switch {
	case d == 0:
		return "now"
	case d > 0:
		return "in " + rough(d)
	}
	return rough(-d) + " ago"
}

// rough is a duration with its two largest units.
func rough(d time.Duration) string {
	day := 24 * time.Hour
	switch {
	case d >= day:
		hours := (d % day) / time.Hour
		if hours == 0 {
			return fmt.Sprintf("%dd", d/day)
		}
		return fmt.Sprintf("%dd%dh", d/day, hours)
	case d >= time.Hour:
		return schedule.FormatDuration(d.Truncate(time.Minute))
	}
	return schedule.FormatDuration(d.Truncate(time.Second))
}
