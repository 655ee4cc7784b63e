package manifest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/belfryhq/belfry/schedule"
)

// The only documents there are.
const (
	apiVersion = "belfry/v1"
	kindName   = "Schedule"
)

// Read reads every schedule of a file, complete and valid. A name that ends in ".json" is read as JSON values that
// follow one another, any other as YAML documents. The error is an *Error that lists all problems of the file, or what
// r returned; the items are nil then, so that nothing is half applied.
func Read(file string, r io.Reader, d schedule.Defaults) ([]Item, error) {
	text, err := Slurp(file, r)
	if err != nil {
		return nil, err
	}
	var items []Item
	var problems []Problem
	count := 0
	for node, err := range documents(file, text) {
		var l located
		if errors.As(err, &l) {
			problems = append(problems, l.Problem)
			break
		}
		if count++; count > MaxDocuments {
			problems = append(problems, Problem{Place{file, node.Line, node.Column}, schedule.Problem{
				Code: schedule.CodeLimit, Message: fmt.Sprintf("there are more than %d documents", MaxDocuments)}})
			break
		}
		if len(problems) > MaxProblems {
			break
		}
		if isNull(node) {
			continue
		}
		item, found := readDocument(file, node, d)
		problems = append(problems, found...)
		items = append(items, item)
	}
	if len(problems) == 0 {
		problems = Twins(items)
	}
	if err := NewError(file, problems); err != nil {
		return nil, err
	}
	return items, nil
}

// readDocument reads one schedule. What the walk over the nodes finds and what package schedule finds are one list.
func readDocument(file string, node *yaml.Node, d schedule.Defaults) (Item, []Problem) {
	r := &reader{file: file, at: map[string]*yaml.Node{"": node}}
	var (
		version, kind string
		m             schedule.Metadata
		s             schedule.Spec
		hasSpec       bool
	)
	ok := r.mapping("", node, []key{
		{"apiVersion", r.text(&version)},
		{"kind", r.text(&kind)},
		{"metadata", func(at string, n *yaml.Node) { r.metadata(at, n, &m) }},
		{"spec", func(at string, n *yaml.Node) { hasSpec = r.spec(at, n, &s) }},
	})
	if !ok {
		return Item{}, r.problems
	}
	if wanted := r.document(version, kind); !wanted {
		// Problems further down may come of reading it as what it is not.
		return Item{}, slices.DeleteFunc(r.problems, func(p Problem) bool { return strings.Count(p.Pointer, "/") > 1 })
	}
	walked := len(r.problems)
	r.take(walked, m.Validate())
	if hasSpec {
		complete, err := s.Complete(d)
		r.take(walked, err)
		s = complete
	} else if !r.reported("/spec") {
		r.add(r.place("/spec"), "/spec", schedule.CodeRequired, "must be given")
	}
	where := r.place("/metadata/name")
	return Item{Tenant: m.Tenant, Name: m.Name, Labels: m.Labels, Annotations: m.Annotations, Spec: s,
		Where: Place{file, where.Line, where.Column}}, r.problems
}

func (r *reader) metadata(pointer string, n *yaml.Node, m *schedule.Metadata) {
	r.mapping(pointer, n, []key{
		{"name", r.text(&m.Name)},
		{"tenant", r.text(&m.Tenant)},
		{"labels", r.texts(&m.Labels)},
		{"annotations", r.texts(&m.Annotations)},
	})
}

// document reports whether this is a document that the package reads, and adds a problem if it is not.
func (r *reader) document(version, kind string) bool {
	for _, k := range []struct{ pointer, got, want string }{
		{"/apiVersion", version, apiVersion}, {"/kind", kind, kindName},
	} {
		switch {
		case k.got == k.want:
			continue
		case r.reported(k.pointer): // as no text, or as given twice
		case k.got == "":
			r.add(r.place(k.pointer), k.pointer, schedule.CodeRequired, "must be given").Allowed = []string{k.want}
		default:
			p := r.add(r.place(k.pointer), k.pointer, schedule.CodeDocument, fmt.Sprintf("%q is not known", k.got))
			p.Allowed, p.Hint = []string{k.want}, schedule.DidYouMean(k.got, []string{k.want})
		}
		return false
	}
	return true
}

func (r *reader) reported(pointer string) bool {
	return slices.ContainsFunc(r.problems, func(p Problem) bool { return p.Pointer == pointer })
}

// take adds the problems that package schedule found, at their places. Those that only follow from what the walk (the
// first problems) has already reported about the same key or one below it are left out: a trigger whose every cannot
// be read is not also a trigger without a kind.
func (r *reader) take(walked int, err error) {
	var e *schedule.Invalid
	if !errors.As(err, &e) {
		return
	}
	for _, p := range e.Problems {
		follows := false
		for _, before := range r.problems[:walked] {
			follows = follows || strings.HasPrefix(before.Pointer+"/", p.Pointer+"/")
		}
		if !follows {
			n := r.place(p.Pointer)
			r.problems = append(r.problems, Problem{Place{r.file, n.Line, n.Column}, p})
		}
	}
}

// place is the node that a pointer leads to, or the nearest one around it.
func (r *reader) place(pointer string) *yaml.Node {
	for {
		if n := r.at[pointer]; n != nil {
			return n
		}
		pointer = pointer[:max(strings.LastIndexByte(pointer, '/'), 0)]
	}
}
