package cron

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// The oracle is the slow, obvious reading of the rules in the cases' README. It walks
// UTC minute by minute, asks package time for the fields of each, and shares no code
// with the package: not the parser, not the calendar, not the zone arithmetic.

type oracle struct {
	seconds, minutes, hours []bool
	day                     func(date time.Time) bool
	everywhere              bool // a star or step in minute or hour: both readings
	gap, repeat             string
}

func newOracle(text string, seconds bool, gap, repeat string) oracle {
	fields := strings.Fields(text)
	if !seconds {
		fields = append([]string{"0"}, fields...)
	}
	o := oracle{
		seconds: oracleValues(fields[0], 0, 59, nil),
		minutes: oracleValues(fields[1], 0, 59, nil),
		hours:   oracleValues(fields[2], 0, 23, nil),
		gap:     gap, repeat: repeat,
	}
	o.everywhere = strings.ContainsAny(fields[1]+fields[2], "*/")
	months := oracleValues(fields[4], 1, 12, []string{"", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"})
	free := func(f string) bool { return f == "*" || f == "?" }
	o.day = func(d time.Time) bool {
		if !months[int(d.Month())] {
			return false
		}
		byDay, byWeekday := oracleDay(fields[3], d), oracleWeekday(fields[5], d)
		if !free(fields[3]) && !free(fields[5]) {
			return byDay || byWeekday
		}
		return byDay && byWeekday
	}
	return o
}

func oracleValues(list string, lo, hi int, names []string) []bool {
	set := make([]bool, hi+1)
	for _, el := range strings.Split(list, ",") {
		for _, v := range oracleElement(el, lo, hi, names) {
			set[v] = true
		}
	}
	return set
}

func oracleElement(el string, lo, hi int, names []string) []int {
	body, stepText, _ := strings.Cut(el, "/")
	step := 1
	if stepText != "" {
		step, _ = strconv.Atoi(stepText)
	}
	from, to := lo, hi
	if body != "*" && body != "?" {
		a, b, isRange := strings.Cut(body, "-")
		from = oracleNumber(a, names)
		to = from
		if isRange {
			to = oracleNumber(b, names)
			if strings.EqualFold(b, "SUN") {
				to = 7
			}
		}
	}
	var values []int
	for v := from; v <= to; v += step {
		values = append(values, v)
	}
	return values
}

func oracleNumber(text string, names []string) int {
	if i := slices.Index(names, strings.ToUpper(text)); i >= 0 && text != "" {
		return i
	}
	n, _ := strconv.Atoi(text)
	return n
}

func oracleDay(list string, d time.Time) bool {
	last := time.Date(d.Year(), d.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	works := func(day int) bool {
		w := time.Date(d.Year(), d.Month(), day, 0, 0, 0, 0, time.UTC).Weekday()
		return w != time.Saturday && w != time.Sunday
	}
	for _, el := range strings.Split(strings.ToUpper(list), ",") {
		switch {
		case el == "LW":
			day := last
			for !works(day) {
				day--
			}
			if d.Day() == day {
				return true
			}
		case strings.HasPrefix(el, "L"):
			n, _ := strconv.Atoi(strings.TrimPrefix(el[1:], "-"))
			if d.Day() == last-n {
				return true
			}
		case strings.HasSuffix(el, "W"):
			n, _ := strconv.Atoi(strings.TrimSuffix(el, "W"))
			if n <= last && d.Day() == oracleNearest(n, last, works) {
				return true
			}
		default:
			if slices.Contains(oracleElement(el, 1, 31, nil), d.Day()) {
				return true
			}
		}
	}
	return false
}

func oracleNearest(n, last int, works func(int) bool) int {
	for away := 0; ; away++ {
		for _, day := range []int{n - away, n + away} {
			if day >= 1 && day <= last && works(day) {
				return day
			}
		}
	}
}

func oracleWeekday(list string, d time.Time) bool {
	names := []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
	is := func(n int) bool { return int(d.Weekday()) == n%7 }
	for _, el := range strings.Split(strings.ToUpper(list), ",") {
		if name, nth, ok := strings.Cut(el, "#"); ok {
			n, _ := strconv.Atoi(nth)
			if is(oracleNumber(name, names)) && (d.Day()-1)/7+1 == n {
				return true
			}
			continue
		}
		if name, ok := strings.CutSuffix(el, "L"); ok {
			if is(oracleNumber(name, names)) && d.AddDate(0, 0, 7).Month() != d.Month() {
				return true
			}
			continue
		}
		for _, v := range oracleElement(el, 0, 7, names) {
			// A star stands for Sunday once, as 0; as 7 a step may not meet it again.
			if is(v) && (v < 7 || !strings.HasPrefix(el, "*")) {
				return true
			}
		}
	}
	return false
}

// oracleWindow is what a zone's clock shows minute by minute around a window: for
// each local minute the instants that show it, and for a skipped one the instant it
// is moved to.
type oracleWindow struct {
	start, end time.Time
	first      time.Time // local minute number 0, as if in UTC
	readings   [][]time.Time
	late       []time.Time
}

// oracleMargin is more than the clocks ever move.
const oracleMargin = 26 * time.Hour

func newOracleWindow(zone *time.Location, start, end time.Time) oracleWindow {
	local := func(u time.Time) time.Time {
		l := u.In(zone)
		return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
	}
	w := oracleWindow{start: start, end: end}
	y, m, d := start.Add(-2 * oracleMargin).Date()
	w.first = time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	size := int(end.Add(2*oracleMargin).Sub(w.first) / time.Minute)
	w.readings, w.late = make([][]time.Time, size), make([]time.Time, size)
	before := -1
	for u := start.Add(-oracleMargin); u.Before(end.Add(oracleMargin)); u = u.Add(time.Minute) {
		n := int(local(u).Sub(w.first) / time.Minute)
		w.readings[n] = append(w.readings[n], u)
		for skipped := before + 1; before >= 0 && skipped < n; skipped++ {
			w.late[skipped] = u.Add(time.Duration(skipped-before-1) * time.Minute)
		}
		before = n
	}
	return w
}

// occurrences are those of the expression within the window.
func (o oracle) occurrences(w oracleWindow) []time.Time {
	var minutes []time.Time
	for n := 0; n < len(w.readings); n++ {
		if n%1440 == 0 && !o.day(w.first.AddDate(0, 0, n/1440)) {
			n += 1439
			continue
		}
		if !o.hours[n/60%24] || !o.minutes[n%60] {
			continue
		}
		minutes = append(minutes, o.instants(w, n)...)
	}
	var list []time.Time
	for _, m := range minutes {
		for s, on := range o.seconds {
			if !on {
				continue
			}
			if t := m.Add(time.Duration(s) * time.Second); !t.Before(w.start) && t.Before(w.end) {
				list = append(list, t)
			}
		}
	}
	slices.SortFunc(list, time.Time.Compare)
	return slices.CompactFunc(list, time.Time.Equal)
}

// instants are where one local minute is due.
func (o oracle) instants(w oracleWindow, n int) []time.Time {
	all := w.readings[n]
	if len(all) == 0 {
		if w.late[n].IsZero() || o.gap == "skip" {
			return nil
		}
		return w.late[n : n+1]
	}
	switch {
	case o.repeat == "both" || o.repeat == "auto" && o.everywhere:
		return all
	case o.repeat == "last":
		return all[len(all)-1:]
	}
	return all[:1]
}
