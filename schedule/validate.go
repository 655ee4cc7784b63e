package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds of a spec. Each is far beyond what people need and keeps a row, a commit or a loop from growing without end.
const (
	maxDescription = 4096                      // bytes
	maxLockKey     = 255                       // bytes; the width of the column
	maxCount       = 1000                      // runs of a catch-up, attempts, deliveries
	maxOccurrences = 1_000_000_000             // of max_occurrences
	maxMove        = 7 * 24 * time.Hour        // spread, jitter, backoff, misfire_grace
	maxShift       = 366 * 24 * time.Hour      // either way
	maxLength      = 10 * 366 * 24 * time.Hour // every, timeout, max_catchup_age
)

// spec checks a complete spec. The order of problems is the order of the keys in a manifest.
func (c *checker) spec(s *Spec) {
	c.at = "/spec"
	c.text("/description", s.Description, maxDescription)
	c.trigger(s.Trigger)
	if _, err := Zone(s.TimeZone); err != nil {
		c.take("/time_zone", err)
	}
	c.duration("/shift", s.Shift, -maxShift, maxShift)
	c.whole("/shift", s.Shift, time.Microsecond)
	c.duration("/spread", s.Spread, 0, maxMove)
	c.whole("/spread", s.Spread, time.Second)
	c.bounds(s)
	c.duration("/jitter", s.Jitter, 0, maxMove)
	c.whole("/jitter", s.Jitter, time.Microsecond)
	c.target(s.Target)
	c.policies(s)
	c.text("/lock_key", s.LockKey, maxLockKey)
	c.count("/max_attempts", s.MaxAttempts, 1, maxCount)
	c.count("/max_deliveries", s.MaxDeliveries, 1, maxCount)
	c.duration("/backoff", s.Backoff, 0, maxMove)
	c.duration("/timeout", s.Timeout, 0, maxLength)
	c.pattern("/pool", s.Pool, ValidName(s.Pool), namePattern)
}

// policies checks what becomes of late and of overlapping occurrences.
func (c *checker) policies(s *Spec) {
	oneOf(c, "/misfire", s.Misfire, MisfireOnce, MisfireSkip, MisfireAll)
	if s.MisfireGrace != nil {
		c.duration("/misfire_grace", *s.MisfireGrace, 0, maxMove)
	}
	c.count("/misfire_limit", s.MisfireLimit, 1, maxCount)
	oneOf(c, "/misfire_keep", s.MisfireKeep, KeepOldest, KeepNewest)
	c.duration("/max_catchup_age", s.MaxCatchupAge, 0, maxLength)
	switch s.Overlap {
	case "queue", "delay", "replace":
		p := c.add("/overlap", CodeNotYet, fmt.Sprintf("%q is not yet supported", string(s.Overlap)))
		p.Allowed = []string{string(OverlapAllow), string(OverlapSkip)}
	default:
		oneOf(c, "/overlap", s.Overlap, OverlapAllow, OverlapSkip)
	}
	oneOf(c, "/on_lost", s.OnLost, OnLostRedeliver, OnLostFail)
}

// bounds checks the stretch in which a schedule is due.
func (c *checker) bounds(s *Spec) {
	for _, bound := range []struct {
		pointer string
		instant *Instant
	}{{"/starts_at", s.StartsAt}, {"/ends_at", s.EndsAt}, {"/start_from", s.StartFrom}} {
		if bound.instant != nil && bound.instant.Time().IsZero() {
			c.add(bound.pointer, CodeOutOfRange, "must lie after the first instant of the year 1")
		}
	}
	if s.StartsAt != nil && s.EndsAt != nil && !s.StartsAt.Time().Before(s.EndsAt.Time()) {
		c.add("/ends_at", CodeConflict, fmt.Sprintf("%s does not lie after starts_at, %s", s.EndsAt, s.StartsAt))
	}
	c.count("/max_occurrences", s.MaxCount, 0, maxOccurrences)
	if s.MaxCount > 0 && s.StartsAt == nil {
		c.add("/max_occurrences", CodeNotYet, "is not yet supported without starts_at").Hint =
			"give starts_at: the occurrences are counted from there"
	}
}

// grace refuses a misfire_grace that would make an ordinary failover late.
func (c *checker) grace(s Spec, d Defaults) {
	least := cmp.Or(d.LeastGrace, LeastGrace)
	if s.MisfireGrace == nil || *s.MisfireGrace < 0 || time.Duration(*s.MisfireGrace) >= least {
		return
	}
	c.add("/misfire_grace", CodeOutOfRange, fmt.Sprintf("%s is below %s, two planner leases: a failover would make occurrences late",
		s.MisfireGrace, FormatDuration(least))).Hint = "leave it out for the default, or write at least " + FormatDuration(least)
}

func (c *checker) count(pointer string, n, least, most int) {
	if n < least || n > most {
		c.add(pointer, CodeOutOfRange, fmt.Sprintf("%d is not in %d to %d", n, least, most))
	}
}

func (c *checker) duration(pointer string, d Duration, least, most time.Duration) {
	switch length := time.Duration(d); {
	case length < 0 && least == 0:
		c.add(pointer, CodeOutOfRange, fmt.Sprintf("%s is negative", d))
	case length < least || length > most:
		c.add(pointer, CodeOutOfRange, fmt.Sprintf("%s is not in %s to %s", d, FormatDuration(least), FormatDuration(most)))
	}
}

func (c *checker) whole(pointer string, d Duration, unit time.Duration) {
	name := map[time.Duration]string{time.Second: "seconds", time.Microsecond: "microseconds"}[unit]
	if time.Duration(d)%unit != 0 {
		c.add(pointer, CodeOutOfRange, fmt.Sprintf("%s is not in whole %s", d, name))
	}
}

// oneOf refuses a word outside a closed list.
func oneOf[T ~string](c *checker, pointer string, word T, list ...T) {
	if slices.Contains(list, word) {
		return
	}
	allowed := make([]string, len(list))
	for i, w := range list {
		allowed[i] = string(w)
	}
	p := c.add(pointer, CodeUnknownValue, fmt.Sprintf("%s is not known", quote(string(word))))
	p.Allowed = allowed
	p.Hint = DidYouMean(string(word), allowed)
}

// take adds the problems of another check under one pointer.
func (c *checker) take(pointer string, err error) {
	for _, p := range problemsOf(err) {
		p.Pointer = c.at + pointer
		c.problems = append(c.problems, p)
	}
}

// controls reports whether a text has control characters, which no lock key, path or line of shell needs.
func controls(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
