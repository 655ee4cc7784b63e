package api

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/schedule"
)

// checkQuery returns a problem for parameters that a route does not have or that are given twice.
func checkQuery(q url.Values, known []string) *client.Problem {
	var errs []client.FieldError
	names := make([]string, 0, len(q))
	for name := range q {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch {
		case !slices.Contains(known, name):
			errs = append(errs, client.FieldError{Pointer: name, Code: schedule.CodeUnknownKey, Message: "there is no such parameter",
				Hint: schedule.DidYouMean(name, known), Allowed: known})
		case len(q[name]) > 1:
			errs = append(errs, client.FieldError{Pointer: name, Code: schedule.CodeDuplicateKey, Message: "is given twice"})
		}
	}
	if len(errs) > 0 {
		return NewProblem(CodeInvalidArgument, "the parameters are wrong", errs...)
	}
	return nil
}

// parameters reads texts into values and collects what is wrong with them.
type parameters struct{ errs []client.FieldError }

func (p *parameters) add(name, code, message string, allowed ...string) {
	p.errs = append(p.errs, client.FieldError{Pointer: name, Code: code, Message: message, Allowed: allowed})
}

func (p *parameters) err() error {
	if len(p.errs) == 0 {
		return nil
	}
	return NewProblem(CodeInvalidArgument, "the parameters are wrong", p.errs...)
}

// tenant reads the path's tenant; "-" is none.
func (p *parameters) tenant(text string) string {
	if text == "-" {
		return ""
	}
	if !schedule.ValidTenant(text) {
		p.add("tenant", schedule.CodeBadFormat, "is no tenant's name; - is none")
	}
	return text
}

func (p *parameters) instant(name, text string) time.Time {
	if text == "" {
		return time.Time{}
	}
	i, err := schedule.ParseInstant(text)
	if err != nil {
		message := err.Error()
		if strings.Contains(text, " ") {
			message += "; write + as %2B in an address"
		}
		p.add(name, schedule.CodeBadFormat, message)
	}
	return i.Time()
}

// number reads a whole number from 0 to most; "" is 0.
func (p *parameters) number(name, text string, most int) int {
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		p.add(name, schedule.CodeOutOfRange, fmt.Sprintf("must be a whole number, 0 to %d", most))
		return 0
	}
	return n
}

func (p *parameters) truth(name, text string) bool {
	if text != "" && text != "true" && text != "false" {
		p.add(name, schedule.CodeBadFormat, "must be true or false")
	}
	return text == "true"
}

// word finds a word of a closed list; "" is the zero value.
func word[T any](p *parameters, name, text string, list closed[T]) (value T) {
	if text == "" {
		return value
	}
	value, ok := list.parse(text)
	if !ok {
		p.errs = append(p.errs, client.FieldError{Pointer: name, Code: schedule.CodeUnknownValue, Message: fmt.Sprintf("%q is not known", clip(text)),
			Allowed: list.words, Hint: schedule.DidYouMean(text, list.words)})
	}
	return value
}

// closed is a closed list of words.
type closed[T any] struct {
	parse func(string) (T, bool)
	words []string
}

func clip(text string) string {
	if len(text) > 64 {
		return text[:64] + "…"
	}
	return text
}

// page reads the page that a request asks for. A token holds where the listing stands and a digest of the filters that
// it was made for. It grants nothing: whose rows are listed is decided by the path at each asking.
func (p *parameters) page(size, token string, filters ...string) (control.Page, error) {
	out := control.Page{Limit: p.number("page_size", size, 1<<31-1)}
	if out.Limit > 1000 {
		out.Limit = 1000
	}
	if token == "" {
		return out, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) < digestSize {
		return out, control.ErrPageToken
	}
	after := string(raw[digestSize:])
	if token != pageToken(after, filters...) {
		return out, control.ErrPageToken
	}
	out.After = after
	return out, nil
}

const digestSize = 8

// pageToken makes the token of a listing's next page; "" stays "".
func pageToken(after string, filters ...string) string {
	if after == "" {
		return ""
	}
	h := sha256.New()
	for _, text := range append(filters, after) {
		fmt.Fprintf(h, "%d:%s", len(text), text) // a hash takes everything
	}
	return base64.RawURLEncoding.EncodeToString(append(h.Sum(nil)[:digestSize], after...))
}
