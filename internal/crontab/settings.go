package crontab

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/belfryhq/belfry/schedule"
)

// A kindOfSetting is where a setting's value belongs in a spec, and how it gets there.
type kindOfSetting struct {
	pointer string
	set     func(s *schedule.Spec, value string) error
}

// settingsTable holds the keys that a belfry comment may set besides name. They are called as in a manifest.
var settingsTable = map[string]kindOfSetting{
	"description":     {"/spec/description", word(func(s *schedule.Spec) *string { return &s.Description })},
	"seconds":         {"/spec/trigger/seconds", truth(func(s *schedule.Spec) *bool { return &s.Trigger.Seconds })},
	"dst_gap":         {"/spec/trigger/dst_gap", word(func(s *schedule.Spec) *string { return &s.Trigger.DSTGap })},
	"dst_repeat":      {"/spec/trigger/dst_repeat", word(func(s *schedule.Spec) *string { return &s.Trigger.DSTRepeat })},
	"time_zone":       {"/spec/time_zone", word(func(s *schedule.Spec) *string { return &s.TimeZone })},
	"shift":           {"/spec/shift", length(func(s *schedule.Spec, d schedule.Duration) { s.Shift = d })},
	"spread":          {"/spec/spread", length(func(s *schedule.Spec, d schedule.Duration) { s.Spread = d })},
	"starts_at":       {"/spec/starts_at", moment(func(s *schedule.Spec) **schedule.Instant { return &s.StartsAt })},
	"ends_at":         {"/spec/ends_at", moment(func(s *schedule.Spec) **schedule.Instant { return &s.EndsAt })},
	"max_occurrences": {"/spec/max_occurrences", count(0, func(s *schedule.Spec) *int { return &s.MaxCount })},
	"jitter":          {"/spec/jitter", length(func(s *schedule.Spec, d schedule.Duration) { s.Jitter = d })},
	"kill_grace":      {"/spec/target/command/kill_grace", length(func(s *schedule.Spec, d schedule.Duration) { s.Target.Command.KillGrace = orNone(d) })},
	"output_limit":    {"/spec/target/command/output_limit", size},
	"misfire":         {"/spec/misfire", word(func(s *schedule.Spec) *schedule.Misfire { return &s.Misfire })},
	"misfire_grace":   {"/spec/misfire_grace", length(func(s *schedule.Spec, d schedule.Duration) { s.MisfireGrace = &d })},
	"misfire_limit":   {"/spec/misfire_limit", count(1, func(s *schedule.Spec) *int { return &s.MisfireLimit })},
	"misfire_keep":    {"/spec/misfire_keep", word(func(s *schedule.Spec) *schedule.Keep { return &s.MisfireKeep })},
	"max_catchup_age": {"/spec/max_catchup_age", length(func(s *schedule.Spec, d schedule.Duration) { s.MaxCatchupAge = orNone(d) })},
	"start_from":      {"/spec/start_from", moment(func(s *schedule.Spec) **schedule.Instant { return &s.StartFrom })},
	"overlap":         {"/spec/overlap", word(func(s *schedule.Spec) *schedule.Overlap { return &s.Overlap })},
	"lock_key":        {"/spec/lock_key", word(func(s *schedule.Spec) *string { return &s.LockKey })},
	"max_attempts":    {"/spec/max_attempts", count(1, func(s *schedule.Spec) *int { return &s.MaxAttempts })},
	"max_deliveries":  {"/spec/max_deliveries", count(1, func(s *schedule.Spec) *int { return &s.MaxDeliveries })},
	"on_lost":         {"/spec/on_lost", word(func(s *schedule.Spec) *schedule.OnLost { return &s.OnLost })},
	"backoff":         {"/spec/backoff", length(func(s *schedule.Spec, d schedule.Duration) { s.Backoff = d })},
	"timeout":         {"/spec/timeout", length(func(s *schedule.Spec, d schedule.Duration) { s.Timeout = orNone(d) })},
	"pool":            {"/spec/pool", word(func(s *schedule.Spec) *string { return &s.Pool })},
	"paused":          {"/spec/paused", truth(func(s *schedule.Spec) *bool { return &s.Paused })},
}

var settingNames = sync.OnceValue(func() []string {
	names := append(slices.Collect(maps.Keys(settingsTable)), "name")
	slices.Sort(names)
	return names
})

// Settings lists the keys that a belfry comment may set, sorted. The caller must not change the slice.
func Settings() []string { return settingNames() }

func word[T ~string](field func(*schedule.Spec) *T) func(*schedule.Spec, string) error {
	return func(s *schedule.Spec, value string) error {
		*field(s) = T(value)
		return nil
	}
}

func truth(field func(*schedule.Spec) *bool) func(*schedule.Spec, string) error {
	return func(s *schedule.Spec, value string) error {
		if value != "true" && value != "false" {
			return fmt.Errorf("must be true or false, not %q", value)
		}
		*field(s) = value == "true"
		return nil
	}
}

// count refuses numbers below least itself: a zero in the spec would be taken for a key that was not written.
func count(least int, field func(*schedule.Spec) *int) func(*schedule.Spec, string) error {
	return func(s *schedule.Spec, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || strconv.Itoa(n) != value {
			return fmt.Errorf("must be a whole number, not %q", value)
		}
		if n < least {
			return fmt.Errorf("%d is below %d", n, least)
		}
		*field(s) = n
		return nil
	}
}

func length(set func(*schedule.Spec, schedule.Duration)) func(*schedule.Spec, string) error {
	return func(s *schedule.Spec, value string) error {
		d, err := schedule.ParseDuration(value)
		if err == nil {
			set(s, d)
		}
		return err
	}
}

// orNone is for keys where a written 0s says something else than the default.
func orNone(d schedule.Duration) schedule.Duration {
	if d == 0 {
		return schedule.None
	}
	return d
}

func moment(field func(*schedule.Spec) **schedule.Instant) func(*schedule.Spec, string) error {
	return func(s *schedule.Spec, value string) error {
		i, err := schedule.ParseInstant(value)
		if err == nil {
			*field(s) = &i
		}
		return err
	}
}

func size(s *schedule.Spec, value string) error {
	n, err := schedule.ParseSize(value)
	if err == nil && n == 0 {
		n = schedule.None
	}
	s.Target.Command.OutputLimit = n
	return err
}
