package cron

import (
	"slices"
	"strconv"
	"strings"
)

// compile turns the syntax tree into masks.
func (e *Expr) compile(p *parser) {
	e.sec = p.mask(fieldSecond)
	e.min = p.mask(fieldMinute)
	e.hour = uint32(p.mask(fieldHour))
	e.dom = uint32(p.mask(fieldDay))
	e.months = uint16(p.mask(fieldMonth))
	week := p.mask(fieldWeekday)
	e.dow = uint8(week&0x7f | week>>7)
	for f := range fieldKind(fieldCount) {
		for _, el := range p.elementsOf(f) {
			e.mark(f, el)
		}
	}
	byDay, byWeekday := restricted(p.elementsOf(fieldDay)), restricted(p.elementsOf(fieldWeekday))
	e.either = byDay && byWeekday
	e.special = e.last|e.nearest != 0 || e.lastWeekday || e.dowLast != 0 || e.nth != [5]uint8{}
	e.weekly = !byDay && !e.special && e.months == 1<<13-2
	e.readings = e.options.Repeat
	if e.readings == RepeatAuto {
		e.readings = RepeatFirst
		if e.wild {
			e.readings = RepeatBoth
		}
	}
}

// mark notes what an element means beyond the values that mask collects.
func (e *Expr) mark(f fieldKind, el element) {
	switch el.kind {
	case kindStar, kindRange:
		if f.isClock() && (el.kind == kindStar || el.step > 0) {
			e.wild = true
		}
	case kindNearest:
		e.nearest |= 1 << el.lo
	case kindLast:
		e.last |= 1 << el.lo
	case kindLastWeekday:
		e.lastWeekday = true
	case kindLastOf:
		e.dowLast |= 1 << el.lo
	case kindNth:
		e.nth[el.hi-1] |= 1 << el.lo
	}
}

// restricted tells whether a day field is anything but a single star.
func restricted(elements []element) bool {
	return len(elements) != 1 || elements[0].kind != kindStar || elements[0].step != 0
}

// mask collects the values of a field's stars, ranges and plain values.
func (p *parser) mask(f fieldKind) uint64 {
	var set uint64
	for _, el := range p.elementsOf(f) {
		switch el.kind {
		case kindValue:
			set |= 1 << el.lo
		case kindStar, kindRange:
			lo, hi := el.bounds(f)
			for v := lo; v <= hi; v += max(1, el.step) {
				set |= 1 << v
				p.work++
			}
		}
	}
	return set
}

// bounds are the low and the high end of a star or range.
func (el element) bounds(f fieldKind) (lo, hi int) {
	if el.kind == kindStar {
		return f.min(), f.top()
	}
	return el.lo, el.hi
}

// canonical writes the tree as text. The given text is returned where it is
// canonical already, to save a copy.
func (p *parser) canonical(given string) string {
	var buffer [96]byte
	b := buffer[:0]
	for f := range fieldKind(fieldCount) {
		if f == fieldSecond && !p.seconds {
			continue
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = p.appendField(b, f)
	}
	if string(b) == given {
		return given
	}
	return string(b)
}

// appendField writes one field's elements sorted and without doubles. A list with a
// star is a star, but not in the day fields, where only a star alone is unrestricted:
// there it is written */1, so that "*,*" does not become "*" when doubles go.
func (p *parser) appendField(b []byte, f fieldKind) []byte {
	elements := p.elementsOf(f)
	for i := range elements {
		elements[i] = elements[i].plainest(f)
		if elements[i].kind == kindStar && elements[i].step == 0 && !f.isDay() {
			return append(b, '*')
		}
		if elements[i].kind == kindStar && len(elements) > 1 {
			elements[i].step = max(1, elements[i].step)
		}
	}
	slices.SortFunc(elements, element.compare)
	for i, el := range elements {
		if i > 0 && el == elements[i-1] {
			continue
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = el.append(b)
	}
	return b
}

// plainest is the simplest element of the same meaning: 7 is 0, and a step of 1 or a
// range of one value or of all goes, unless it decides whether a day field is
// restricted or a repeated time runs twice.
func (el element) plainest(f fieldKind) element {
	switch el.kind {
	case kindStar:
		el.lo, el.hi = 0, 0
		if el.step == 1 && !f.isDay() {
			el.step = 0
		}
	case kindRange:
		if el.step == 1 && !f.isClock() {
			el.step = 0
		}
		if el.lo == f.min() && el.hi == f.max() && el.step == 0 && !f.isDay() && !f.isClock() {
			return element{kind: kindStar}
		}
		if el.lo == el.hi && (el.step == 0 || !f.isClock()) {
			return element{kind: kindValue, lo: el.lo, hi: el.lo}.plainest(f)
		}
	case kindValue:
		if f == fieldWeekday {
			el.lo %= 7
		}
		el.hi = el.lo
	}
	return el
}

// compare orders the elements of a list by value, special days last.
func (el element) compare(other element) int {
	rank := func(e element) int {
		if e.kind <= kindValue {
			return 0
		}
		return int(e.kind)
	}
	for _, d := range [...]int{rank(el) - rank(other), el.lo - other.lo, el.hi - other.hi, int(el.kind) - int(other.kind), el.step - other.step} {
		if d != 0 {
			return d
		}
	}
	return 0
}

func (el element) append(b []byte) []byte {
	switch el.kind {
	case kindStar:
		b = append(b, '*')
	case kindRange:
		b = number(append(number(b, el.lo), '-'), el.hi)
	case kindValue:
		b = number(b, el.lo)
	case kindNearest:
		b = append(number(b, el.lo), 'W')
	case kindLast:
		b = append(b, 'L')
		if el.lo > 0 {
			b = number(append(b, '-'), el.lo)
		}
	case kindLastWeekday:
		b = append(b, "LW"...)
	case kindLastOf:
		b = append(number(b, el.lo), 'L')
	case kindNth:
		b = number(append(number(b, el.lo), '#'), el.hi)
	}
	if el.step > 0 {
		b = number(append(b, '/'), el.step)
	}
	return b
}

func number(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// tree reads the syntax tree from the canonical text again, for the rare callers
// that describe an expression; keeping it would double an Expr's size.
func (e *Expr) tree() *parser {
	p := new(parser)
	if err := p.parse(strings.Clone(e.text), e.options.Seconds); err != nil {
		return nil // the zero Expr, which has no text
	}
	return p
}
