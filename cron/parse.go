package cron

import (
	"strings"
	"unicode/utf8"
)

// MaxLength is the most bytes an expression may have. A longer one is refused
// unread, so that no input makes parsing slow.
const MaxLength = 4096

// parser reads one expression into its syntax tree: the elements of all fields one
// after the other, ends[f] being where those of field f stop.
//
// Parsing is one pass: each byte is looked at a fixed number of times, and each
// element, of which there are at most MaxLength/2, marks at most 60 values.
type parser struct {
	text    string
	ends    [fieldCount]int
	starts  [fieldCount]int    // byte offsets of the fields in text
	texts   [fieldCount]string // empty for a macro
	seconds bool
	work    int // bytes and values looked at; tests hold it to a bound

	// The elements are in few as long as they fit, so that an ordinary expression
	// is read without allocating, and otherwise all in many.
	count int
	few   [16]element
	many  []element
}

func (p *parser) add(el element) {
	switch {
	case p.count < len(p.few):
		p.few[p.count] = el
	case p.count == len(p.few):
		p.many = append(make([]element, 0, 4*len(p.few)), p.few[:]...)
		p.many = append(p.many, el)
	default:
		p.many = append(p.many, el)
	}
	p.count++
}

// elementsOf are the elements of one field. The seconds field is always there; in
// the five-field form it is second 0.
func (p *parser) elementsOf(f fieldKind) []element {
	all, from := p.many, 0
	if all == nil {
		all = p.few[:]
	}
	if f > 0 {
		from = p.ends[f-1]
	}
	return all[from:p.ends[f]]
}

func (p *parser) parse(text string, seconds bool) *Error {
	p.text, p.seconds = text, seconds
	if len(text) > MaxLength {
		return p.fault("expression", 0, text, "longer than 4096 bytes", "")
	}
	p.work += len(text)
	count := p.split()
	if err := p.checkShape(count); err != nil {
		return err
	}
	if strings.HasPrefix(p.texts[0], "@") {
		return p.macro(count)
	}
	if err := p.checkCount(count); err != nil {
		return err
	}
	next, words, at := 0, p.texts, p.starts // of the fields given, before they find their places
	for f := range fieldKind(fieldCount) {
		if f == fieldSecond && !seconds {
			p.add(element{kind: kindValue})
			p.ends[f] = 1
			continue
		}
		if err := p.field(f, words[next], at[next]); err != nil {
			return err
		}
		next++
	}
	return nil
}

// split finds the fields and gives their count; those after the sixth are counted
// only.
func (p *parser) split() int {
	count := 0
	for at := 0; at < len(p.text); {
		if blank(p.text[at]) {
			at++
			continue
		}
		from := at
		for at < len(p.text) && !blank(p.text[at]) {
			at++
		}
		if count < fieldCount {
			p.starts[count], p.texts[count] = from, p.text[from:at]
		}
		count++
	}
	return count
}

// checkShape refuses what is wrong with the text as a whole, before the fields are
// counted: other characters than ASCII change what looks like a blank.
func (p *parser) checkShape(count int) *Error {
	if count == 0 {
		return p.fault("expression", 0, p.text, "empty", "an example: 0 3 * * * is every day at 03:00")
	}
	for at := 0; at < len(p.text); at++ {
		c := p.text[at]
		if c >= utf8.RuneSelf {
			_, n := utf8.DecodeRuneInString(p.text[at:])
			return p.fault(p.fieldAt(at, count), at, p.text[at:at+n], "not an ASCII character", "write it again by hand; copied text may hold look-alikes")
		}
		if c < ' ' && c != '\t' || c == 0x7f {
			return p.fault(p.fieldAt(at, count), at, p.text[at:at+1], "a control character", "only spaces and tabs part fields")
		}
	}
	if head, _, ok := strings.Cut(p.texts[0], "="); ok && (head == "TZ" || head == "CRON_TZ") {
		return p.fault("expression", p.starts[0], p.texts[0], "the zone is no part of an expression", "give it apart, as time_zone (--zone)")
	}
	return nil
}

func (p *parser) checkCount(count int) *Error {
	want, form := 5, "5 fields are due: minute, hour, day of month, month, day of week"
	if p.seconds {
		want, form = 6, "6 fields are due: second, minute, hour, day of month, month, day of week"
	}
	if count == want {
		return nil
	}
	hint := ""
	switch {
	case !p.seconds && count == 6:
		hint = "a seconds field in front needs seconds: true (--seconds)"
	case p.seconds && count == 5:
		hint = "seconds are switched on; put 0 in front for second 0"
	case count > want:
		hint = "there is no year field, user or comment; nothing may follow the day of week"
	}
	text := strings.Trim(p.text, " \t")
	return p.fault("expression", p.starts[0], text, itoa(count)+" fields; "+form, hint)
}

// field reads the comma-separated list of one field.
func (p *parser) field(f fieldKind, text string, at int) *Error {
	p.texts[f], p.starts[f] = text, at
	defer func() { p.ends[f] = p.count }()
	if text == "?" && (f == fieldDay || f == fieldWeekday) {
		p.add(element{kind: kindStar})
		return nil
	}
	for from := 0; ; {
		to := strings.IndexByte(text[from:], ',')
		if to < 0 {
			to = len(text)
		} else {
			to += from
		}
		if from == to {
			return p.fault(f.name(), at+max(0, from-1), ",", "an empty element in a list", "remove the comma that has nothing beside it")
		}
		r := reader{field: f, text: text[from:to]}
		el, fault := r.element()
		p.work += to - from
		if fault != nil {
			return p.fault(f.name(), at+from+fault.at, fault.text, fault.reason, fault.hint)
		}
		p.add(el)
		if to == len(text) {
			return nil
		}
		from = to + 1
	}
}

// fieldAt names the field that holds a byte, where the count of fields says which.
func (p *parser) fieldAt(at, count int) string {
	offset := fieldKind(1)
	if p.seconds {
		offset = 0
	}
	if count != fieldCount-int(offset) {
		return "expression"
	}
	for n := count - 1; n >= 0; n-- {
		if at >= p.starts[n] {
			return (fieldKind(n) + offset).name()
		}
	}
	return "expression"
}

func (p *parser) fault(field string, at int, text, reason, hint string) *Error {
	// Copies, so that neither the parser nor a long text is kept alive by its error.
	return &Error{Expr: strings.Clone(clip(p.text)), Field: field, Text: strings.Clone(clip(text)), Reason: reason, Hint: hint, Pos: at}
}

// never is the error for an expression that no date satisfies. Weekdays always come
// somewhere, so the fault lies with the day of the month.
func (p *parser) never() *Error {
	hint := "L is the last day of any month"
	if months := p.elementsOf(fieldMonth); len(months) == 1 && months[0].kind == kindValue {
		m := months[0].lo
		hint = monthNames[m-1] + " has at most " + itoa(monthLength(2000, m)) + " days; " + hint
	}
	err := p.fault(fieldDay.name(), p.starts[fieldDay], p.texts[fieldDay], "no month that is asked for has such a day", hint)
	err.never = true
	return err
}

func blank(c byte) bool { return c == ' ' || c == '\t' }
