package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
)

// The codes of problems: a promise to programs. Each has one HTTP status and one title.
const (
	CodeInvalidArgument  = "INVALID_ARGUMENT"
	CodePageToken        = "PAGE_TOKEN_MISMATCH"
	CodePermissionDenied = "PERMISSION_DENIED"
	CodeNotFound         = "NOT_FOUND"
	CodeMethod           = "METHOD_NOT_ALLOWED"
	CodeNotAcceptable    = "NOT_ACCEPTABLE"
	CodeExists           = "ALREADY_EXISTS"
	CodeTooLarge         = "PAYLOAD_TOO_LARGE"
	CodeMedia            = "UNSUPPORTED_MEDIA"
	CodeValidation       = "VALIDATION_FAILED"
	CodeInternal         = "INTERNAL"
	CodeUnavailable      = "UNAVAILABLE"
	CodeDeadline         = "DEADLINE"
)

// catalogue is where status and title of every code come from.
var catalogue = map[string]struct {
	status    int
	title     string
	retryable bool
}{
	CodeInvalidArgument:  {http.StatusBadRequest, "The request is not understood", false},
	CodePageToken:        {http.StatusBadRequest, "The page token does not belong here", false},
	CodePermissionDenied: {http.StatusForbidden, "Not allowed", false},
	CodeNotFound:         {http.StatusNotFound, "Not found", false},
	CodeMethod:           {http.StatusMethodNotAllowed, "Not possible here", false},
	CodeNotAcceptable:    {http.StatusNotAcceptable, "No such representation", false},
	CodeExists:           {http.StatusConflict, "It exists already", false},
	CodeTooLarge:         {http.StatusRequestEntityTooLarge, "The body is too large", false},
	CodeMedia:            {http.StatusUnsupportedMediaType, "The body is not JSON", false},
	CodeValidation:       {http.StatusUnprocessableEntity, "Invalid input", false},
	CodeInternal:         {http.StatusInternalServerError, "Something went wrong inside", false},
	CodeUnavailable:      {http.StatusServiceUnavailable, "Not available now", true},
	CodeDeadline:         {http.StatusGatewayTimeout, "It took too long", true},
}

// NewProblem makes a problem of the catalogue. An unknown code is INTERNAL.
func NewProblem(code, detail string, errs ...client.FieldError) *client.Problem {
	entry, known := catalogue[code]
	if !known {
		code, entry = CodeInternal, catalogue[CodeInternal]
	}
	return &client.Problem{Type: "/problems/" + code, Title: entry.title, Status: entry.status, Detail: detail, Code: code,
		Retryable: entry.retryable, Errors: errs}
}

// ProblemOf says what an error of a verb or of a reader of definitions is. An error that nobody foresaw is INTERNAL, and
// its text is not told: it may hold what is nobody's business.
func ProblemOf(err error) *client.Problem {
	var (
		problem *client.Problem
		invalid *schedule.Invalid
		file    *manifest.Error
	)
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &file):
		summary, _, _ := strings.Cut(file.Error(), "\n")
		p := NewProblem(CodeValidation, summary)
		for _, one := range file.Problems {
			e := fieldError(one.Problem)
			e.File, e.Line, e.Column = one.File, one.Line, one.Column
			p.Errors = append(p.Errors, e)
		}
		return p
	case errors.As(err, &invalid):
		p := NewProblem(CodeValidation, wrongValues(len(invalid.Problems)))
		for _, one := range invalid.Problems {
			p.Errors = append(p.Errors, fieldError(one))
		}
		return p
	case errors.Is(err, control.ErrPageToken):
		return NewProblem(CodePageToken, err.Error())
	case errors.Is(err, control.ErrNotFound):
		return NewProblem(CodeNotFound, err.Error())
	case errors.Is(err, control.ErrExists):
		return NewProblem(CodeExists, err.Error())
	case errors.Is(err, control.ErrBusy):
		return NewProblem(CodeUnavailable, "the database is busy")
	case errors.Is(err, context.DeadlineExceeded):
		return NewProblem(CodeDeadline, "the database did not answer in time")
	case errors.Is(err, context.Canceled):
		return NewProblem(CodeUnavailable, "the request was given up")
	}
	return NewProblem(CodeInternal, "")
}

func wrongValues(n int) string {
	if n == 1 {
		return "one value is wrong"
	}
	return fmt.Sprintf("%d values are wrong", n)
}

func fieldError(p schedule.Problem) client.FieldError {
	return client.FieldError{Pointer: p.Pointer, Code: p.Code, Message: p.Message, Allowed: p.Allowed, Hint: p.Hint}
}
