package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/internal/app"
	"github.com/belfryhq/belfry/internal/config"
	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
)

// A failure is an error with what the command knows about it: what it was doing, what to try, and how to exit.
type failure struct {
	code  int    // 0: by the cause
	doing string // "get schedule nightly"
	cause error
	try   string // a command line that can be pasted
	said  bool   // the command has already said it; only the code counts
}

func (f *failure) Error() string {
	if f.doing == "" {
		return f.cause.Error()
	}
	return f.doing + ": " + f.cause.Error()
}

func (f *failure) Unwrap() error { return f.cause }

// usage is a wrong command line.
func usage(try, format string, args ...any) error {
	return &failure{code: exitUsage, cause: fmt.Errorf(format, args...), try: try}
}

// fail tells the person what went wrong, or the program under -o json, and returns the exit code.
func (e *env) fail(err error) int {
	f := &failure{cause: err}
	if !errors.As(err, &f) {
		f = &failure{cause: err}
	}
	for inner := (*failure)(nil); errors.As(f.cause, &inner); {
		f = inner // the nearest to what happened knows best
	}
	if offline := (*client.Unreachable)(nil); f.try == "" && e.common.server == "" && errors.As(f.cause, &offline) {
		f.try = "belfry serve --file crontab" // what wrote its address here is gone
	}
	if f.try == "" && e.command != "" && (f.code == exitUsage || f.code == exitInvalid) {
		f.try = e.command + " --help"
	}
	p := e.problem(f)
	code := f.code
	if code == 0 {
		code = exitOf(p, f.cause)
	}
	switch {
	case f.said:
	case e.common.machine():
		text, err := json.Marshal(p)
		if err == nil {
			fmt.Fprintf(e.stderr, "%s\n", text)
		}
	default:
		e.tell(f, p)
	}
	return code
}

// problem is the failure in the form of the API.
func (e *env) problem(f *failure) *client.Problem {
	var (
		served   *client.Problem
		offline  *client.Unreachable
		file     *manifest.Error
		invalid  *schedule.Invalid
		settings *config.Error
	)
	p := &client.Problem{Type: "about:blank", Title: "The command failed", Code: "FAILED", Detail: f.cause.Error()}
	switch {
	case errors.As(f.cause, &served):
		copied := *served
		p = &copied
	case errors.As(f.cause, &file), errors.As(f.cause, &invalid):
		p = app.Problem(f.cause)
	case errors.As(f.cause, &settings):
		p = &client.Problem{Type: "/problems/VALIDATION_FAILED", Title: "Invalid input", Status: http.StatusUnprocessableEntity,
			Code: "VALIDATION_FAILED", Detail: "the settings are wrong"}
		for _, one := range settings.Problems {
			p.Errors = append(p.Errors, client.FieldError{Pointer: one.Key, Code: one.Code, Message: one.Message, Hint: one.Hint,
				Allowed: one.Allowed, File: one.Where, Line: one.Line, Column: one.Column})
		}
	case errors.As(f.cause, &offline):
		p.Title, p.Code, p.Retryable = "No server was reached", "UNREACHABLE", true
	case errors.Is(f.cause, context.DeadlineExceeded):
		p.Title, p.Code, p.Retryable = "It took too long", "DEADLINE", true
	case f.code == exitUsage:
		p.Title, p.Code = "The command line is not understood", "USAGE"
	case f.code == exitInvalid:
		p.Title, p.Code = "Invalid input", "INVALID_ARGUMENT"
	case f.code == exitNotFound:
		p.Title, p.Code = "Not found", "NOT_FOUND"
	case f.code == exitRunFailed:
		p.Title, p.Code = "The run did not succeed", "RUN_FAILED"
	}
	if f.try != "" {
		p.Try = f.try
	}
	return p
}

// tell writes for a person: what failed, why, the list of what is wrong, what to try.
func (e *env) tell(f *failure, p *client.Problem) {
	doing, why := f.doing, p.Detail
	if doing == "" {
		doing, why = first(p.Detail, p.Title), ""
		if p.Detail != "" && len(p.Errors) > 0 {
			doing = p.Title + ": " + p.Detail
		}
	}
	fmt.Fprintf(e.stderr, "error: %s\n", doing)
	if why != "" {
		fmt.Fprintf(e.stderr, "  %s\n", strings.ReplaceAll(why, "\n", "\n  "))
	}
	for _, one := range p.Errors {
		fmt.Fprintf(e.stderr, "  %s\n", strings.ReplaceAll(one.String(), "\n", "\n  "))
	}
	if p.Try != "" {
		fmt.Fprintf(e.stderr, "try: %s\n", p.Try)
	}
	if p.RequestID != "" {
		fmt.Fprintf(e.stderr, "request-id: %s\n", p.RequestID)
	}
}

func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// exitOf is the exit code of a problem.
func exitOf(p *client.Problem, cause error) int {
	var offline *client.Unreachable
	switch {
	case errors.As(cause, &offline):
		return exitUnreachable
	case p.Status >= 500, strings.HasPrefix(p.Code, "HTTP_"): // the second is no answer of a belfry server
		return exitUnreachable
	}
	switch p.Status {
	case http.StatusNotFound:
		return exitNotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return exitConflict
	case http.StatusUnauthorized, http.StatusForbidden:
		return exitNotAllowed
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusRequestEntityTooLarge:
		return exitInvalid
	case http.StatusTooManyRequests:
		return exitLimited
	}
	return exitFailure
}
