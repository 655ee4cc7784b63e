package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/belfryhq/belfry/schedule"
)

// The limits of one file. A larger one is refused unread.
const (
	MaxBytes     = 8 << 20
	MaxDocuments = 100_000
)

// Slurp reads a whole file of text: at most MaxBytes, UTF-8, without NUL and without a byte order mark. The error is an
// *Error, or what r returned.
func Slurp(file string, r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	refuse := func(at int, code, message string) error {
		line := 1 + bytes.Count(text[:at], []byte("\n"))
		column := at - bytes.LastIndexByte(text[:at], '\n')
		if at == 0 {
			line, column = 0, 0
		}
		return NewError(file, []Problem{{Place{file, line, column}, schedule.Problem{Code: code, Message: message}}})
	}
	if len(text) > MaxBytes {
		return nil, refuse(0, schedule.CodeLimit, fmt.Sprintf("is longer than %d bytes", MaxBytes))
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return nil, refuse(at, schedule.CodeSyntax, "a NUL character: this is not a text file")
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return nil, refuse(at, schedule.CodeSyntax, fmt.Sprintf("byte %#02x is not UTF-8", text[at]))
		}
		at += size
	}
	return text, nil
}

// documents yields the root node of each document; that of an empty one is null. An error ends it; it is a Problem as error.
func documents(file string, text []byte) iter.Seq2[*yaml.Node, error] {
	if strings.HasSuffix(strings.ToLower(file), ".json") {
		return jsonDocuments(file, text)
	}
	return func(yield func(*yaml.Node, error) bool) {
		decoder := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var document yaml.Node
			err := decodeYAML(decoder, &document)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(nil, yamlProblem(file, err))
				return
			}
			root := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}
			if len(document.Content) > 0 {
				root = document.Content[0]
			}
			if !yield(root, nil) {
				return
			}
		}
	}
}

// decodeYAML reads one document. The parser is not ours: should it panic on some text, a server that reloads its file
// must refuse the file and live on.
func decodeYAML(decoder *yaml.Decoder, document *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: the parser gave up: %v", p)
		}
	}()
	return decoder.Decode(document)
}

// A located is a problem on its way through an iterator.
type located struct{ Problem }

func (l located) Error() string { return l.String() }

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// yamlProblem takes the line out of the parser's message.
func yamlProblem(file string, err error) error {
	p := located{Problem{Place{File: file}, schedule.Problem{Code: schedule.CodeSyntax, Message: err.Error()}}}
	if m := yamlLine.FindStringSubmatch(err.Error()); m != nil {
		p.Message = "is not YAML: " + m[2]
		if line, err := strconv.Atoi(m[1]); err == nil {
			p.Line, p.Column = line, 1
		}
	}
	switch {
	case strings.Contains(p.Message, "alphabetic or numeric character"):
		p.Hint = `put a value that begins with * in quotes: cron: "* * * * *"`
	case strings.Contains(p.Message, "cannot start any token"):
		p.Hint = "indent with spaces, not with tabs, and put a value that begins with @, % or ` in quotes"
	}
	return p
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }
