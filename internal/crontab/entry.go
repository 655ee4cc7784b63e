package crontab

import (
	"errors"
	"fmt"
	"strings"

	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
)

// A field is a part of a line and its offset in it.
type field struct {
	text string
	at   int
}

// split takes n fields off a line; the last of the result is all that remains.
func split(line string, start, n int) []field {
	var fields []field
	for at := start; ; {
		rest := strings.TrimLeft(line[at:], blanks)
		at = len(line) - len(rest)
		end := strings.IndexAny(rest, blanks)
		switch {
		case rest == "":
			return fields
		case len(fields) == n || end < 0:
			return append(fields, field{rest, at})
		}
		fields = append(fields, field{rest[:end], at})
		at += end
	}
}

// entry takes a line of times and a command.
func (c *reader) entry(line string, start int) {
	if len(c.items) == MaxEntries {
		c.full = true
		c.add(c.at(start), schedule.Problem{Code: schedule.CodeLimit, Message: fmt.Sprintf("more than %d lines with a command", MaxEntries)})
		return
	}
	spec := schedule.Spec{Description: c.description(), Target: schedule.Target{Command: &schedule.Command{}}}
	name, places := c.apply(&spec)
	e := Entry{Line: c.line, Text: line, Result: Exact}
	times, user, command, ok := c.divide(line, start, spec.Trigger.Seconds)
	if !ok {
		return
	}
	if strings.EqualFold(times.text, "@reboot") {
		e.Result, e.Reasons = NotSupported, []string{"it names no time, and Belfry has no trigger for the start of the machine"}
		c.report = append(c.report, e)
		return
	}
	if spec.TimeZone == "" {
		spec.TimeZone = c.zone
		places["/spec/time_zone"] = c.zonePlace
	}
	if why := dayRule(times.text, spec.Trigger.Seconds); why != "" {
		e.Result, e.Reasons = Approximated, append(e.Reasons, why)
	}
	c.times(&spec, times)
	places["/spec/trigger"], places["/spec/target/command"] = c.at(times.at), c.at(command.at)
	c.command(&spec, command.text, places)
	if strings.Trim(spec.Target.Command.Shell, blanks) == "" {
		c.add(c.at(command.at), schedule.Problem{Code: schedule.CodeRequired, Message: "the command is empty: a % ends it", Hint: `write \% for a percent sign`})
		return
	}
	base := ""
	if name == "" {
		base = slug(spec.Target.Command.Shell) + "-" + c.digest(user.text, spec.TimeZone, command.text)
	}
	c.finish(spec, name, base, places)
	c.entries = append(c.entries, len(c.report))
	c.report = append(c.report, e)
}

// divide parts times, user and command. Times are one field that begins with @, two for @every, five, or six.
func (c *reader) divide(line string, start int, seconds bool) (times, user, command field, ok bool) {
	n := 5
	switch first := split(line, start, 1)[0].text; {
	case strings.EqualFold(first, "@every"):
		n = 2
	case first[0] == '@':
		n = 1
	case seconds:
		n = 6
	}
	columns := n
	if c.options.System {
		columns++
	}
	fields := split(line, start, columns)
	if len(fields) <= columns {
		c.add(c.at(start), tooShort(fields, n, c.options.System))
		return times, user, command, false
	}
	last := fields[n-1]
	times, command = field{line[start : last.at+len(last.text)], start}, fields[columns]
	if n == 5 && timeLike(fields[5].text) {
		c.add(c.at(fields[5].at), schedule.Problem{Code: schedule.CodeCronSyntax,
			Message: fmt.Sprintf("%q stands where %s should begin and looks like a sixth time field", word1(fields[5].text), map[bool]string{true: "the user", false: "the command"}[c.options.System]),
			Hint:    "for a seconds field in front, put this on the line above: # belfry: seconds=true"})
		return times, user, command, false
	}
	if c.options.System {
		user = fields[n]
		return times, user, command, c.mayRunAs(user)
	}
	return times, field{text: c.options.User}, command, true
}

func word1(text string) string {
	if end := strings.IndexAny(text, blanks); end >= 0 {
		return text[:end]
	}
	return text
}

// timeLike reports whether a command would begin with what only a time field looks like.
func timeLike(command string) bool {
	word := word1(command)
	return strings.Trim(word, "0123456789*,-/") == "" && strings.ContainsAny(word, "0123456789*") && word[0] != '/'
}

