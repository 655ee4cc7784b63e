package schedule

import (
	"fmt"
	"time"

	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/trigger"
)

// Compiled is a spec made ready for questions about time. It is immutable and safe for concurrent use.
type Compiled struct {
	Trigger   trigger.Trigger // moved by shift and spread, within starts_at, ends_at and max_occurrences
	Zone      *time.Location
	StartFrom time.Time     // where coverage of a new schedule begins (D10); zero: when it took effect
	Jitter    time.Duration // the longest delay of ReadyAt
}

// Compile builds the trigger of a complete spec. Two nodes with the same zone data get the same instants: the spread
// depends on the id alone. It fails with an *Invalid for a spec that Validate would refuse.
func Compile(id ID, s Spec) (Compiled, error) {
	var c checker
	c.at = "/spec"
	zone, err := Zone(s.TimeZone)
	if err != nil {
		c.take("/time_zone", err)
		return Compiled{}, invalid(c.problems)
	}
	c.trigger(s.Trigger)
	c.bounds(&s)
	if len(c.problems) > 0 {
		return Compiled{}, invalid(c.problems)
	}
	t, err := s.Trigger.build(zone)
	if err != nil {
		return Compiled{}, fmt.Errorf("build the trigger: %w", err)
	}
	move := time.Duration(s.Shift)
	if s.Spread > 0 {
		move += trigger.Spread(id.String(), time.Duration(s.Spread))
	}
	if move != 0 {
		t = trigger.Shifted(t, move)
	}
	if b := (trigger.Bounds{Start: s.StartsAt.orZero(), End: s.EndsAt.orZero(), Max: s.MaxCount}); b != (trigger.Bounds{}) {
		t = trigger.Bounded(t, b)
	}
	return Compiled{Trigger: t, Zone: zone, StartFrom: s.StartFrom.orZero(), Jitter: time.Duration(s.Jitter)}, nil
}

// orZero is the instant, or the zero time where none is written.
func (i *Instant) orZero() time.Time {
	if i == nil {
		return time.Time{}
	}
	return i.Time()
}

// build makes the bare trigger. Several expressions are a union, in which an instant counts once.
func (t Trigger) build(zone *time.Location) (trigger.Trigger, error) {
	if t.Every != 0 {
		return trigger.Interval(time.Duration(t.Every), t.Anchor.orZero())
	}
	if t.At != nil {
		instants := make([]time.Time, len(t.At))
		for i, at := range t.At {
			instants[i] = at.Time()
		}
		return trigger.At(instants...), nil
	}
	members := make([]trigger.Trigger, 0, len(t.Cron))
	for _, text := range t.Cron {
		member, err := buildExpression(text, t.options(), zone)
		if err != nil {
			return nil, err
		}
		members = append(members, member)
	}
	if len(members) == 1 {
		return members[0], nil
	}
	return trigger.Union(members...), nil
}

func buildExpression(text string, o cron.Options, zone *time.Location) (trigger.Trigger, error) {
	if every, ok := everyText(text); ok {
		length, err := ParseDuration(every)
		if err != nil {
			return nil, err
		}
		return trigger.Interval(time.Duration(length), time.Time{})
	}
	e, err := cron.Parse(text, o)
	if err != nil {
		return nil, err
	}
	return trigger.Cron(e, zone), nil
}

// ReadyAt returns when the run of an occurrence becomes available: its due instant plus the jitter of this occurrence,
// which is the same on every node and at every asking (PROTOCOL C2). The jitter ends where the next occurrence is due,
// so that one schedule's runs become available in the order of their due instants.
func (c Compiled) ReadyAt(id ID, due time.Time) time.Time {
	if c.Jitter <= 0 {
		return due
	}
	within := c.Jitter
	if next, ok := c.Trigger.Next(due); ok {
		within = min(within, next.Sub(due))
	}
	return due.Add(trigger.Jitter(id.String(), due, within))
}
