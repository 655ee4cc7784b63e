package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// An answer is what a command prints: the API's JSON, and how people see it.
type answer struct {
	value any      // for json and yaml
	items []any    // for jsonl; nil: value alone
	names []string // for name
	table table
}

// A table is rows of cells under headings. Wide columns are shown under -o wide only.
type table struct {
	head []string
	wide int // how many of the last columns are wide
	rows [][]string
	text string // instead of rows: prose
}

// print prints the answer in the format that was asked for.
func (e *env) print(a answer) error {
	switch e.common.output {
	case "json":
		return e.json(a.value)
	case "jsonl":
		if a.items == nil {
			a.items = []any{a.value}
		}
		for _, item := range a.items {
			if err := e.json(item); err != nil {
				return err
			}
		}
		return nil
	case "yaml":
		return e.yaml(a.value)
	case "name":
		for _, name := range a.names {
			if err := e.write(name + "\n"); err != nil {
				return err
			}
		}
		return nil
	}
	if a.table.text != "" {
		return e.write(a.table.text)
	}
	return e.write(a.table.render(e.common.output == "wide"))
}

func (e *env) write(text string) error {
	if _, err := fmt.Fprint(e.stdout, text); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// json prints one value in one line, without the escapes that are meant for HTML.
func (e *env) json(v any) error {
	encoder := json.NewEncoder(e.stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// yaml prints the JSON as YAML, its keys in their order.
func (e *env) yaml(v any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(b.Bytes(), &document); err != nil {
		return fmt.Errorf("write the answer as YAML: %w", err)
	}
	block(&document)
	var out bytes.Buffer
	writer := yaml.NewEncoder(&out)
	writer.SetIndent(2)
	if err := writer.Encode(&document); err != nil {
		return fmt.Errorf("write the answer as YAML: %w", err)
	}
	return e.write(out.String())
}

// block takes JSON's style off every node that is not empty.
func block(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode || len(n.Content) > 0 {
		n.Style = 0
	}
	for _, child := range n.Content {
		block(child)
	}
}

// render lines the columns up. Nothing is cut: an identifier that is not whole is none.
func (t table) render(wide bool) string {
	columns := len(t.head)
	if !wide {
		columns -= t.wide
	}
	width := make([]int, columns)
	lines := append([][]string{t.head}, t.rows...)
	for _, line := range lines {
		for i := range columns {
			width[i] = max(width[i], utf8.RuneCountInString(printable(line[i])))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var row strings.Builder
		for i := range columns {
			cell := printable(line[i])
			row.WriteString(cell)
			if i < columns-1 {
				row.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	return b.String()
}

// printable keeps a cell on its line, and keeps what others wrote from steering a terminal.
func printable(cell string) string {
	if cell == "" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, cell)
}

// note says something on stderr that is no data.
func (e *env) note(format string, args ...any) {
	if !e.common.quiet && !e.common.machine() {
		fmt.Fprintf(e.stderr, format+"\n", args...)
	}
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}
