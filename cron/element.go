package cron

import "strings"

// maxDigits is how many digits, leading zeros apart, a number may have to be read at
// all, steps included. Larger ones are refused, never cut to size.
const maxDigits = 9

// reader reads one element of a list.
type reader struct {
	field fieldKind
	text  string
	at    int
}

// flaw is what is wrong with an element; at counts from the element's start.
type flaw struct {
	at                 int
	text, reason, hint string
}

func (r *reader) flaw(at int, text, reason, hint string) *flaw {
	return &flaw{at: at, text: strings.Clone(text), reason: reason, hint: hint}
}

func (r *reader) whole(reason, hint string) *flaw { return r.flaw(0, r.text, reason, hint) }

func (r *reader) rest() string { return r.text[r.at:] }

func (r *reader) done() bool { return r.at == len(r.text) }

// skip takes the byte c in any case of letters, if it comes next.
func (r *reader) skip(c byte) bool {
	if r.done() || upper(r.text[r.at]) != c {
		return false
	}
	r.at++
	return true
}

func (r *reader) element() (element, *flaw) {
	switch {
	case r.skip('*'):
		el := element{kind: kindStar, lo: r.field.min(), hi: r.field.top()}
		if r.done() {
			return el, nil
		}
		return r.step(el)
	case r.field == fieldDay && r.skip('L'):
		return r.lastDay()
	case r.text == "?":
		return element{}, r.whole("? stands alone, and only in the day of month and the day of week", "write *")
	}
	return r.plain()
}

// plain reads what begins with a value: the value, a range with or without a step,
// nW, dL or d#n.
func (r *reader) plain() (element, *flaw) {
	lo, fault := r.value(false)
	if fault != nil {
		return element{}, fault
	}
	el := element{kind: kindValue, lo: lo, hi: lo}
	switch {
	case r.done():
		return el, nil
	case r.skip('-'):
		return r.rangeFrom(el)
	case r.field == fieldDay && r.skip('W'):
		el.kind = kindNearest
	case r.field == fieldWeekday && r.skip('L'):
		el.kind = kindLastOf
	case r.field == fieldWeekday && r.skip('#'):
		return r.nth(el)
	case r.skip('/'):
		low := r.text[:r.at-1]
		return el, r.whole("a step needs * or a range before it", "write "+low+"-"+itoa(r.field.top())+r.text[r.at-1:])
	}
	if !r.done() {
		return el, r.trailing(el.kind)
	}
	if el.kind == kindLastOf {
		el.lo %= 7
	}
	el.hi = 0
	return el, nil
}

func (r *reader) rangeFrom(el element) (element, *flaw) {
	hi, fault := r.value(true)
	if fault != nil {
		return el, fault
	}
	el.kind, el.hi = kindRange, hi
	if hi < el.lo {
		return el, r.whole("the range ends before it starts", r.turned(el))
	}
	if r.done() {
		return el, nil
	}
	return r.step(el)
}

// turned is the hint for a range that runs over the end of its field.
func (r *reader) turned(el element) string {
	if r.field == fieldWeekday && el.hi == 0 {
		return "Sunday at the end of a range is 7"
	}
	return "for a range over the end write " + itoa(el.lo) + "-" + itoa(r.field.top()) + "," + itoa(r.field.min()) + "-" + itoa(el.hi)
}

func (r *reader) step(el element) (element, *flaw) {
	if !r.skip('/') {
		return el, r.trailing(el.kind)
	}
	from := r.at
	n, fault := r.number()
	if fault != nil {
		return el, fault
	}
	if !r.done() {
		return el, r.flaw(from, r.text[from:], "not a step: a plain number of 1 or more is due", "")
	}
	if n == 0 {
		return el, r.flaw(from, r.text[from:], "a step is 1 or more", "")
	}
	el.step = n
	return el, nil
}