func tooShort(fields []field, n int, system bool) schedule.Problem {
	want := fmt.Sprintf("%d time fields and a command", n)
	if n == 1 {
		want = "a command after " + fields[0].text
	}
	if system {
		want = strings.Replace(want, "a command", "a user and a command", 1)
	}
	p := schedule.Problem{Code: schedule.CodeRequired, Message: fmt.Sprintf("the line has %d fields; it needs %s", len(fields), want)}
	if len(fields) == 1 {
		p.Message = fmt.Sprintf("%q is no comment, no assignment and no line with a command", fields[0].text)
		p.Hint = "write " + want
	}
	if fields[0].text[0] == '@' {
		p.Message, p.Hint = fmt.Sprintf("there is no command after %s", fields[0].text), ""
	}
	return p
}

// mayRunAs refuses lines of other users: commands run as the user that runs Belfry.
func (c *reader) mayRunAs(user field) bool {
	if user.text == c.options.Process && user.text != "" {
		return true
	}
	p := schedule.Problem{Code: schedule.CodeUser,
		Message: fmt.Sprintf("the line is to run as %q, and Belfry runs as %q; it does not change users yet", user.text, c.options.Process),
		Hint:    fmt.Sprintf("serve this line from a Belfry that runs as %s", user.text)}
	if c.options.Process == "root" {
		p.Hint = fmt.Sprintf("write root instead and begin the command with: runuser -u %s --", user.text)
	}
	c.add(c.at(user.at), p)
	return false
}

// times sets the trigger. A bad expression is reported at the very character, and replaced so that it is reported once.
func (c *reader) times(spec *schedule.Spec, times field) {
	spec.Trigger.Cron = []string{times.text}
	if strings.EqualFold(word1(times.text), "@every") {
		return
	}
	_, err := cron.Parse(times.text, cron.Options{Seconds: spec.Trigger.Seconds})
	if err == nil {
		return
	}
	at := times.at
	var e *cron.Error
	if errors.As(err, &e) {
		at += e.Pos
	}
	c.add(c.at(at), schedule.CronError(times.text, err))
	spec.Trigger.Cron = []string{"@yearly"}
}

// dayRule says where cron reads the two day fields otherwise: a field that begins with a star, such as */2, does not
// restrict the day for cron, so that both fields must match.
func dayRule(times string, seconds bool) string {
	fields := strings.Fields(times)
	if seconds && len(fields) > 0 {
		fields = fields[1:]
	}
	if len(fields) != 5 {
		return ""
	}
	dom, dow := fields[2], fields[4]
	plain := func(f string) bool { return f == "*" || f == "?" }
	if plain(dom) || plain(dow) || dom[0] != '*' && dow[0] != '*' {
		return ""
	}
	return fmt.Sprintf("Belfry runs on days that match either %s or %s; many crons want both where one begins with *", dom, dow)
}

// finish completes the spec and keeps the item; problems go to where their cause is written.
func (c *reader) finish(spec schedule.Spec, name, base string, places map[string]manifest.Place) {
	complete, err := spec.Complete(c.options.Defaults)
	if err != nil {
		for _, p := range problemsOf(err) {
			place := c.placeOf(p.Pointer, places)
			p.Pointer = short(p.Pointer)
			c.add(place, p)
		}
	}
	if name != "" && !schedule.ValidName(name) {
		for _, p := range problemsOf(schedule.Metadata{Name: name}.Validate()) {
			p.Pointer = "/name"
			c.add(places["/metadata/name"], p)
		}
	}
	where := c.at(0)
	if place, given := places["/metadata/name"]; given {
		where = place
	}
	c.items = append(c.items, manifest.Item{Tenant: c.options.Tenant, Name: name, Spec: complete, Where: where})
	c.bases = append(c.bases, base)
}

// placeOf is where the cause of a problem is written: at the pointer, or at the nearest one around it.
func (c *reader) placeOf(pointer string, places map[string]manifest.Place) manifest.Place {
	for ; pointer != ""; pointer = pointer[:max(strings.LastIndexByte(pointer, '/'), 0)] {
		if place, ok := places[pointer]; ok && place.Line > 0 {
			return place
		}
	}
	return c.at(0)
}

// short is how a crontab calls the key that a pointer leads to: as in a belfry comment, or by its variable. What stands
// in no key, the times and the command, needs no name beside its place.
func short(pointer string) string {
	switch pointer {
	case "/spec/trigger", "/spec/trigger/cron", "/spec/trigger/every", "/spec/target/command", "/spec/target/command/shell":
		return ""
	case "/spec/target/command/interpreter":
		return "/SHELL"
	case "/spec/target/command/dir":
		return "/HOME"
	}
	for name, kind := range settingsTable {
		if kind.pointer == pointer {
			return "/" + name
		}
	}
	return strings.TrimPrefix(pointer, "/spec/target/command/env")
}

func problemsOf(err error) []schedule.Problem {
	var e *schedule.Invalid
	if errors.As(err, &e) {
		return e.Problems
	}
	return nil
}
