package manifest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/belfryhq/belfry/schedule"
)

// An Item is one schedule that a file declares, complete and valid.
type Item struct {
	Tenant      string // "" is no tenant
	Name        string
	Labels      map[string]string
	Annotations map[string]string
	Spec        schedule.Spec
	Where       Place // of its name, or of its line in a crontab
}

// A Place is where something stands in a file. Lines and columns count from 1; a column counts bytes. The zero line is
// the file as a whole.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String prints file:line:column, as compilers do.
func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// A Problem is one thing that is wrong, and where.
type Problem struct {
	Place
	schedule.Problem
}

// String prints place, key, message, hint and what is allowed; the last on a line of its own.
func (p Problem) String() string {
	inner := p.Problem
	inner.Pointer = path(inner.Pointer)
	return p.Place.String() + ": " + inner.String()
}

// path prints a pointer as people write a key: /spec/trigger/cron/1 is spec.trigger.cron[1].
func path(pointer string) string {
	var b strings.Builder
	for i, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch {
		case part != "" && strings.Trim(part, "0123456789") == "" && i > 0:
			fmt.Fprintf(&b, "[%s]", part)
		case i > 0:
			b.WriteString("." + part)
		default:
			b.WriteString(part)
		}
	}
	return b.String()
}

// MaxProblems bounds what is reported about one file; nobody reads more. Readers stop when they have found more.
const MaxProblems = 100

// Error lists everything that is wrong with one file, or with a set of files, in the order of lines. It is never empty.
type Error struct {
	File     string
	Problems []Problem
	More     bool // there are more problems than are listed
}

// NewError returns the problems as an *Error, sorted and cut to what is reported; nil if there are none.
func NewError(file string, problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	shown := problems[:min(len(problems), MaxProblems)]
	return &Error{File: file, Problems: shown, More: len(shown) < len(problems)}
}

// Error says how many problems the file has, then lists each on lines of its own.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.More:
		fmt.Fprintf(&b, "%s has more than %d problems", e.File, len(e.Problems))
	case len(e.Problems) == 1:
		fmt.Fprintf(&b, "%s has a problem", e.File)
	default:
		fmt.Fprintf(&b, "%s has %d problems", e.File, len(e.Problems))
	}
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.String())
	}
	return b.String()
}

// Twins returns a problem for each item whose tenant and name an earlier one has, naming both places. Use it on the
// items of several files, too: a set is applied as a whole.
func Twins(items []Item) []Problem {
	var problems []Problem
	first := make(map[[2]string]Place, len(items))
	for _, item := range items {
		key := [2]string{item.Tenant, item.Name}
		place, taken := first[key]
		if !taken {
			first[key] = item.Where
			continue
		}
		problems = append(problems, Problem{Place: item.Where, Problem: schedule.Problem{
			Pointer: "/metadata/name", Code: schedule.CodeTwin,
			Message: fmt.Sprintf("a schedule named %q is declared already, at %s", item.Name, place),
		}})
	}
	return problems
}