// lastDay reads what may follow L in the day of month.
func (r *reader) lastDay() (element, *flaw) {
	switch {
	case r.done():
		return element{kind: kindLast}, nil
	case r.skip('W'):
		if r.done() {
			return element{kind: kindLastWeekday}, nil
		}
		return element{}, r.trailing(kindLastWeekday)
	case !r.skip('-'):
		return element{}, r.trailing(kindLast)
	}
	from := r.at
	n, fault := r.number()
	switch {
	case fault != nil:
		return element{}, fault
	case !r.done():
		return element{}, r.trailing(kindLast)
	case n > 30:
		return element{}, r.flaw(from, r.text[from:], "at most 30 days before the last day", "")
	}
	return element{kind: kindLast, lo: n}, nil
}

// nth reads the number behind d#.
func (r *reader) nth(el element) (element, *flaw) {
	from := r.at
	n, fault := r.number()
	switch {
	case fault != nil:
		return el, fault
	case !r.done():
		return el, r.trailing(kindNth)
	case n < 1 || n > 5:
		return el, r.flaw(from, r.text[from:], "a month has a 1st to a 5th such weekday", "the last one is "+r.text[:from-1]+"L")
	}
	return element{kind: kindNth, lo: el.lo % 7, hi: n}, nil
}

// value reads a number or a name and holds it to the field. As the end of a range,
// SUN is 7.
func (r *reader) value(end bool) (int, *flaw) {
	from := r.at
	if !r.done() && isLetter(r.text[r.at]) {
		return r.named(end)
	}
	n, fault := r.number()
	if fault != nil {
		return 0, fault
	}
	if n < r.field.min() || n > r.field.max() {
		return 0, r.flaw(from, r.text[from:r.at], "a "+r.field.name()+" is "+itoa(r.field.min())+" to "+itoa(r.field.max()), outsideHint(r.field, n))
	}
	return n, nil
}

func (r *reader) named(end bool) (int, *flaw) {
	from := r.at
	for !r.done() && isLetter(r.text[r.at]) {
		r.at++
	}
	word := r.text[from:r.at]
	// FRIL is FRI and L.
	if r.field == fieldWeekday && len(word) == 4 && upper(word[3]) == 'L' && nameIndex(r.field, word[:3]) >= 0 {
		r.at--
		word = word[:3]
	}
	n := nameIndex(r.field, word)
	if n < 0 {
		return 0, r.flaw(from, word, "not a name of the "+r.field.name()+" field", nameHint(r.field, word))
	}
	if end && r.field == fieldWeekday && n == 0 {
		return 7, nil
	}
	return n + r.field.min(), nil
}

// number reads plain digits.
func (r *reader) number() (int, *flaw) {
	from, n, digits := r.at, 0, 0
	for !r.done() && r.text[r.at] >= '0' && r.text[r.at] <= '9' {
		if digits < maxDigits {
			n = n*10 + int(r.text[r.at]-'0')
		}
		if n > 0 {
			digits++
		}
		r.at++
	}
	switch {
	case r.at == from && r.done():
		return 0, r.whole("a number is missing at the end", "")
	case r.at == from:
		return 0, r.flaw(from, r.rest(), "a number is due here", signHint(r.rest()))
	case digits > maxDigits:
		return 0, r.flaw(from, r.text[from:r.at], "the number is too big", "")
	}
	return n, nil
}

// trailing is the flaw of something behind an element that is complete.
func (r *reader) trailing(kind elementKind) *flaw {
	reason := "nothing may follow " + r.text[:r.at] + " but a comma"
	var hint string
	switch {
	case kind == kindNearest || kind == kindLast || kind == kindLastWeekday || kind == kindLastOf || kind == kindNth:
		reason, hint = "L, W and # take no range and no step", "list such days one by one, parted by commas"
	case kind == kindRange && strings.ContainsAny(r.rest(), "WwLl#"):
		reason, hint = "L, W and # take no range", "list such days one by one, parted by commas"
	case kind == kindStar:
		hint = "a step is written */5"
	default:
		hint = formHint(r.field, r.rest())
	}
	return r.flaw(r.at, r.rest(), reason, hint)
}

func isLetter(c byte) bool { c = upper(c); return c >= 'A' && c <= 'Z' }

func upper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}
