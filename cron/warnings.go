package cron

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// Codes of warnings. They are words of the API: their text never changes.
const (
	CodeEitherDay        = "EITHER_DAY"         // both day fields are restricted: either is enough
	CodeSkipsShortMonths = "SKIPS_SHORT_MONTHS" // a day that some months do not have
	CodeLeapDay          = "LEAP_DAY"           // 29 February only
	CodeFifthWeekday     = "FIFTH_WEEKDAY"      // a fifth weekday, which most months do not have
	CodeEveryMinute      = "EVERY_MINUTE"       // a star for the minute in chosen hours
	CodeRunsVeryOften    = "RUNS_VERY_OFTEN"    // more than once a minute
	CodeUnevenStep       = "UNEVEN_STEP"        // a step that does not divide its field
	CodeStepTooWide      = "STEP_TOO_WIDE"      // a step past the end of its range
	CodeRare             = "RARE"               // years until the next occurrence
	CodeNeverInZone      = "NEVER_IN_ZONE"      // gaps or repeats leave no occurrence
	CodeDSTGap           = "DST_GAP"            // the clocks skip one of its times
	CodeDSTRepeat        = "DST_REPEAT"         // one of its times comes twice
)

// rareAfter is the wait from which on an expression counts as rare: more than the
// four years that separate most leap days.
const rareAfter = 4*366*24*time.Hour + 24*time.Hour

// Warning is something about an expression that may not be what its author meant.
// It is never a reason to refuse it.
type Warning struct {
	// Code is one of the Code constants.
	Code string
	// Message is one sentence for a person.
	Message string
	// Fix, when there is one, is what to write instead or the setting to change.
	Fix string
	// At is the instant it is about, for CodeRare, CodeDSTGap and CodeDSTRepeat; else
	// zero.
	At time.Time
}

// Warnings lists what may surprise about the expression, each code at most once:
// first what follows from its text, then what its zone's clocks do to it in [from,
// to), with the first of those transitions as an example. It looks at no more than
// MaxTransitions of them. The caller owns the slice.
func (e *Expr) Warnings(from, to time.Time, zone *time.Location) []Warning {
	p := e.tree()
	if p == nil {
		return nil
	}
	var list []Warning
	add := func(w Warning, ok bool) {
		if ok {
			list = append(list, w)
		}
	}
	add(e.warnEither())
	add(p.warnShortMonths(e.months))
	add(p.warnFifth())
	add(e.warnEveryMinute(p))
	add(e.warnOften())
	add(p.warnSteps(CodeUnevenStep))
	add(p.warnSteps(CodeStepTooWide))
	add(e.warnRare(from, zone))
	gap, repeat := e.warnClocks(from, to, zone)
	add(gap, gap.Code != "")
	add(repeat, repeat.Code != "")
	return list
}

func (e *Expr) warnEither() (Warning, bool) {
	return Warning{
		Code:    CodeEitherDay,
		Message: "day of month and day of week are both restricted, and a day matches if either does",
		Fix:     "put * in one of them; a weekday's place in the month is d#n, such as 5#2 for the second Friday",
	}, e.either
}

// warnShortMonths looks for days written one by one, or as a range of such days, that
// a month asked for does not have. A range from earlier in the month is taken to mean
// "to the end".
func (p *parser) warnShortMonths(months uint16) (Warning, bool) {
	day := 0
	for _, el := range p.elementsOf(fieldDay) {
		switch el.kind {
		case kindValue, kindNearest, kindRange:
			day = max(day, el.lo)
		case kindLast:
			day = max(day, el.lo+1)
		}
	}
	var without []string
	leapOnly := false
	for m := 1; m <= 12; m++ {
		if months>>m&1 == 0 {
			continue
		}
		switch longest := monthLength(2000, m); {
		case day > longest:
			without = append(without, monthNames[m-1])
		case m == 2 && day == longest:
			leapOnly = true
		}
	}
	switch {
	case leapOnly && months == 1<<2:
		return Warning{Code: CodeLeapDay, Message: "29 February comes in leap years only, and is eight years away around 2100", Fix: "L is the last day of any February"}, true
	case leapOnly:
		without = append(without, "February except in leap years")
	case len(without) == 0:
		return Warning{}, false
	}
	return Warning{
		Code:    CodeSkipsShortMonths,
		Message: fmt.Sprintf("nothing runs for day %d in the months that are too short for it: %s", day, join(without)),
		Fix:     "L is the last day of any month",
	}, true
}

func (p *parser) warnFifth() (Warning, bool) {
	for _, el := range p.elementsOf(fieldWeekday) {
		if el.kind == kindNth && el.hi == 5 {
			return Warning{
				Code:    CodeFifthWeekday,
				Message: "a month with only four " + weekdayNames[el.lo] + "s is skipped",
				Fix:     itoa(el.lo) + "L is the last " + weekdayNames[el.lo] + " of any month",
			}, true
		}
	}
	return Warning{}, false
}

