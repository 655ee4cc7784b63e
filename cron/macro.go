package cron

import "strings"

// macros stand alone for a whole expression, at second 0.
var macros = []struct {
	name string
	// values of minute, hour, day of month, month, day of week; -1 is a star
	values [5]int
}{
	{"@yearly", [5]int{0, 0, 1, 1, -1}},
	{"@annually", [5]int{0, 0, 1, 1, -1}},
	{"@monthly", [5]int{0, 0, 1, -1, -1}},
	{"@weekly", [5]int{0, 0, -1, -1, 0}},
	{"@daily", [5]int{0, 0, -1, -1, -1}},
	{"@midnight", [5]int{0, 0, -1, -1, -1}},
	{"@hourly", [5]int{0, -1, -1, -1, -1}},
}

// macro reads an expression whose first field begins with @.
func (p *parser) macro(count int) *Error {
	name := p.texts[0]
	for _, m := range macros {
		if !equalFold(strings.ToUpper(m.name), name) {
			continue
		}
		if count > 1 {
			rest := strings.TrimRight(p.text[p.starts[1]:], " \t")
			return p.fault("expression", p.starts[1], rest, "a macro stands alone", "write "+m.name+" only")
		}
		p.expand(m.values)
		return nil
	}
	reason := "not one of the macros"
	var hint string
	switch {
	case equalFold("@EVERY", name):
		reason, hint = "an interval, not a cron expression", "give it as a trigger of its own, for instance every: 90s"
	case equalFold("@REBOOT", name):
		reason, hint = "it names no time", "there is no trigger for the start of the machine"
	default:
		hint = macroHint(name)
	}
	return p.fault("expression", p.starts[0], name, reason, hint)
}

func (p *parser) expand(values [5]int) {
	p.texts = [fieldCount]string{}
	p.add(element{kind: kindValue})
	p.ends[fieldSecond] = 1
	for i, v := range values {
		f := fieldMinute + fieldKind(i)
		el := element{kind: kindValue, lo: v, hi: v}
		if v < 0 {
			el = element{kind: kindStar, lo: f.min(), hi: f.top()}
		}
		p.add(el)
		p.ends[f] = p.count
	}
}

func macroHint(name string) string {
	names := make([]string, len(macros))
	for i, m := range macros {
		names[i] = m.name
	}
	if best := closest(names, name); best != "" {
		return "did you mean " + best + "?"
	}
	return allowed(names)
}
