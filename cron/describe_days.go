package cron

import (
	"fmt"
	"slices"
	"strings"
)

var nthWords = [...]string{"first", "second", "third", "fourth", "fifth"}

// describeDays describes the day fields and the months.
func (p *parser) describeDays(e *Expr) string {
	byDay, byWeekday := restricted(p.elementsOf(fieldDay)), restricted(p.elementsOf(fieldWeekday))
	month, months := "the month", p.describeMonths()
	if p.only(fieldMonth, kindValue) && !e.either {
		// "on the 29th of February" says it all.
		month = monthNames[p.elementsOf(fieldMonth)[0].lo-1]
	}
	var text string
	switch {
	case e.either:
		text = p.daysOfMonth() + " of the month, and also " + p.weekdays(e, "the month") + " (either is enough)"
		if months != "" {
			months = "only " + months
		}
	case byDay:
		text = p.daysOfMonth() + " of " + month
	case byWeekday:
		text = p.weekdays(e, month)
	default:
		text = "every day"
	}
	switch {
	case months == "" || month != "the month" && strings.Contains(text, " of "+month):
		return text
	case strings.Contains(text, " of the month"):
		return text + ", " + months
	}
	return text + " " + months
}

// describeMonths is "" for every month, "from June to August" or "in May and June".
func (p *parser) describeMonths() string {
	if p.only(fieldMonth, kindStar) {
		return ""
	}
	if p.only(fieldMonth, kindRange) {
		el := p.elementsOf(fieldMonth)[0]
		return "from " + monthNames[el.lo-1] + " to " + monthNames[el.hi-1]
	}
	var names []string
	set := p.mask(fieldMonth)
	for m, name := range monthNames {
		if set>>(m+1)&1 != 0 {
			names = append(names, name)
		}
	}
	return "in " + join(names)
}

// daysOfMonth names the days; " of the month" is left to follow.
func (p *parser) daysOfMonth() string {
	elements := p.elementsOf(fieldDay)
	words := make([]string, len(elements))
	for i, el := range elements {
		words[i] = dayWords(el)
	}
	if len(elements) == 1 && elements[0].kind == kindRange && elements[0].step < 2 {
		return "from " + words[0]
	}
	return "on " + join(words)
}

func dayWords(el element) string {
	switch el.kind {
	case kindValue:
		return "the " + ordinal(el.lo)
	case kindNearest:
		return "the weekday (Monday to Friday) nearest the " + ordinal(el.lo)
	case kindLastWeekday:
		return "the last weekday (Monday to Friday)"
	case kindLast:
		switch el.lo {
		case 0:
			return "the last day"
		case 1:
			return "the day before the last day"
		}
		return fmt.Sprintf("the day %d days before the last day", el.lo)
	}
	lo, hi := el.bounds(fieldDay)
	step := max(1, el.step)
	hi -= (hi - lo) % step
	switch {
	case lo == hi:
		return "the " + ordinal(lo)
	case step == 1 && el.kind == kindStar:
		return "every day"
	case step == 1:
		return "the " + ordinal(lo) + " to the " + ordinal(hi)
	}
	return fmt.Sprintf("every %s day from the %s to the %s", ordinal(step), ordinal(lo), ordinal(hi))
}

// weekdays names the weekdays, those of each week first.
func (p *parser) weekdays(e *Expr, month string) string {
	elements := p.elementsOf(fieldWeekday)
	var plain, special []string
	for _, el := range elements {
		switch el.kind {
		case kindLastOf:
			special = append(special, "the last "+weekdayNames[el.lo])
		case kindNth:
			special = append(special, "the "+nthWords[el.hi-1]+" "+weekdayNames[el.lo])
		case kindStar:
			plain = append(plain, stepped(el, 0, 6)...)
		case kindRange:
			plain = append(plain, stepped(el, el.lo, el.hi)...)
		default:
			plain = append(plain, weekdayNames[el.lo])
		}
	}
	every := p.everyWeekday(e, plain)
	if len(special) == 0 {
		return every
	}
	text := "on " + join(special) + " of " + month
	if every == "" {
		return text
	}
	return every + " and " + text
}

func (p *parser) everyWeekday(e *Expr, plain []string) string {
	switch {
	case len(plain) == 0:
		return ""
	case e.dow == 1<<7-1:
		return "every day of the week"
	case p.only(fieldWeekday, kindRange):
		return "every day from " + plain[0]
	}
	return "every " + join(plain)
}

// stepped names what a star or range holds: as a range where it has no step, and
// otherwise day by day.
func stepped(el element, lo, hi int) []string {
	if el.step < 2 && hi > lo {
		return []string{weekdayNames[lo] + " to " + weekdayNames[hi%7]}
	}
	var names []string
	for d := lo; d <= hi; d += max(1, el.step) {
		if name := weekdayNames[d%7]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
