package schedule

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The defaults of a spec that are not zero.
const (
	defaultMisfireLimit  = 100
	defaultMaxCatchupAge = Duration(24 * time.Hour)
	defaultMaxDeliveries = 5
	defaultTimeout       = Duration(24 * time.Hour)
	defaultPool          = "default"
	defaultInterpreter   = "/bin/sh"
	defaultOutputLimit   = Size(1 << 20)
	defaultKillGrace     = Duration(5 * time.Second)
)

// LeastGrace is the smallest misfire_grace of an installation with default settings: two planner leases (PROTOCOL A5).
// Within two leases a second planner takes over, so a smaller grace would make plain failovers late.
const LeastGrace = 10 * time.Second

// Defaults is what an installation settles for schedules that do not. Its zero value is the installation with default
// settings.
type Defaults struct {
	LeastGrace    time.Duration // a misfire_grace below it is refused; 0: LeastGrace, negative: any is accepted, for tests
	MaxCatchupAge Duration      // for schedules that give none; 0: 24h, None: no limit
}

// Complete returns the spec with every default filled in and in canonical form, or an *Invalid that lists every problem
// with pointers below "/spec". In what comes in, a zero is a key that was not written; where a zero means something
// else than the default (Timeout, MaxCatchupAge, KillGrace, OutputLimit), write None. Complete is for what a person
// wrote; a Spec that is complete is checked with Validate. What comes out shares no memory with s except a job's
// payload.
func (s Spec) Complete(d Defaults) (Spec, error) {
	s.Description = strings.TrimSpace(s.Description)
	s.Trigger = s.Trigger.complete()
	fill(&s.TimeZone, "UTC")
	fill(&s.Misfire, MisfireOnce)
	fill(&s.MisfireLimit, defaultMisfireLimit)
	fill(&s.MisfireKeep, KeepOldest)
	fill(&s.MaxCatchupAge, d.MaxCatchupAge)
	fillOrNone(&s.MaxCatchupAge, defaultMaxCatchupAge)
	fill(&s.Overlap, OverlapAllow)
	fill(&s.MaxAttempts, 1)
	fill(&s.MaxDeliveries, defaultMaxDeliveries)
	fill(&s.OnLost, OnLostRedeliver)
	fillOrNone(&s.Timeout, defaultTimeout)
	fill(&s.Pool, defaultPool)
	if s.Target.Command != nil {
		command := s.Target.Command.complete()
		s.Target.Command = &command
	}
	var c checker
	if s.Target.Job != nil {
		job := *s.Target.Job
		if err := job.canonical(); err != nil {
			c.add("/spec/target/job/payload", CodeBadFormat, "cannot be written as JSON: "+err.Error())
		}
		s.Target.Job = &job
	}
	c.spec(&s)
	c.grace(s, d)
	return s, invalid(c.problems)
}

// Validate checks a complete spec: what Complete refuses, it refuses too, except that it knows no installation and so
// accepts any misfire_grace. The error is an *Invalid.
func (s Spec) Validate() error {
	var c checker
	c.spec(&s)
	return invalid(c.problems)
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// fillOrNone is fill for fields in which a zero says something.
func fillOrNone[T Duration | Size](field *T, value T) {
	switch *field {
	case 0:
		*field = value
	case None:
		*field = 0
	}
}

// everyMacro introduces an interval where cron text is expected (D13).
const everyMacro = "@every"

// everyText returns what follows "@every" in a text that begins so.
func everyText(expr string) (string, bool) {
	fields := strings.Fields(expr)
	if len(fields) == 0 || !strings.EqualFold(fields[0], everyMacro) {
		return "", false
	}
	return strings.Join(fields[1:], " "), true
}

// complete turns a lone "@every 90s" into the interval that it is, fills the defaults that belong to the kind of
// trigger, and sorts the instants.
func (t Trigger) complete() Trigger {
	t.Cron = slices.Clone(t.Cron)
	for i := range t.Cron {
		// Blanks part fields in runs of any length. Other space does not, and is left for cron.Parse to refuse.
		blank := func(r rune) bool { return r == ' ' || r == '\t' }
		t.Cron[i] = strings.Join(strings.FieldsFunc(t.Cron[i], blank), " ")
	}
	if len(t.Cron) == 1 && t.Every == 0 && !t.Seconds && t.DSTGap == "" && t.DSTRepeat == "" {
		if text, ok := everyText(t.Cron[0]); ok {
			if every, err := ParseDuration(text); err == nil && every != 0 {
				t.Cron, t.Every = nil, every
			}
		}
	}
	if len(t.Cron) > 0 {
		fill(&t.DSTGap, "shift")
		fill(&t.DSTRepeat, "auto")
	}
	t.At = slices.Clone(t.At)
	slices.SortFunc(t.At, func(a, b Instant) int { return a.Time().Compare(b.Time()) })
	t.At = slices.CompactFunc(t.At, Instant.Equal)
	return t
}

func (t Command) complete() Command {
	t.Argv, t.Env = slices.Clone(t.Argv), cloneMap(t.Env)
	t.Shell = strings.TrimRight(t.Shell, "\n") // a block scalar of YAML ends in a newline
	if t.Shell != "" {
		fill(&t.Interpreter, defaultInterpreter)
	}
	fillOrNone(&t.OutputLimit, defaultOutputLimit)
	fillOrNone(&t.KillGrace, defaultKillGrace)
	if t.SuccessCodes == nil {
		t.SuccessCodes = []int{0}
	}
	t.SuccessCodes = slices.Clone(t.SuccessCodes)
	slices.Sort(t.SuccessCodes)
	t.SuccessCodes = slices.Compact(t.SuccessCodes)
	return t
}

// cloneMap returns nil for an empty map, so that equal specs have one text.
func cloneMap(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	out := make(map[string]string, len(m))
	for key, value := range m {
		out[key] = value
	}
	return out
}

// canonical turns the payload into what its JSON reads back as, so that a struct and its stored form are one text.
func (j *Job) canonical() error {
	if j.Payload == nil {
		return nil
	}
	text, err := json.Marshal(j.Payload)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a float64 would round whole numbers above 2^53
	j.Payload = nil
	return decoder.Decode(&j.Payload)
}
