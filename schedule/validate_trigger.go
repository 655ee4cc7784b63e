package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/belfryhq/belfry/cron"
)

const (
	maxExpressions = 100  // in one cron list
	maxInstants    = 1000 // in one at list
)

// The values of dst_gap and dst_repeat, and what they are to package cron.
var (
	gaps    = map[string]cron.Gap{"": cron.GapShift, "shift": cron.GapShift, "skip": cron.GapSkip}
	repeats = map[string]cron.Repeat{"": cron.RepeatAuto, "auto": cron.RepeatAuto, "first": cron.RepeatFirst,
		"last": cron.RepeatLast, "both": cron.RepeatBoth}
)

// options are those of every expression of the trigger.
func (t Trigger) options() cron.Options {
	return cron.Options{Seconds: t.Seconds, Gap: gaps[t.DSTGap], Repeat: repeats[t.DSTRepeat]}
}

// trigger checks that there is exactly one kind of trigger, the trigger itself, and that no key of another kind is set.
func (c *checker) trigger(t Trigger) {
	var kinds []string
	if t.Cron != nil {
		kinds = append(kinds, "cron")
	}
	if t.Every != 0 {
		kinds = append(kinds, "every")
	}
	if t.At != nil {
		kinds = append(kinds, "at")
	}
	c.exactlyOne("/trigger", kinds, "cron", "every", "at")
	if t.Cron != nil {
		c.cronList(t)
	}
	if t.Every != 0 {
		c.interval("/trigger/every", t.Every)
	}
	if t.At != nil {
		c.instants(t.At)
	}
	c.strangers(t)
}

func (c *checker) exactlyOne(pointer string, given []string, of ...string) {
	if len(given) == 1 {
		return
	}
	p := c.add(pointer, CodeExactlyOne, "none of its kinds is given; exactly one is needed")
	if len(given) > 1 {
		p.Message = strings.Join(given, " and ") + " are given; exactly one is needed"
	}
	p.Allowed = of
}

// strangers refuses keys that belong to another kind of trigger: they would be ignored.
func (c *checker) strangers(t Trigger) {
	if t.Anchor != nil && t.Every == 0 {
		c.add("/trigger/anchor", CodeConflict, "sets the phase of an interval, and there is no every")
	}
	if t.Anchor != nil && t.Anchor.Time().IsZero() {
		c.add("/trigger/anchor", CodeOutOfRange, "must lie after the first instant of the year 1")
	}
	if t.Cron != nil {
		oneOf(c, "/trigger/dst_gap", t.DSTGap, "shift", "skip")
		oneOf(c, "/trigger/dst_repeat", t.DSTRepeat, "auto", "first", "last", "both")
		return
	}
	for _, key := range []struct {
		name  string
		given bool
	}{{"seconds", t.Seconds}, {"dst_gap", t.DSTGap != ""}, {"dst_repeat", t.DSTRepeat != ""}} {
		if key.given {
			c.add("/trigger/"+key.name, CodeConflict, "belongs to cron, and there is no cron expression")
		}
	}
}

func (c *checker) cronList(t Trigger) {
	if len(t.Cron) == 0 {
		c.add("/trigger/cron", CodeRequired, "the list is empty")
	}
	if len(t.Cron) > maxExpressions {
		c.add("/trigger/cron", CodeOutOfRange, fmt.Sprintf("%d expressions; at most %d are taken", len(t.Cron), maxExpressions))
		return
	}
	for i, text := range t.Cron {
		pointer := "/trigger/cron"
		if len(t.Cron) > 1 {
			pointer = fmt.Sprintf("/trigger/cron/%d", i)
		}
		if every, ok := everyText(text); ok {
			length, err := ParseDuration(every)
			if err != nil {
				c.add(pointer, CodeBadFormat, everyMacro+" "+err.Error())
				continue
			}
			c.interval(pointer, length)
			continue
		}
		if _, err := cron.Parse(text, t.options()); err != nil {
			c.problems = append(c.problems, cronProblem(c.at+pointer, text, err))
		}
	}
}

// cronProblem says what package cron found, in the words of package cron.
func cronProblem(pointer, text string, err error) Problem {
	p := Problem{Pointer: pointer, Code: CodeCronSyntax, Message: quote(text) + ": " + err.Error()}
	if errors.Is(err, cron.ErrNever) {
		p.Code = CodeCronNever
	}
	var e *cron.Error
	if !errors.As(err, &e) {
		return p
	}
	switch e.Text {
	case text, "":
		p.Message = fmt.Sprintf("%s: %s", quote(text), e.Reason)
	default:
		p.Message = fmt.Sprintf("%s: %s %q at character %d: %s", quote(text), e.Field, e.Text, e.Pos+1, e.Reason)
	}
	p.Hint = e.Hint
	return p
}

// CronError returns the problem of a cron expression that cron.Parse refused, for doors that read one by itself.
func CronError(text string, err error) Problem { return cronProblem("", text, err) }

func (c *checker) interval(pointer string, every Duration) {
	length := time.Duration(every)
	switch {
	case every == None || length < time.Second:
		shown := every
		if every == None {
			shown = 0
		}
		c.add(pointer, CodeOutOfRange, fmt.Sprintf("%s is below 1s, the shortest interval", shown))
	case length%time.Second != 0:
		c.add(pointer, CodeOutOfRange, fmt.Sprintf("%s is not in whole seconds", every))
	case length > maxLength:
		c.add(pointer, CodeOutOfRange, fmt.Sprintf("%s is above %s, the longest interval", every, FormatDuration(maxLength)))
	}
}

func (c *checker) instants(at []Instant) {
	switch {
	case len(at) == 0:
		c.add("/trigger/at", CodeRequired, "the list is empty")
	case len(at) > maxInstants:
		c.add("/trigger/at", CodeOutOfRange, fmt.Sprintf("%d instants; at most %d are taken", len(at), maxInstants))
	case at[0].Time().IsZero():
		c.add("/trigger/at", CodeOutOfRange, "must lie after the first instant of the year 1")
	}
}
