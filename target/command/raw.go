package command

import (
	"encoding"
	"fmt"
	"strconv"
)

// raw is text that the system takes as it is: file names, arguments and variables are bytes, not always UTF-8, and
// plain JSON would change them on their way to the guard.
type raw string

var (
	_ encoding.TextMarshaler   = raw("")
	_ encoding.TextUnmarshaler = (*raw)(nil)
)

// MarshalText writes every byte that is not ASCII as an escape.
func (r raw) MarshalText() ([]byte, error) { return []byte(strconv.QuoteToASCII(string(r))), nil }

// UnmarshalText reads what MarshalText wrote.
func (r *raw) UnmarshalText(text []byte) error {
	s, err := strconv.Unquote(string(text))
	if err != nil {
		return fmt.Errorf("read %q: %w", text, err)
	}
	*r = raw(s)
	return nil
}

func raws(texts []string) []raw {
	list := make([]raw, len(texts))
	for i, t := range texts {
		list[i] = raw(t)
	}
	return list
}

func plainTexts(list []raw) []string {
	texts := make([]string, len(list))
	for i, r := range list {
		texts[i] = string(r)
	}
	return texts
}
