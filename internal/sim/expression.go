package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// expression is a cron expression of numbers, stars, ranges, steps and lists: the part of the dialect that needs no
// calendar of its own.
type expression struct {
	seconds                          bool
	second, minute, hour, day, month []bool
	weekday                          []bool
	dayRestricted, weekdayRestricted bool
	fixed                            bool // no star and no step in its minute or its hour field
}

// readExpression reads one. It is given only what it can read, and panics otherwise.
func readExpression(text string, seconds bool) expression {
	e, ok := tryExpression(text, seconds)
	if !ok {
		panic("sim: cannot read " + strconv.Quote(text))
	}
	return e
}

func tryExpression(text string, seconds bool) (e expression, ok bool) {
	fields := strings.Fields(text)
	if !seconds {
		fields = append([]string{"0"}, fields...)
	}
	if len(fields) != 6 {
		return e, false
	}
	sets := make([][]bool, 6)
	for i, b := range [6][2]int{{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}} {
		if sets[i], ok = readField(fields[i], b[0], b[1]); !ok {
			return e, false
		}
	}
	e = expression{
		seconds: seconds, second: sets[0], minute: sets[1], hour: sets[2], day: sets[3], month: sets[4], weekday: sets[5],
		dayRestricted: fields[3] != "*" && fields[3] != "?", weekdayRestricted: fields[5] != "*" && fields[5] != "?",
		fixed: !strings.ContainsAny(fields[1]+fields[2], "*/"),
	}
	e.weekday[0] = e.weekday[0] || e.weekday[7] // both are Sunday
	return e, true
}

func readField(text string, low, high int) ([]bool, bool) {
	set := make([]bool, high+1)
	for element := range strings.SplitSeq(text, ",") {
		body, stepText, stepped := strings.Cut(element, "/")
		from, to, step := low, high, 1
		lowText, highText, ranged := strings.Cut(body, "-")
		var errs [3]error
		switch {
		case body == "*" || body == "?" && !stepped:
		case ranged:
			from, errs[0] = strconv.Atoi(lowText)
			to, errs[1] = strconv.Atoi(highText)
		case stepped:
			return nil, false
		default:
			from, errs[0] = strconv.Atoi(body)
			to = from
		}
		if stepped {
			step, errs[2] = strconv.Atoi(stepText)
		}
		if slices.ContainsFunc(errs[:], func(err error) bool { return err != nil }) || from < low || to > high || from > to || step < 1 {
			return nil, false
		}
		for v := from; v <= to; v += step {
			set[v] = true
		}
	}
	return set, true
}

// matches tells whether the clock shows a time that the expression names; shown is that time as if it were UTC.
func (e expression) matches(shown time.Time) bool {
	if !e.second[shown.Second()] || !e.minute[shown.Minute()] || !e.hour[shown.Hour()] || !e.month[shown.Month()] {
		return false
	}
	day, weekday := e.day[shown.Day()], e.weekday[shown.Weekday()]
	if e.dayRestricted && e.weekdayRestricted {
		return day || weekday
	}
	return day && weekday
}
