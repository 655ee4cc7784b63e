package cron

import (
	"fmt"
	"time"
)

// MaxTransitions is the most changes of a zone that one call looks at: five centuries
// of two a year. What lies behind is left out.
const MaxTransitions = 1000

// maxEffect is the most occurrences that an Effect lists, in order.
const maxEffect = 100

// TransitionKind says which way a zone's clocks were changed.
type TransitionKind uint8

const (
	// TransitionGap: the clocks went forward; some local times do not exist.
	TransitionGap TransitionKind = iota + 1
	// TransitionOverlap: the clocks went back; some local times come twice.
	TransitionOverlap
)

// String gives "gap" or "overlap".
func (k TransitionKind) String() string {
	return word([]string{"none", "gap", "overlap"}, uint8(k), "TransitionKind")
}

// Transition is one change of a zone's offset from UTC.
type Transition struct {
	// At is the first instant of the new offset, in UTC.
	At time.Time
	// Kind is the sign of Shift in a word.
	Kind TransitionKind
	// Shift is how far the clocks went forward; less than zero: back.
	Shift time.Duration
	// LocalFrom is what the clocks would have shown at At without the change, and
	// LocalTo what they showed. Both are readings of a clock: their zone says UTC and
	// means nothing. Between them lie the times that do not exist (LocalFrom is the
	// first of them, LocalTo is past the last), or those that come twice (then LocalTo
	// is the first and LocalFrom past the last).
	LocalFrom, LocalTo time.Time
}

// Transitions lists the changes of a zone's offset in [from, to), ascending, at most
// MaxTransitions. Changes of a zone's name alone are none. The caller owns the slice.
func Transitions(zone *time.Location, from, to time.Time) []Transition {
	var list []Transition
	u, stop := max(clamp(ceilUnix(from)), minInstant), clamp(ceilUnix(to))
	s := segmentAt(zone, u-1)
	for range MaxTransitions {
		if s.end >= stop {
			break
		}
		if s.end >= u && s.after != s.offset {
			list = append(list, transition(&s))
		}
		s = segmentAt(zone, s.end)
	}
	return list
}

// transition is the change at the end of a segment.
func transition(s *segment) Transition {
	t := Transition{
		At:        time.Unix(s.end, 0).UTC(),
		Kind:      TransitionGap,
		Shift:     time.Duration(s.after-s.offset) * time.Second,
		LocalFrom: time.Unix(s.end+s.offset, 0).UTC(),
		LocalTo:   time.Unix(s.end+s.after, 0).UTC(),
	}
	if t.Shift < 0 {
		t.Kind = TransitionOverlap
	}
	return t
}

// Effect is what a transition does to an expression. The zero value: nothing that
// would be noticed.
type Effect struct {
	// Text says it in plain English: "02:30 does not exist; runs at 03:30".
	Text string
	// Occurrences are those that the transition moved or doubled or could have
	// doubled, ascending, at most 100, on the zone's clock. The caller owns them.
	Occurrences []time.Time
}

// Effect says what a transition of the zone does to the expression. An expression
// that runs all the day long at even distances does so across a transition too, and
// is not affected.
func (e *Expr) Effect(t Transition, zone *time.Location) Effect {
	if t.Kind == TransitionGap {
		return e.gapEffect(t, zone)
	}
	return e.overlapEffect(t, zone)
}

func (e *Expr) gapEffect(t Transition, zone *time.Location) Effect {
	shift := t.Shift
	skipped, noticed := stretch{}, !e.wild
	merged := 0
	for n := t.LocalFrom.Unix(); ; n++ {
		var ok bool
		if n, ok = e.nextNominal(n); !ok || n >= t.LocalTo.Unix() {
			break
		}
		skipped.add(n)
		if e.matches(n + int64(shift/time.Second)) {
			merged++
		} else {
			noticed = true
		}
	}
	if skipped.count == 0 || !noticed {
		return Effect{}
	}
	moved := skipped.moved(shift)
	dated := !sameDay(skipped.first, moved.last)
	text := skipped.text(dated) + skipped.pick(" does not exist; ", " do not exist; ")
	if e.options.Gap == GapSkip {
		return Effect{Text: text + skipped.pick("it is skipped", "they are skipped")}
	}
	text += skipped.pick("runs at ", "they run at ") + moved.text(dated)
	switch merged {
	case 0:
	case skipped.count:
		text += ", which is one with the run due there anyway"
	default:
		text += ", in part one with runs due there anyway"
	}
	return Effect{Text: text, Occurrences: e.some(t.At, t.At.Add(shift), zone)}
}

func (e *Expr) overlapEffect(t Transition, zone *time.Location) Effect {
	var twice stretch
	for n := t.LocalTo.Unix(); ; n++ {
		var ok bool
		if n, ok = e.nextNominal(n); !ok || n >= t.LocalFrom.Unix() {
			break
		}
		twice.add(n)
	}
	if twice.count == 0 || e.readings == RepeatBoth && e.hour == 1<<24-1 {
		return Effect{}
	}
	text := twice.text(!sameDay(twice.first, twice.last)) + twice.pick(" comes twice; it runs ", " come twice; they run ")
	switch e.readings {
	case RepeatFirst:
		text += "once, at the first reading"
	case RepeatLast:
		text += "once, at the last reading"
	default:
		text += "at both readings"
	}
	return Effect{Text: text, Occurrences: e.some(t.At.Add(t.Shift), t.At.Add(-t.Shift), zone)}
}

// some collects the first maxEffect occurrences of a window.
func (e *Expr) some(start, end time.Time, zone *time.Location) []time.Time {
	var list []time.Time
	for t := range e.Between(start, end, zone) {
		if list = append(list, t); len(list) == maxEffect {
			break
		}
	}
	return list
}

// stretch is a run of local times, from the first to the last.
type stretch struct {
	first, last time.Time
	count       int
}

func (r *stretch) add(n int64) {
	r.last = time.Unix(n, 0).UTC()
	if r.count++; r.count == 1 {
		r.first = r.last
	}
}

func (r *stretch) moved(d time.Duration) stretch {
	return stretch{first: r.first.Add(d), last: r.last.Add(d), count: r.count}
}

// text writes the local times, with their dates where one does not go without saying.
func (r *stretch) text(dated bool) string {
	layout := "15:04"
	if r.first.Second() != 0 || r.last.Second() != 0 {
		layout = "15:04:05"
	}
	if dated {
		layout = "2006-01-02 " + layout
	}
	switch r.count {
	case 1:
		return r.first.Format(layout)
	case 2:
		return r.first.Format(layout) + " and " + r.last.Format(layout)
	}
	return fmt.Sprintf("%d times from %s to %s", r.count, r.first.Format(layout), r.last.Format(layout))
}

func (r *stretch) pick(one, many string) string {
	if r.count == 1 {
		return one
	}
	return many
}

func sameDay(a, b time.Time) bool { return a.YearDay() == b.YearDay() && a.Year() == b.Year() }
