package crontab

import (
	"fmt"
	"strings"

	"github.com/belfryhq/belfry/schedule"
)

// blanks part the fields of a line; nothing else does.
const blanks = " \t"

// assignment takes a line of the form NAME = value and reports whether it is one. As in cron, a name or a value may
// stand in quotes of either kind; without quotes a value loses the blanks at its ends, and nothing is expanded.
func (c *reader) assignment(line string, start int) bool {
	name, rest, ok := quoted(line[start:])
	if !ok {
		end := strings.IndexAny(line[start:], blanks+"=")
		if end <= 0 {
			return false
		}
		name, rest = line[start:start+end], line[start+end:]
	}
	rest = strings.TrimLeft(rest, blanks)
	if rest == "" || rest[0] != '=' {
		return false
	}
	rest = strings.TrimLeft(rest[1:], blanks)
	at := len(line) - len(rest)
	value, after, ok := quoted(rest)
	switch {
	case ok && strings.Trim(after, blanks) != "":
		c.add(c.at(len(line)-len(after)), schedule.Problem{Pointer: "/" + name, Code: schedule.CodeBadFormat,
			Message: fmt.Sprintf("%q follows the closing quote", strings.Trim(after, blanks))})
		return true
	case !ok:
		value = strings.TrimRight(rest, blanks)
	}
	c.set(name, variable{value, c.at(at)}, start)
	return true
}

// quoted takes a text in quotes off the front.
func quoted(text string) (inner, rest string, ok bool) {
	if text == "" || text[0] != '"' && text[0] != '\'' {
		return "", text, false
	}
	end := strings.IndexByte(text[1:], text[0])
	if end < 0 {
		return "", text, false
	}
	return text[1 : 1+end], text[2+end:], true
}

// set puts a variable into force for the lines below.
func (c *reader) set(name string, v variable, start int) {
	switch {
	case !schedule.ValidVariable(name):
		c.add(c.at(start), schedule.Problem{Code: schedule.CodeBadFormat,
			Message: fmt.Sprintf("%q is no name of a variable: letters, digits and _, no digit first", name)})
	case strings.HasPrefix(name, "BELFRY_"):
		c.add(c.at(start), schedule.Problem{Code: schedule.CodeConflict,
			Message: fmt.Sprintf("%s: names that begin with BELFRY_ are set by Belfry itself", name)})
	case name == "CRON_TZ":
		c.setZone(v)
	case unused[name] != "":
		c.reportVariable(name, v.value)
	default:
		c.env[name] = v
		if len(c.env) > maxVariables {
			c.full = true
			c.add(c.at(start), schedule.Problem{Code: schedule.CodeLimit, Message: fmt.Sprintf("more than %d variables are set", maxVariables)})
		}
		c.reportVariable(name, v.value)
	}
}

func (c *reader) setZone(v variable) {
	zone := v.value
	if zone == "" {
		zone = c.options.Zone
	}
	if _, err := schedule.Zone(zone); err != nil {
		for _, p := range problemsOf(err) {
			p.Pointer = "/CRON_TZ"
			c.add(v.place, p)
		}
		return // lines below keep the zone above, so that this is the only problem
	}
	c.zone, c.zonePlace = zone, v.place
}
