package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/schedule"
)

// Bounds of a preview.
const (
	DefaultOccurrences = 10     // when no end is given
	MaxOccurrences     = 10_000 // and the default when an end is given
	// foresight is how far transitions and warnings are looked for when no end is given.
	foresight = 366 * 24 * time.Hour
	// maxTransitions is how many transitions one preview shows.
	maxTransitions = 100
)

// PreviewInput asks what a definition would do. Spec must be complete.
type PreviewInput struct {
	Spec schedule.Spec
	ID   schedule.ID // of an existing schedule, for its spread; zero: a definition without an identity
	From time.Time   // included
	To   time.Time   // excluded; zero: open
	N    int         // how many occurrences at most; 0: the default
}

// Preview is the answer. The caller owns it.
type Preview struct {
	Expr, Canonical string
	TimeZone        string
	Description     string
	From, To        time.Time // To is zero when it was open
	Occurrences     []time.Time
	Truncated       bool
	Transitions     []Transition
	Warnings        []cron.Warning
}

// Transition is a change of the zone's clocks that the definition notices.
type Transition struct {
	cron.Transition
	Effect      string
	Occurrences []time.Time
}

// Expression makes a complete spec of an expression as people type it. "@every 90s" is an interval, unless the dialect
// is "cron". The error is a *schedule.Invalid with pointers into a spec.
func Expression(expr string, s schedule.Spec, dialect string) (schedule.Spec, error) {
	if dialect != "" && dialect != "cron" && dialect != "belfry" {
		return s, &schedule.Invalid{Problems: []schedule.Problem{{Pointer: "/dialect", Code: schedule.CodeUnknownValue,
			Message: fmt.Sprintf("%q is not known", dialect), Allowed: []string{"belfry", "cron"},
			Hint: schedule.DidYouMean(dialect, []string{"belfry", "cron"})}}}
	}
	if fields := strings.Fields(expr); dialect == "cron" && len(fields) > 0 && strings.EqualFold(fields[0], "@every") {
		return s, &schedule.Invalid{Problems: []schedule.Problem{{Pointer: "/spec/trigger/cron", Code: schedule.CodeCronSyntax,
			Message: "@every is an interval, which cron does not know", Hint: "leave the dialect out, or write every: 90s"}}}
	}
	s.Trigger.Cron = []string{expr}
	s.Target = nothing
	return s.Complete(schedule.Defaults{LeastGrace: -1})
}

// nothing stands in for the target of a definition that is only looked at.
var nothing = schedule.Target{Command: &schedule.Command{Argv: []string{"true"}}}

// Look answers a preview. It is a pure function: no clock, no store. An N above MaxOccurrences is refused.
func Look(in PreviewInput) (Preview, error) {
	if in.N < 0 || in.N > MaxOccurrences {
		return Preview{}, outOfRange("/n", fmt.Sprintf("n is %d; it may be 1 to %d", in.N, MaxOccurrences))
	}
	if !in.To.IsZero() && !in.From.Before(in.To) {
		return Preview{}, outOfRange("/to", "to is not after from")
	}
	c, err := schedule.Compile(in.ID, in.Spec)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{TimeZone: in.Spec.TimeZone, From: in.From, To: in.To, Description: sentence(in.Spec)}
	p.Expr = text(in.Spec.Trigger)
	p.Canonical = canonical(in.Spec.Trigger)
	p.Occurrences, p.Truncated = occurrences(c, in)
	until := in.To
	if until.IsZero() {
		until = in.From.Add(foresight)
		if n := len(p.Occurrences); n > 0 && p.Occurrences[n-1].After(until) {
			until = p.Occurrences[n-1].Add(time.Microsecond)
		}
	}
	p.Transitions = transitions(in.Spec, c, in.From, until)
	p.Warnings = in.Spec.Warnings(in.From, until)
	return p, nil
}

func outOfRange(pointer, message string) error {
	return &schedule.Invalid{Problems: []schedule.Problem{{Pointer: pointer, Code: schedule.CodeOutOfRange, Message: message}}}
}

// occurrences lists those of [From, To) on the zone's clock. A list that an end did not close is never "truncated": it
// was asked for by number.
func occurrences(c schedule.Compiled, in PreviewInput) (list []time.Time, truncated bool) {
	limit := in.N
	end := in.To
	switch {
	case end.IsZero():
		end = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
		limit = cmp.Or(limit, DefaultOccurrences)
	default:
		limit = cmp.Or(limit, MaxOccurrences)
	}
	for due := range c.Trigger.Between(in.From, end) {
		if len(list) == limit {
			return list, !in.To.IsZero()
		}
		list = append(list, due.In(c.Zone))
	}
	return list, false
}

// transitions lists the changes of the clocks in [from, until) that an expression of the spec notices. Where several
// expressions notice one, their effects are told one after the other.
func transitions(s schedule.Spec, c schedule.Compiled, from, until time.Time) []Transition {
	expressions := parsed(s.Trigger)
	if len(expressions) == 0 {
		return nil
	}
	var list []Transition
	for _, t := range cron.Transitions(c.Zone, from, until) {
		out := Transition{Transition: t}
		for _, e := range expressions {
			effect := e.Effect(t, c.Zone)
			if effect.Text == "" {
				continue
			}
			if out.Effect != "" {
				out.Effect += "; "
			}
			out.Effect += effect.Text
			out.Occurrences = append(out.Occurrences, effect.Occurrences...)
		}
		if out.Effect == "" {
			continue
		}
		slices.SortFunc(out.Occurrences, time.Time.Compare)
		out.Occurrences = slices.CompactFunc(out.Occurrences, time.Time.Equal)
		if list = append(list, out); len(list) == maxTransitions {
			break
		}
	}
	return list
}

// parsed reads the expressions of a complete trigger; "@every" in a list of several is none.
func parsed(t schedule.Trigger) []*cron.Expr {
	var list []*cron.Expr
	o := cron.Options{Seconds: t.Seconds}
	if o.Gap.UnmarshalText([]byte(t.DSTGap)) != nil || o.Repeat.UnmarshalText([]byte(t.DSTRepeat)) != nil {
		return nil
	}
	for _, text := range t.Cron {
		if e, err := cron.Parse(text, o); err == nil {
			list = append(list, e)
		}
	}
	return list
}

// sentence is the spec's description without the zone, which a preview names beside it.
func sentence(s schedule.Spec) string {
	if len(s.Trigger.Cron) == 0 {
		return s.Describe()
	}
	return strings.Replace(s.Describe(), ", "+s.TimeZone, "", 1)
}

// text is the trigger as one line.
func text(t schedule.Trigger) string {
	switch {
	case t.Every != 0:
		return "@every " + t.Every.String()
	case len(t.At) > 0:
		list := make([]string, len(t.At))
		for i, at := range t.At {
			list[i] = at.String()
		}
		return strings.Join(list, ", ")
	}
	return strings.Join(t.Cron, ", ")
}

func canonical(t schedule.Trigger) string {
	list := parsed(t)
	if len(list) != len(t.Cron) || len(list) == 0 {
		return text(t)
	}
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = e.String()
	}
	return strings.Join(words, ", ")
}
