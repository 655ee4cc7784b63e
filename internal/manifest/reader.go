package manifest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/belfryhq/belfry/schedule"
)

// maxAliases bounds how often one document may use an alias, so that a small text cannot stand for a large one.
const maxAliases = 1000

// A reader walks the nodes of one document. It goes on after a problem, to find all of them.
type reader struct {
	file     string
	problems []Problem
	at       map[string]*yaml.Node // the node that each pointer leads to
	aliases  int
}

// A key is a key that a mapping may have, and what takes its value. The pointer leads to the value.
type key struct {
	name string
	read func(pointer string, n *yaml.Node)
}

// full reports that there are more problems than anybody reads; looking for another is only work.
func (r *reader) full() bool { return len(r.problems) > MaxProblems }

func (r *reader) add(n *yaml.Node, pointer, code, message string) *schedule.Problem {
	if r.full() {
		return &schedule.Problem{}
	}
	p := Problem{Place{r.file, n.Line, n.Column}, schedule.Problem{Pointer: pointer, Code: code, Message: message}}
	r.problems = append(r.problems, p)
	return &r.problems[len(r.problems)-1].Problem
}

// resolve follows an alias to what it stands for. The place of a problem is then where the value is written.
func (r *reader) resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		r.aliases++
		if r.aliases > maxAliases {
			if r.aliases == maxAliases+1 {
				r.add(n, "", schedule.CodeLimit, fmt.Sprintf("more than %d uses of an alias in one document", maxAliases))
			}
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line, Column: n.Column}
		}
		n = n.Alias
	}
	return n
}

// mapping hands each value to its key. It reports keys that are unknown, given twice or no text.
func (r *reader) mapping(pointer string, n *yaml.Node, keys []key) bool {
	if n = r.resolve(n); n.Kind != yaml.MappingNode {
		r.wrongType(n, pointer, "a mapping")
		return false
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.name
	}
	slices.Sort(names)
	r.pairs(pointer, n, func(name string, at string, keyNode, value *yaml.Node) {
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
		if i < 0 {
			p := r.add(keyNode, at, schedule.CodeUnknownKey, "there is no such key")
			p.Allowed, p.Hint = names, schedule.DidYouMean(name, names)
			return
		}
		if value = r.resolve(value); !isNull(value) {
			keys[i].read(at, value)
		}
	})
	return true
}

// pairs calls do for each key of a mapping once.
func (r *reader) pairs(pointer string, n *yaml.Node, do func(name, at string, keyNode, value *yaml.Node)) {
	first := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content) && !r.full(); i += 2 {
		keyNode, value := r.resolve(n.Content[i]), n.Content[i+1]
		if keyNode.Kind != yaml.ScalarNode || keyNode.ShortTag() != "!!str" {
			p := r.add(keyNode, pointer, schedule.CodeWrongType, fmt.Sprintf("a key must be a text, not %s", kind(keyNode)))
			if keyNode.ShortTag() == "!!merge" {
				p.Message, p.Hint = "merge keys (<<) are not taken", "use an alias for the whole value, or write the keys again"
			} else if keyNode.Kind == yaml.ScalarNode {
				p.Hint = "put it in quotes: " + strconv.Quote(keyNode.Value)
			}
			continue
		}
		name := keyNode.Value
		at := pointer + "/" + schedule.Escape(name)
		if before, twice := first[name]; twice {
			r.add(keyNode, at, schedule.CodeDuplicateKey, fmt.Sprintf("the key is given twice; first in line %d, column %d", before.Line, before.Column))
			continue
		}
		first[name], r.at[at] = keyNode, value
		do(name, at, keyNode, value)
	}
}

// kind is what a person calls the type of a node.
func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	switch tag := n.ShortTag(); tag {
	case "!!str":
		return "a text"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return n.Value
	case "!!null":
		return "nothing"
	case "!!timestamp":
		return "a date"
	default:
		return "a value of type " + tag
	}
}

func (r *reader) wrongType(n *yaml.Node, pointer, want string) {
	p := r.add(n, pointer, schedule.CodeWrongType, fmt.Sprintf("must be %s, not %s", want, kind(n)))
	if want == "a text" && n.Kind == yaml.ScalarNode && !isNull(n) && strings.HasPrefix(n.ShortTag(), "!!") {
		p.Hint = "put it in quotes: " + strconv.Quote(n.Value)
	}
}

// text, word, integer and the rest return what takes the value of one key.
func (r *reader) text(into *string) func(string, *yaml.Node) { return word(r, into) }

func word[T ~string](r *reader, into *T) func(string, *yaml.Node) {
	return func(pointer string, n *yaml.Node) {
		if text, ok := r.scalarText(pointer, n); ok {
			*into = T(text)
		}
	}
}

