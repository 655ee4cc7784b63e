package cron

import (
	"fmt"
	"math/bits"
	"strings"
)

// maxTimes is how many times of day a description lists one by one.
const maxTimes = 6

// Describe says in plain English when the expression is due, without its zone: "At
// 02:30, every day". It is written from the syntax tree, so that what was written as
// a step is described as one, and it says outright where two restricted day fields
// mean "either". What clocks do to it is left to Warnings and Effect.
func (e *Expr) Describe() string {
	p := e.tree()
	if p == nil {
		return "Never"
	}
	clock := p.describeClock(e)
	days := p.describeDays(e)
	if days == "every day" && p.only(fieldHour, kindStar) {
		return clock
	}
	return clock + ", " + days
}

// only tells whether a field is one element of a kind, without a step.
func (p *parser) only(f fieldKind, kind elementKind) bool {
	elements := p.elementsOf(f)
	return len(elements) == 1 && elements[0].kind == kind && elements[0].step == 0
}

// describeClock describes seconds, minutes and hours.
func (p *parser) describeClock(e *Expr) string {
	if times := p.timesOfDay(e); times != "" {
		return "At " + times
	}
	if !p.only(fieldSecond, kindValue) {
		return p.describeSeconds(e)
	}
	text := p.describeMinutes(e)
	if second := p.elementsOf(fieldSecond)[0].lo; second != 0 {
		text += ", at second " + itoa(second)
	}
	return text
}

// timesOfDay lists the times where they are few and written one by one.
func (p *parser) timesOfDay(e *Expr) string {
	for f := fieldSecond; f <= fieldHour; f++ {
		for _, el := range p.elementsOf(f) {
			if el.kind != kindValue {
				return ""
			}
		}
	}
	if bits.OnesCount32(e.hour)*bits.OnesCount64(e.min)*bits.OnesCount64(e.sec) > maxTimes {
		return ""
	}
	var times []string
	for s := e.timeFrom(0); s >= 0; s = e.timeFrom(s + 1) {
		times = append(times, clockText(s, e.sec != 1))
	}
	return join(times)
}

// describeSeconds describes a seconds field that is more than one value.
func (p *parser) describeSeconds(e *Expr) string {
	text := p.everyOf(fieldSecond)
	if text == "" {
		text = "At " + p.noun(fieldSecond)
	}
	switch {
	case p.only(fieldMinute, kindStar) && p.only(fieldHour, kindStar):
		if strings.HasPrefix(text, "At ") {
			text += " of every minute"
		}
		return text
	case p.only(fieldMinute, kindStar) && e.contiguousHours():
		first, last := e.hourRange()
		return fmt.Sprintf("%s from %02d:00:00 to %s", text, first, clockText(int64(last)*3600+59*60+int64(bits.Len64(e.sec)-1), true))
	}
	return text + " in " + p.noun(fieldMinute) + " of " + p.noun(fieldHour)
}

// describeMinutes describes minutes and hours as of one second.
func (p *parser) describeMinutes(e *Expr) string {
	minutes, hours := p.elementsOf(fieldMinute), p.elementsOf(fieldHour)
	every := p.everyOf(fieldMinute)
	switch {
	case every != "" && p.only(fieldHour, kindStar):
		return every
	case every != "" && e.contiguousHours():
		first, last := e.hourRange()
		return fmt.Sprintf("%s from %02d:00 to %s", every, first, clockText(int64(last)*3600+int64(bits.Len64(e.min)-1)*60, false))
	case p.only(fieldMinute, kindValue) && p.only(fieldHour, kindStar) && minutes[0].lo == 0:
		return "Every hour, on the hour"
	case p.only(fieldMinute, kindValue) && len(hours) == 1 && !p.only(fieldHour, kindStar) && bits.OnesCount32(e.hour) > 1:
		first, last := e.hourRange()
		minute := int64(minutes[0].lo) * 60
		return fmt.Sprintf("%s from %s to %s", everyUnit(fieldHour, hours[0].step),
			clockText(int64(first)*3600+minute, false), clockText(int64(last)*3600+minute, false))
	}
	return "At " + p.noun(fieldMinute) + " of " + p.noun(fieldHour)
}

// everyOf is "Every 15 minutes" for a star whose step, if any, divides the field, so
// that the distance stays the same from one turn to the next; else "".
func (p *parser) everyOf(f fieldKind) string {
	elements := p.elementsOf(f)
	if len(elements) != 1 || elements[0].kind != kindStar || elements[0].step >= turns[f] || turns[f]%max(1, elements[0].step) != 0 {
		return ""
	}
	return everyUnit(f, elements[0].step)
}

func everyUnit(f fieldKind, step int) string {
	if step < 2 {
		return "Every " + f.name()
	}
	return fmt.Sprintf("Every %d %ss", step, f.name())
}

// noun names the values of a clock field: "minutes 5, 10 to 20 and every 7th from 30
// to 58".
func (p *parser) noun(f fieldKind) string {
	elements := p.elementsOf(f)
	if p.only(f, kindStar) {
		return "every " + f.name()
	}
	words := make([]string, len(elements))
	for i, el := range elements {
		lo, hi := el.bounds(f)
		step := max(1, el.step)
		hi -= (hi - lo) % step
		switch {
		case lo == hi:
			words[i] = itoa(lo)
		case step == 1:
			words[i] = itoa(lo) + " to " + itoa(hi)
		case len(elements) == 1:
			return fmt.Sprintf("every %s %s from %d to %d", ordinal(step), f.name(), lo, hi)
		default:
			words[i] = fmt.Sprintf("every %s from %d to %d", ordinal(step), lo, hi)
		}
	}
	if len(words) == 1 && !strings.Contains(words[0], " ") {
		return f.name() + " " + words[0]
	}
	return f.name() + "s " + join(words)
}

// contiguousHours tells whether the hours follow each other without a hole.
func (e *Expr) contiguousHours() bool {
	first, last := e.hourRange()
	return bits.OnesCount32(e.hour) == last-first+1
}

func (e *Expr) hourRange() (first, last int) {
	return bits.TrailingZeros32(e.hour), bits.Len32(e.hour) - 1
}

func clockText(second int64, seconds bool) string {
	if seconds {
		return fmt.Sprintf("%02d:%02d:%02d", second/3600, second/60%60, second%60)
	}
	return fmt.Sprintf("%02d:%02d", second/3600, second/60%60)
}

func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return itoa(n) + suffix
}
