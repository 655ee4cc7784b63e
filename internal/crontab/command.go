package crontab

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
)

// apply gives the settings of belfry comments to a spec. It returns the name, if one is set, and where each key stands.
func (c *reader) apply(spec *schedule.Spec) (name string, places map[string]manifest.Place) {
	places = make(map[string]manifest.Place, len(c.settings)+3)
	for _, s := range c.settings {
		if s.name == "name" {
			name, places["/metadata/name"] = s.value, s.place
			continue
		}
		kind := settingsTable[s.name]
		places[kind.pointer] = s.place
		if err := kind.set(spec, s.value); err != nil {
			c.add(s.place, schedule.Problem{Pointer: "/" + s.name, Code: schedule.CodeBadFormat, Message: err.Error()})
		}
	}
	return name, places
}

// command sets what a line runs: the command up to the first %, and what is given to its input.
func (c *reader) command(spec *schedule.Spec, text string, places map[string]manifest.Place) {
	target := spec.Target.Command
	target.Shell, target.Stdin = percent(text)
	if len(c.env) > 0 {
		target.Env = make(map[string]string, len(c.env))
	}
	for name, v := range c.env {
		target.Env[name] = v.value
		places["/spec/target/command/env/"+name] = v.place
	}
	if shell := c.env["SHELL"]; shell.value != "" {
		target.Interpreter, places["/spec/target/command/interpreter"] = shell.value, shell.place
	}
	if home := c.env["HOME"]; home.value != "" {
		target.Dir, places["/spec/target/command/dir"] = home.value, home.place
	}
}

// percent parts a command from its input as cron does. In the command \% is a percent sign and any other backslash
// stays; the first bare % ends it. In the input each bare % is a newline, and a last newline is added.
func percent(text string) (command, input string) {
	out := make([]byte, 0, len(text))
	escaped := false
	for i := range len(text) {
		ch := text[i]
		switch {
		case escaped && ch == '%':
			out[len(out)-1] = '%' // in place of the backslash
			escaped = false
		case ch == '%':
			return string(out), percentInput(text[i+1:])
		default:
			out = append(out, ch)
			escaped = ch == '\\' && !escaped
		}
	}
	return string(out), ""
}

// percentInput differs from percent in what follows a backslash, as cron does.
func percentInput(text string) string {
	var b strings.Builder
	escaped := false
	for i := range len(text) {
		ch := text[i]
		switch {
		case escaped && ch != '%':
			b.WriteByte('\\')
		case !escaped && ch == '%':
			ch = '\n'
		}
		if escaped = ch == '\\'; !escaped {
			b.WriteByte(ch)
		}
	}
	if escaped {
		b.WriteByte('\\')
	}
	if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}

// digest is the second half of the name of a line that has none: what the line does, but not when. The parts of the
// digest end in NUL, which no line contains, so that no two lists of parts have one text.
func (c *reader) digest(user, zone, command string) string {
	if zone == "" {
		zone = "UTC"
	}
	parts := []string{user, zone}
	for _, name := range slices.Sorted(maps.Keys(c.env)) {
		parts = append(parts, name+"="+c.env[name].value)
	}
	digest := sha256.Sum256([]byte(strings.Join(append(parts, command), "\x00") + "\x00"))
	return hex.EncodeToString(digest[:3])
}

// maxSlug leaves room for the digest and a number within the length of a name.
const maxSlug = 80

// slug makes a name of the command's word: the last part of its path, behind assignments.
func slug(command string) string {
	word := ""
	for _, word = range strings.Fields(command) {
		name, _, assigns := strings.Cut(word, "=")
		if !assigns || !schedule.ValidVariable(name) {
			break
		}
	}
	word = strings.ToLower(word[strings.LastIndexByte(word, '/')+1:])
	var b strings.Builder
	for i := range len(word) {
		ch := word[i]
		switch {
		case ch >= 'a' && ch <= 'z', ch >= '0' && ch <= '9':
			b.WriteByte(ch)
		case b.Len() > 0 && (ch == '.' || ch == '_'):
			b.WriteByte(ch)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == maxSlug {
			break
		}
	}
	if text := strings.Trim(b.String(), "-"); text != "" {
		return text
	}
	return "line"
}

// name names the items that no comment names: in the order of lines, and around the names that comments give.
func (c *reader) name() {
	taken := make(map[string]bool, len(c.items))
	for _, item := range c.items {
		taken[item.Name] = true
	}
	next := make(map[string]int, len(c.items))
	for i, base := range c.bases {
		for base != "" && (c.items[i].Name == "" || taken[c.items[i].Name]) {
			next[base]++
			c.items[i].Name = base
			if n := next[base]; n > 1 {
				c.items[i].Name = fmt.Sprintf("%s-%d", base, n)
			}
		}
		taken[c.items[i].Name] = true
		c.report[c.entries[i]].Name = c.items[i].Name
	}
}
