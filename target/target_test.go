package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/schedule"
)

// D35: a command is arbitrary code, so only the file of the server's own operator may run one, unless told otherwise.
func TestConsent(t *testing.T) {
	t.Parallel()
	command := schedule.Target{Command: &schedule.Command{Shell: "true"}}
	job := schedule.Target{Job: &schedule.Job{Name: "x"}}
	for _, c := range []struct {
		consent Consent
		origin  schedule.Origin
		target  schedule.Target
		want    bool
	}{
		{"", schedule.OriginFile, command, true},
		{"", schedule.OriginAPI, command, false},
		{ConsentFile, schedule.OriginFile, command, true},
		{ConsentFile, schedule.OriginAPI, command, false},
		{ConsentFile, schedule.OriginCode, command, false},
		{ConsentAll, schedule.OriginAPI, command, true},
		{ConsentNone, schedule.OriginFile, command, false},
		{ConsentNone, schedule.OriginAPI, job, true},
		{ConsentFile, schedule.OriginAPI, job, true},
	} {
		err := c.consent.Permits(c.origin, c.target)
		if (err == nil) != c.want {
			t.Errorf("%q, %v, %s: %v", c.consent, c.origin, Kind(c.target), err)
		}
		if err != nil && !strings.Contains(err.Error(), "command.allow") {
			t.Errorf("%v names no setting", err)
		}
	}
	for text, want := range map[string]Consent{"": ConsentFile, "file": ConsentFile, "all": ConsentAll, "none": ConsentNone} {
		if got, err := ParseConsent(text); got != want || err != nil {
			t.Errorf("ParseConsent(%q) = %q, %v", text, got, err)
		}
	}
	if _, err := ParseConsent("yes"); err == nil {
		t.Error("yes was accepted")
	}
}

// An origin is told from the identity alone, which no other door can forge.
func TestOriginIsInTheIdentity(t *testing.T) {
	t.Parallel()
	id := schedule.DeclaredID(schedule.OriginFile, "acme", "nightly")
	for _, c := range []struct {
		id           schedule.ID
		tenant, name string
		want         schedule.Origin
	}{
		{id, "acme", "nightly", schedule.OriginFile},
		{id, "", "nightly", schedule.OriginAPI},
		{id, "acme", "other", schedule.OriginAPI},
		{schedule.DeclaredID(schedule.OriginCode, "", "x"), "", "x", schedule.OriginCode},
		{schedule.ID{1}, "", "nightly", schedule.OriginAPI},
	} {
		if got := OriginOf(c.id, c.tenant, c.name); got != c.want {
			t.Errorf("%s %s/%s is of origin %v, want %v", c.id, c.tenant, c.name, got, c.want)
		}
	}
}

func TestRegistryFindsByKind(t *testing.T) {
	t.Parallel()
	var r Registry
	var jobs Jobs
	if _, err := r.For(schedule.Target{Job: &schedule.Job{}}); err == nil {
		t.Error("an empty registry found something")
	}
	if err := r.Register(KindJob, &jobs); err != nil {
		t.Fatal(err)
	}
	if err := r.Register(KindJob, &jobs); err == nil {
		t.Error("a kind was registered twice")
	}
	if err := r.Register("", &jobs); err == nil {
		t.Error("no kind was registered")
	}
	if got, err := r.For(schedule.Target{Job: &schedule.Job{}}); got != Target(&jobs) || err != nil {
		t.Errorf("found %v, %v", got, err)
	}
	if _, err := r.For(schedule.Target{Command: &schedule.Command{}}); err == nil || !strings.Contains(err.Error(), "[job]") {
		t.Errorf("a command: %v", err)
	}
	if _, err := r.For(schedule.Target{}); err == nil {
		t.Error("a schedule without a target")
	}
	if !slices.Equal(r.Kinds(), []string{"job"}) {
		t.Error(r.Kinds())
	}
}

var errPlain = errors.New("plain")

func TestJobsAnswer(t *testing.T) {
	t.Parallel()
	cancelled := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		return ctx
	}
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want Result
	}{
		"success":           {context.Background(), nil, Result{}},
		"late success":      {cancelled(ErrTimeout), nil, Result{}},
		"failure":           {context.Background(), errPlain, Result{Code: CodeInternal, Message: "plain"}},
		"permanent":         {context.Background(), fmt.Errorf("w: %w", Permanent(errPlain)), Result{Code: CodePermanent, Message: "w: plain", Permanent: true}},
		"knows when":        {context.Background(), RetryAfter(errPlain, time.Hour), Result{Code: CodeInternal, Message: "plain", RetryAfter: time.Hour}},
		"timeout":           {cancelled(ErrTimeout), errPlain, Result{Code: CodeTimeout, Message: ErrTimeout.Error() + ": plain"}},
		"lost":              {cancelled(ErrLeaseLost), errPlain, Result{Code: CodeLost, Message: ErrLeaseLost.Error() + ": plain"}},
		"stopped":           {cancelled(ErrStop), errPlain, Result{Code: CodeCancelled, Message: ErrStop.Error() + ": plain"}},
		"permanent of none": {context.Background(), Permanent(nil), Result{}},
		"retry of none":     {context.Background(), RetryAfter(nil, 1), Result{}},
	} {
		var jobs Jobs
		if err := jobs.Register("x", func(context.Context, Delivery) error { return c.err }); err != nil {
			t.Fatal(err)
		}
		d := Delivery{Spec: schedule.Target{Job: &schedule.Job{Name: "x"}}}
		if got := jobs.Run(c.ctx, d); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestJobsAreRegisteredOnce(t *testing.T) {
	t.Parallel()
	var jobs Jobs
	h := func(context.Context, Delivery) error { panic("ouch") }
	if jobs.Register("x", h) != nil || jobs.Register("x", h) == nil || jobs.Register("", h) == nil || jobs.Register("y", nil) == nil {
		t.Error("what may be registered")
	}
	r := jobs.Run(t.Context(), Delivery{Spec: schedule.Target{Job: &schedule.Job{Name: "x"}}})
	if r.Code != CodeInternal || !strings.Contains(r.Message, "ouch") {
		t.Errorf("a panic: %+v", r)
	}
	if r := jobs.Run(t.Context(), Delivery{Spec: schedule.Target{Job: &schedule.Job{Name: "z"}}}); r.OK() {
		t.Error("an unknown job ran")
	}
	if r := jobs.Run(t.Context(), Delivery{}); r.OK() {
		t.Error("a command ran as a job")
	}
}
