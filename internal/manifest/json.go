package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/belfryhq/belfry/schedule"
)

// maxDepth is how deep objects and arrays may be nested; a manifest needs five levels.
const maxDepth = 100

var errLimit = errors.New("there are more")

// A jsonReader turns JSON into nodes with places.
type jsonReader struct {
	file    string
	text    []byte
	lines   []int // offset of each line's first byte
	decoder *json.Decoder
}

// jsonDocuments yields the JSON values of the text, which follow one another without anything between them.
func jsonDocuments(file string, text []byte) iter.Seq2[*yaml.Node, error] {
	return func(yield func(*yaml.Node, error) bool) {
		r := &jsonReader{file: file, text: text, lines: []int{0}, decoder: json.NewDecoder(bytes.NewReader(text))}
		for i, c := range text {
			if c == '\n' {
				r.lines = append(r.lines, i+1)
			}
		}
		r.decoder.UseNumber()
		for {
			n, err := r.value(0)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(n, nil) {
				return
			}
		}
	}
}

// value reads the next value. At depth 0 the end of the text is io.EOF, below it is an error.
func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	start := r.start()
	token, err := r.decoder.Token()
	if err != nil {
		return nil, r.problem(err, depth)
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	n.Line, n.Column = r.place(start)
	switch v := token.(type) {
	case string:
		n.Tag, n.Value, n.Style = "!!str", v, yaml.DoubleQuotedStyle
	case json.Number:
		n.Tag, n.Value = "!!int", v.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(v)
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case json.Delim:
		if depth >= maxDepth {
			return nil, r.problem(fmt.Errorf("%w than %d levels of objects and arrays", errLimit, maxDepth), depth)
		}
		return r.container(n, v, depth)
	}
	return n, nil
}

// container reads the rest of an object or an array. The keys of an object are nodes of its Content, as in YAML.
func (r *jsonReader) container(n *yaml.Node, open json.Delim, depth int) (*yaml.Node, error) {
	n.Kind, n.Tag, n.Style = yaml.SequenceNode, "!!seq", yaml.FlowStyle
	if open == '{' {
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
	}
	for r.decoder.More() {
		child, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, child)
	}
	if _, err := r.decoder.Token(); err != nil {
		return nil, r.problem(err, depth+1)
	}
	return n, nil
}

// start is the offset of the next token: the decoder stands behind the last one.
func (r *jsonReader) start() int {
	at := int(r.decoder.InputOffset())
	for at < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[at]) >= 0 {
		at++
	}
	return at
}

func (r *jsonReader) place(offset int) (line, column int) {
	line = sort.SearchInts(r.lines, offset+1)
	return line, offset - r.lines[line-1] + 1
}

func (r *jsonReader) problem(err error, depth int) error {
	at := r.start()
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF) && depth == 0 && at >= len(r.text):
		return io.EOF
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		at, err = max(len(r.text)-1, 0), errors.New("the text ends in the middle of a value")
	case errors.As(err, &syntax):
		at = min(max(int(syntax.Offset)-1, 0), len(r.text))
	}
	line, column := r.place(at)
	p := schedule.Problem{Code: schedule.CodeSyntax, Message: "is not JSON: " + err.Error()}
	if errors.Is(err, errLimit) {
		p.Code, p.Message = schedule.CodeLimit, err.Error()
	}
	return located{Problem{Place{r.file, line, column}, p}}
}
