package sim

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/belfryhq/belfry/schedule"
)

// declared is a schedule that the simulation declares: its rule, and which job it starts.
type declared struct {
	name string
	Revision
	job string
}

// zones are those in which some of the schedules live; on the days of the simulation the clocks of most of them change.
var zones = []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Australia/Sydney", "Asia/Kolkata", "Europe/London"}

// fifty draws fifty schedules of every kind for the day that begins at day.
func fifty(random *rand.Rand, day time.Time) []*declared {
	d := drawer{random, day}
	var all []*declared
	add := func(n int, kind string, draw func() (Rule, string)) {
		for i := range n {
			rule, job := draw()
			all = append(all, &declared{name: fmt.Sprintf("%s-%d", kind, i), job: job, Revision: d.policies(rule, job)})
		}
	}
	add(1, "seconds", func() (Rule, string) { return d.within(Rule{Every: 7 * time.Second}, 40*time.Minute), "instant" })
	add(1, "second-cron", func() (Rule, string) {
		return d.within(Rule{Cron: []string{"*/20 * * * * *"}, Seconds: true, Zone: d.zone()}, time.Hour), "short"
	})
	add(1, "half-minutely", func() (Rule, string) { return d.within(Rule{Every: 30 * time.Second}, 2*time.Hour), "long" })
	add(2, "minutely", func() (Rule, string) { return Rule{Cron: []string{"* * * * *"}, Zone: d.zone()}, d.job() })
	add(2, "business", func() (Rule, string) { return Rule{Cron: []string{"* 9-11 * * *"}, Zone: d.zone()}, d.job() })
	add(3, "five", func() (Rule, string) { return Rule{Cron: []string{"*/5 * * * *"}, Zone: d.zone()}, d.job() })
	add(4, "odd", func() (Rule, string) {
		return Rule{Every: time.Duration(200+d.IntN(3400)) * time.Second, Anchor: d.day.Add(-time.Duration(d.IntN(90_000)) * time.Second)}, d.job()
	})
	add(8, "hourly", func() (Rule, string) {
		return Rule{Cron: []string{fmt.Sprintf("%d * * * *", d.IntN(60))}, Zone: d.zone()}, d.job()
	})
	add(6, "daily", func() (Rule, string) {
		return Rule{Cron: []string{fmt.Sprintf("%d %d * * *", d.IntN(60), d.IntN(24))}, Zone: d.zone()}, d.job()
	})
	add(5, "night", func() (Rule, string) {
		return Rule{Cron: []string{fmt.Sprintf("%d %d * * *", d.IntN(4)*15, 1+d.IntN(3))}, Zone: d.zone(), SkipGaps: d.IntN(3) == 0,
			Repeats: []string{"", "first", "last", "both"}[d.IntN(4)]}, d.job()
	})
	add(3, "list", func() (Rule, string) { return Rule{At: d.instants(3 + d.IntN(20))}, d.job() })
	add(3, "shifted", func() (Rule, string) {
		return Rule{Cron: []string{"*/15 * * * *"}, Zone: d.zone(), Shift: time.Duration(d.IntN(7200)-3600) * time.Second}, d.job()
	})
	add(3, "spread", func() (Rule, string) { return Rule{Cron: []string{"*/10 * * * *"}, Spread: 10 * time.Minute}, d.job() })
	add(3, "union", func() (Rule, string) {
		return Rule{Cron: []string{"*/20 8-16 * * *", fmt.Sprintf("0,%d * * * *", d.IntN(60))}, Zone: d.zone()}, d.job()
	})
	add(3, "counted", func() (Rule, string) {
		return Rule{Every: 10 * time.Minute, Starts: d.some(4 * time.Hour), Max: 5 + d.IntN(60)}, d.job()
	})
	add(2, "either", func() (Rule, string) {
		return Rule{Cron: []string{fmt.Sprintf("%d 3-20 1,%d * %d", d.IntN(60), d.day.Day(), d.day.Weekday())}, Zone: d.zone()}, d.job()
	})
	for i, kind := range []string{"jittered-five", "jittered-hour"} {
		rule := Rule{Cron: []string{[]string{"*/5 * * * *", "10 * * * *"}[i]}}
		r := d.policies(rule, "short")
		r.Jitter, r.Overlap, r.LockKey = 15*time.Minute, schedule.OverlapAllow, ""
		all = append(all, &declared{name: kind, job: "short", Revision: r})
	}
	for _, s := range all {
		s.Rule.SpreadName = schedule.DeclaredID(schedule.OriginFile, "", s.name).String()
	}
	return all
}