func (r *reader) scalarText(pointer string, n *yaml.Node) (string, bool) {
	if n = r.resolve(n); n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		r.wrongType(n, pointer, "a text")
		return "", false
	}
	return n.Value, true
}

// integer takes a whole number in plain decimal digits. A number below least is refused here: a zero in the struct
// would be taken for a key that was not written.
func (r *reader) integer(into *int, least int) func(string, *yaml.Node) {
	return func(pointer string, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" {
			r.wrongType(n, pointer, "a whole number")
			return
		}
		value, err := strconv.Atoi(n.Value)
		switch {
		case err != nil || strconv.Itoa(value) != n.Value:
			r.add(n, pointer, schedule.CodeBadFormat, fmt.Sprintf("%s must be written in plain decimal digits, and not be huge", n.Value))
		case value < least:
			r.add(n, pointer, schedule.CodeOutOfRange, fmt.Sprintf("%d is below %d", value, least))
		default:
			*into = value
		}
	}
}

func (r *reader) boolean(into *bool) func(string, *yaml.Node) {
	return func(pointer string, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
			r.wrongType(n, pointer, "true or false")
			return
		}
		*into = strings.EqualFold(n.Value, "true")
	}
}

// parsed takes a scalar that one of package schedule's parsers reads, however YAML would have typed it: 2026-07-01 is a
// date to YAML, and 90 a number.
func parsed[T any](r *reader, want string, parse func(string) (T, error), into func(T)) func(string, *yaml.Node) {
	return func(pointer string, n *yaml.Node) {
		n = r.resolve(n)
		switch tag := n.ShortTag(); {
		case n.Kind != yaml.ScalarNode, tag == "!!bool", tag == "!!null", !strings.HasPrefix(tag, "!!"):
			r.wrongType(n, pointer, want)
			return
		}
		value, err := parse(n.Value)
		if err != nil {
			r.add(n, pointer, schedule.CodeBadFormat, err.Error())
			return
		}
		into(value)
	}
}

func (r *reader) duration(into func(schedule.Duration)) func(string, *yaml.Node) {
	return parsed(r, "a duration such as 90s", schedule.ParseDuration, into)
}

// plain is duration for keys whose default is no time at all.
func (r *reader) plain(into *schedule.Duration) func(string, *yaml.Node) {
	return r.duration(func(d schedule.Duration) { *into = d })
}

// orNone is duration for keys where a written 0s says something.
func (r *reader) orNone(into *schedule.Duration) func(string, *yaml.Node) {
	return r.duration(func(d schedule.Duration) {
		if *into = d; d == 0 {
			*into = schedule.None
		}
	})
}

func (r *reader) instant(into func(schedule.Instant)) func(string, *yaml.Node) {
	return parsed(r, "an instant such as 2026-07-01T10:00:00Z", schedule.ParseInstant, into)
}

func (r *reader) optional(into **schedule.Instant) func(string, *yaml.Node) {
	return r.instant(func(i schedule.Instant) { *into = &i })
}

// list takes a sequence; each hands over an element.
func (r *reader) list(each func(pointer string, n *yaml.Node)) func(string, *yaml.Node) {
	return func(pointer string, n *yaml.Node) {
		if n.Kind != yaml.SequenceNode {
			r.wrongType(n, pointer, "a list")
			return
		}
		for i, element := range n.Content {
			if r.full() {
				return
			}
			at := pointer + "/" + strconv.Itoa(i)
			element = r.resolve(element)
			r.at[at] = element
			each(at, element)
		}
	}
}

// oneOrMore takes a list, or its only element.
func (r *reader) oneOrMore(each func(pointer string, n *yaml.Node)) func(string, *yaml.Node) {
	return func(pointer string, n *yaml.Node) {
		if n.Kind == yaml.SequenceNode {
			r.list(each)(pointer, n)
			return
		}
		each(pointer, n)
	}
}

// texts takes a mapping of texts to texts.
func (r *reader) texts(into *map[string]string) func(string, *yaml.Node) {
	return func(pointer string, n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			r.wrongType(n, pointer, "a mapping")
			return
		}
		*into = make(map[string]string)
		r.pairs(pointer, n, func(name, at string, _, value *yaml.Node) {
			if text, ok := r.scalarText(at, value); ok {
				(*into)[name] = text
			}
		})
	}
}

// notYet refuses a key that is known and not built yet, unless its value is the default, which asks for nothing.
func (r *reader) notYet(isDefault func(n *yaml.Node) bool) func(string, *yaml.Node) {
	return func(pointer string, n *yaml.Node) {
		if isDefault == nil || !isDefault(n) {
			r.add(n, pointer, schedule.CodeNotYet, "is not yet supported")
		}
	}
}