// warnEveryMinute finds the star that was meant as "any minute will do".
func (e *Expr) warnEveryMinute(p *parser) (Warning, bool) {
	hours := bits.OnesCount32(e.hour)
	star := p.elementsOf(fieldMinute)[0]
	return Warning{
		Code:    CodeEveryMinute,
		Message: fmt.Sprintf("it runs in every minute of %s, not once in it", plural(hours, "that hour", "each of its hours")),
		Fix:     "put 0 for the minute",
	}, star.kind == kindStar && star.step == 0 && hours <= 4
}

func (e *Expr) warnOften() (Warning, bool) {
	n := bits.OnesCount64(e.sec)
	return Warning{
		Code:    CodeRunsVeryOften,
		Message: fmt.Sprintf("it runs %d times in each of its minutes", n),
		Fix:     "put 0 for the second to run once a minute",
	}, n > 1
}

// turns are how many values a star steps through before it starts over; days of
// months and weekdays start over too.
var turns = [fieldCount]int{fieldSecond: 60, fieldMinute: 60, fieldHour: 24, fieldDay: 31, fieldMonth: 12, fieldWeekday: 7}

// warnSteps finds the first step over a star that starts over early, or that is wider
// than its range.
func (p *parser) warnSteps(code string) (Warning, bool) {
	for f := range fieldKind(fieldCount) {
		for _, el := range p.elementsOf(f) {
			if el.kind > kindRange || el.step < 2 {
				continue
			}
			lo, hi := el.bounds(f)
			switch {
			case code == CodeStepTooWide && el.step > hi-lo:
				return Warning{
					Code:    code,
					Message: fmt.Sprintf("the step %d in the %s field is wider than its range, so only %d is left", el.step, f.name(), lo),
					Fix:     "write " + itoa(lo),
				}, true
			case code == CodeUnevenStep && el.kind == kindStar && el.step <= hi-lo && turns[f]%el.step != 0:
				return Warning{
					Code:    code,
					Message: fmt.Sprintf("%s in the %s field starts over at %d each time, so the last distance is shorter", el.append(nil), f.name(), lo),
					Fix:     "an interval (every) keeps one distance",
				}, true
			}
		}
	}
	return Warning{}, false
}

func (e *Expr) warnRare(from time.Time, zone *time.Location) (Warning, bool) {
	next, ok := e.Next(from.Add(-1), zone)
	if !ok {
		if from.Year() > lastYear-400 {
			return Warning{}, false // the calendar ends, not the expression
		}
		return Warning{
			Code:    CodeNeverInZone,
			Message: "it never runs: each of its times falls where the zone's clocks change",
			Fix:     "dst_gap: shift",
		}, true
	}
	return Warning{
		Code:    CodeRare,
		Message: "its next run is years away, on " + next.Format(time.DateOnly),
		At:      next,
	}, next.Sub(from) > rareAfter
}

// warnClocks gives a warning with the first gap and one with the first repeat that is
// noticed; without any its code is empty.
func (e *Expr) warnClocks(from, to time.Time, zone *time.Location) (gap, repeat Warning) {
	gaps, repeats := 0, 0
	for _, t := range Transitions(zone, from, to) {
		effect := e.Effect(t, zone)
		if effect.Text == "" {
			continue
		}
		if t.Kind == TransitionGap {
			if gaps++; gaps == 1 {
				gap = e.warnClock(t, effect, zone)
			}
		} else if repeats++; repeats == 1 {
			repeat = e.warnClock(t, effect, zone)
		}
	}
	gap.Message += more(gaps)
	repeat.Message += more(repeats)
	return gap, repeat
}

func (e *Expr) warnClock(t Transition, effect Effect, zone *time.Location) Warning {
	w := Warning{Code: CodeDSTGap, Fix: "dst_gap: skip", At: t.At}
	way := "forward"
	switch {
	case t.Kind == TransitionOverlap:
		w.Code, w.Fix, way = CodeDSTRepeat, "dst_repeat: first", "back"
		if e.readings == RepeatFirst {
			w.Fix = "dst_repeat: both"
		}
	case e.options.Gap == GapSkip:
		w.Fix = "dst_gap: shift"
	}
	w.Message = fmt.Sprintf("on %s the clocks of %s go %s from %s to %s: %s",
		t.LocalFrom.Format(time.DateOnly), zone, way, t.LocalFrom.Format("15:04"), t.LocalTo.Format("15:04"), effect.Text)
	return w
}

func more(count int) string {
	if count < 2 {
		return ""
	}
	return fmt.Sprintf(" (and %d more such %s)", count-1, plural(count-1, "change", "changes"))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// join lists words in a sentence.
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
