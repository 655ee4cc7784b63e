package crontab

import (
	"fmt"
	"io"
	"strings"

	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
)

// The limits of one crontab, besides those of manifest.Slurp.
const (
	MaxEntries   = 10_000   // lines with a command
	maxLine      = 64 << 10 // bytes
	maxVariables = 200      // in force at one line
)

// Options say how a crontab is to be read. The zero value reads a user's crontab, in UTC.
type Options struct {
	System   bool              // a user stands between the times and the command
	Process  string            // with System: the user that Belfry runs as; lines of others are refused
	User     string            // without System: whose crontab it is; part of the names, usually left empty
	Zone     string            // of lines above the first CRON_TZ; "": UTC
	Tenant   string            // of every schedule
	Defaults schedule.Defaults // of the installation
}

// A Crontab is what Read made of a file.
type Crontab struct {
	Items  []manifest.Item // in the order of lines
	Report []Entry         // one for each line that cron would act upon
}

// Read reads a crontab. The error is a *manifest.Error that lists all problems, or what r returned; nothing is taken
// then, but the Report is filled as far as lines could be read.
func Read(file string, r io.Reader, o Options) (Crontab, error) {
	text, err := manifest.Slurp(file, r)
	if err != nil {
		return Crontab{}, err
	}
	c := &reader{file: file, options: o, zone: o.Zone, env: map[string]variable{}}
	if _, err := schedule.Zone(o.Zone); err != nil {
		return Crontab{}, fmt.Errorf("zone of %s: %w", file, err)
	}
	for line := range strings.Lines(string(text)) {
		c.line++
		c.read(strings.TrimRight(line, "\r\n"))
		if c.full || len(c.problems) > manifest.MaxProblems {
			break
		}
	}
	c.dangling()
	c.name()
	if err := manifest.NewError(file, append(c.problems, c.twins()...)); err != nil {
		return Crontab{Report: c.report}, err
	}
	return Crontab{Items: c.items, Report: c.report}, nil
}

// A reader is where reading stands: at one line, with what the lines above it set.
type reader struct {
	file    string
	options Options
	line    int // the current one, from 1
	full    bool

	zone      string
	zonePlace manifest.Place
	env       map[string]variable
	settings  []setting // of belfry comments that wait for their line
	comments  []string  // directly above

	items    []manifest.Item
	bases    []string // for each item the name it would have alone; "" where a comment names it
	entries  []int    // for each item its place in the report
	report   []Entry
	problems []manifest.Problem
}

// A variable is one of the environment, and where it was set.
type variable struct {
	value string
	place manifest.Place
}

// at is a place in the current line; offsets count from 0.
func (c *reader) at(offset int) manifest.Place {
	return manifest.Place{File: c.file, Line: c.line, Column: offset + 1}
}

func (c *reader) add(place manifest.Place, p schedule.Problem) {
	c.problems = append(c.problems, manifest.Problem{Place: place, Problem: p})
}

// read takes one line: blank, a comment, an assignment, or times and a command.
func (c *reader) read(line string) {
	start := len(line) - len(strings.TrimLeft(line, blanks))
	switch {
	case len(line) > maxLine:
		c.add(c.at(0), schedule.Problem{Code: schedule.CodeLimit, Message: fmt.Sprintf("the line has %d bytes; at most %d are taken", len(line), maxLine)})
	case start == len(line):
		c.dangling()
	case line[start] == '#':
		c.comment(line, start)
	default:
		if c.assignment(line, start) {
			c.dangling()
			return
		}
		c.entry(line, start)
		c.settings, c.comments = nil, nil
	}
}

// dangling refuses settings below which no line follows: they would be ignored.
func (c *reader) dangling() {
	if len(c.settings) > 0 {
		c.add(c.settings[0].place, schedule.Problem{Code: schedule.CodeDangling,
			Message: "no line with a command follows this comment", Hint: "put it directly above the line it belongs to"})
	}
	c.settings, c.comments = nil, nil
}

// twins are the names that comments give twice.
func (c *reader) twins() []manifest.Problem {
	problems := manifest.Twins(c.items)
	for i := range problems {
		problems[i].Pointer = "/name"
	}
	return problems
}
