package client

import (
	"fmt"
	"strings"
)

// Problem is what went wrong, as RFC 9457 problem details. It is the error of every call that a server refused.
type Problem struct {
	Type      string       `json:"type"`
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail"`
	Instance  string       `json:"instance,omitempty"`
	Code      string       `json:"code"` // upper snake; a promise to programs
	RequestID string       `json:"request_id,omitempty"`
	Retryable bool         `json:"retryable"`
	Errors    []FieldError `json:"errors,omitempty"`
	Try       string       `json:"try,omitempty"` // what to do about it
}

// FieldError is one thing that is wrong with what was sent, and where. What was sent is not repeated.
type FieldError struct {
	Pointer string   `json:"pointer"` // JSON pointer into the body, or the name of a parameter
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Allowed []string `json:"allowed,omitempty"`
	Hint    string   `json:"hint,omitempty"`
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Column  int      `json:"column,omitempty"`
}

// Error prints title, detail and each of the errors on a line of its own.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Title)
	if p.Detail != "" {
		b.WriteString(": " + p.Detail)
	}
	for _, e := range p.Errors {
		b.WriteString("\n  " + e.String())
	}
	return b.String()
}

// String prints place, pointer, message and hint in one line, and what is allowed in a second one.
func (e FieldError) String() string {
	var parts []string
	switch {
	case e.Line > 0:
		parts = append(parts, fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column))
	case e.File != "":
		parts = append(parts, e.File)
	}
	if e.Pointer != "" {
		parts = append(parts, strings.ReplaceAll(strings.TrimPrefix(e.Pointer, "/"), "/", "."))
	}
	text := strings.Join(append(parts, e.Message), ": ")
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	if len(e.Allowed) > 0 {
		text += "\n    allowed: " + strings.Join(e.Allowed, ", ")
	}
	return text
}