// drawer draws from a seed.
type drawer struct {
	*rand.Rand
	day time.Time
}

func (d drawer) zone() string {
	if d.IntN(3) == 0 {
		return ""
	}
	return zones[d.IntN(len(zones))]
}

func (d drawer) job() string {
	return []string{"instant", "short", "long", "flaky", "broken", "panics"}[d.IntN(6)]
}

// some is an instant within the first part of the day, in whole seconds.
func (d drawer) some(within time.Duration) time.Time {
	return d.day.Add(time.Duration(d.IntN(int(within/time.Second))) * time.Second)
}

func (d drawer) instants(n int) (all []time.Time) {
	for range n {
		all = append(all, d.some(24*time.Hour).Add(time.Duration(d.IntN(1000))*time.Millisecond))
	}
	return all
}

// within bounds a rule to a stretch of the day.
func (d drawer) within(r Rule, length time.Duration) Rule {
	r.Starts = d.some(22 * time.Hour)
	r.Ends = r.Starts.Add(length)
	return r
}

// policies adds what becomes of the late, the crowded and the failed.
func (d drawer) policies(rule Rule, job string) Revision {
	r := Revision{Rule: rule, Misfire: schedule.MisfireOnce, Keep: schedule.KeepOldest, Limit: 100, Age: 24 * time.Hour,
		Overlap: schedule.OverlapAllow, MaxAttempts: 1 + d.IntN(3), Backoff: time.Duration(1+d.IntN(30)) * time.Second}
	switch d.IntN(4) {
	case 0:
		r.Misfire = schedule.MisfireSkip
	case 1:
		r.Misfire, r.Limit = schedule.MisfireAll, 1+d.IntN(20)
		if d.IntN(2) == 0 {
			r.Keep = schedule.KeepNewest
		}
	}
	switch d.IntN(6) {
	case 0:
		r.Age = time.Duration(10+d.IntN(40)) * time.Minute
	case 1:
		r.Grace = time.Duration(2+d.IntN(5)) * time.Minute
	}
	if job == "long" || d.IntN(3) == 0 {
		r.Overlap = schedule.OverlapSkip
		if d.IntN(4) == 0 {
			r.LockKey = "shared"
		}
	}
	return r
}

// spec is the definition as its owner would write it.
func (s *declared) spec() (schedule.Spec, error) {
	r := &s.Revision
	grace := schedule.Duration(r.Grace)
	spec := schedule.Spec{
		Trigger:  schedule.Trigger{Cron: r.Rule.Cron, Seconds: r.Rule.Seconds, Every: schedule.Duration(r.Rule.Every), At: nil},
		TimeZone: r.Rule.Zone, Shift: schedule.Duration(r.Rule.Shift), Spread: schedule.Duration(r.Rule.Spread),
		StartsAt: instantOf(r.Rule.Starts), EndsAt: instantOf(r.Rule.Ends), MaxCount: r.Rule.Max, Jitter: schedule.Duration(r.Jitter),
		Target: schedule.Target{Job: &schedule.Job{Name: s.job}}, Misfire: r.Misfire, MisfireLimit: r.Limit, MisfireKeep: r.Keep,
		MaxCatchupAge: schedule.Duration(r.Age), Overlap: r.Overlap, LockKey: r.LockKey,
		MaxAttempts: r.MaxAttempts, Backoff: schedule.Duration(r.Backoff),
	}
	spec.Trigger.Anchor = instantOf(r.Rule.Anchor)
	for _, at := range r.Rule.At {
		spec.Trigger.At = append(spec.Trigger.At, schedule.NewInstant(at))
	}
	if r.Rule.SkipGaps {
		spec.Trigger.DSTGap = "skip"
	}
	if len(r.Rule.Cron) > 0 {
		spec.Trigger.DSTRepeat = r.Rule.Repeats
	}
	if r.Grace > 0 {
		spec.MisfireGrace = &grace
	}
	return spec.Complete(schedule.Defaults{})
}

func instantOf(t time.Time) *schedule.Instant {
	if t.IsZero() {
		return nil
	}
	i := schedule.NewInstant(t)
	return &i
}
