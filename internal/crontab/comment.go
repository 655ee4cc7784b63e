package crontab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
)

// A setting is one key=value of a belfry comment.
type setting struct {
	name, value string
	place       manifest.Place
}

var (
	marker = regexp.MustCompile(`(?i)^#+[ \t]*belfry:`)
	header = regexp.MustCompile(`(?i)^m(in[a-z]*)?[ \t]+h(our[a-z]*)?[ \t]`) // "m h dom mon dow command"
)

// maxComment bounds a description made of comments, in bytes.
const maxComment = 1000

// comment takes the settings of a belfry comment, and keeps the words of any other for the line below.
func (c *reader) comment(line string, start int) {
	if mark := marker.FindString(line[start:]); mark != "" {
		c.settingsOf(line, start+len(mark))
		return
	}
	words := strings.TrimFunc(strings.TrimLeft(line[start:], "#"), unicode.IsSpace)
	if words == "" || !unicode.IsLetter([]rune(words)[0]) || header.MatchString(words) {
		return // a rule, a heading of columns, or a line that was switched off
	}
	c.comments = append(c.comments, words)
}

// description is what the comments directly above say.
func (c *reader) description() string {
	text := strings.Join(c.comments, " ")
	if len(text) > maxComment {
		text = strings.ToValidUTF8(text[:maxComment], "") + "…"
	}
	return text
}

// settingsOf reads the key=value pairs that follow the marker. A value with blanks stands in quotes.
func (c *reader) settingsOf(line string, at int) {
	found := 0
	for {
		rest := strings.TrimLeft(line[at:], blanks)
		if at = len(line) - len(rest); rest == "" {
			break
		}
		found++
		end := strings.IndexAny(rest, blanks+"=")
		if end < 0 {
			end = len(rest)
		}
		s := setting{name: rest[:end], place: c.at(at)}
		if end == len(rest) || rest[end] != '=' {
			c.add(s.place, schedule.Problem{Code: schedule.CodeBadFormat, Message: fmt.Sprintf("%q is not of the form key=value", rest[:end])})
			at += end
			continue
		}
		var after string
		var ok bool
		if s.value, after, ok = quoted(rest[end+1:]); !ok {
			length := strings.IndexAny(rest[end+1:]+" ", blanks)
			s.value, after = rest[end+1:end+1+length], rest[end+1+length:]
		}
		at = len(line) - len(after)
		c.keep(s)
	}
	if found == 0 {
		c.add(c.at(at), schedule.Problem{Code: schedule.CodeRequired, Message: "the comment sets nothing", Hint: "write # belfry: name=x timeout=1h"})
	}
}

// keep checks a setting's key and keeps the setting for the line below.
func (c *reader) keep(s setting) {
	p := schedule.Problem{Pointer: "/" + schedule.Escape(s.name)}
	switch {
	case !slices.Contains(Settings(), s.name):
		p.Code, p.Message = schedule.CodeUnknownKey, "there is no such key"
		p.Allowed, p.Hint = Settings(), schedule.DidYouMean(s.name, Settings())
	case slices.ContainsFunc(c.settings, func(other setting) bool { return other.name == s.name }):
		p.Code, p.Message = schedule.CodeDuplicateKey, "the key is given twice"
	case s.value == "":
		p.Code, p.Message = schedule.CodeRequired, "has no value"
	default:
		c.settings = append(c.settings, s)
		return
	}
	c.add(s.place, p)
}
