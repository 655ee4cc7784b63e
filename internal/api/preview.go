package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
)

// Preview answers a preview request without any server; now is where it begins when the request does not say. The
// error is a *schedule.Invalid.
func Preview(req client.PreviewRequest, now time.Time) (client.Preview, error) {
	in := control.PreviewInput{From: now.UTC(), N: req.N}
	var problems []schedule.Problem
	for _, bound := range []struct {
		name, text string
		set        *time.Time
	}{{"/from", req.From, &in.From}, {"/to", req.To, &in.To}} {
		if bound.text == "" {
			continue
		}
		at, err := schedule.ParseInstant(bound.text)
		if err != nil {
			problems = append(problems, schedule.Problem{Pointer: bound.name, Code: schedule.CodeBadFormat, Message: err.Error()})
		}
		*bound.set = at.Time()
	}
	if req.N < 0 {
		problems = append(problems, schedule.Problem{Pointer: "/n", Code: schedule.CodeOutOfRange, Message: "must not be negative"})
	}
	spec, err := previewSpec(req)
	problems = append(problems, problemsOf(err)...)
	if len(problems) > 0 {
		return client.Preview{}, &schedule.Invalid{Problems: problems}
	}
	in.Spec = spec
	p, err := control.Look(in)
	if err != nil {
		return client.Preview{}, err
	}
	return wirePreview(p), nil
}

// previewSpec makes the spec that a request means. Pointers of problems lead into the request.
func previewSpec(req client.PreviewRequest) (schedule.Spec, error) {
	one := func(pointer, code, message string) error {
		return &schedule.Invalid{Problems: []schedule.Problem{{Pointer: pointer, Code: code, Message: message}}}
	}
	if len(req.Spec) == 0 {
		if req.Expr == "" {
			return schedule.Spec{}, one("/expr", schedule.CodeRequired, "give an expression, or a spec")
		}
		spec, err := control.Expression(req.Expr, schedule.Spec{TimeZone: req.TimeZone, Trigger: schedule.Trigger{
			Seconds: req.Seconds, DSTGap: req.DSTGap, DSTRepeat: req.DSTRepeat}}, req.Dialect)
		return spec, moved(err)
	}
	if req.Expr != "" || req.TimeZone != "" || req.Seconds || req.DSTGap != "" || req.DSTRepeat != "" || req.Dialect != "" {
		return schedule.Spec{}, one("/spec", schedule.CodeConflict, "is given beside expr or its keys; write them into the spec")
	}
	return wrapped(req.Spec)
}

// movedTo says where the keys of a spec stand in a request that gives an expression.
var movedTo = map[string]string{
	"/spec/trigger": "/expr", "/spec/trigger/cron": "/expr", "/spec/trigger/cron/0": "/expr", "/spec/time_zone": "/time_zone",
	"/spec/trigger/seconds": "/seconds", "/spec/trigger/dst_gap": "/dst_gap", "/spec/trigger/dst_repeat": "/dst_repeat",
}

func moved(err error) error {
	var e *schedule.Invalid
	if !errors.As(err, &e) {
		return err
	}
	out := &schedule.Invalid{Problems: slices.Clone(e.Problems)}
	for i := range out.Problems {
		if to, ok := movedTo[out.Problems[i].Pointer]; ok {
			out.Problems[i].Pointer = to
		}
	}
	return out
}

// wrapped reads a bare spec with the reader of manifests, whose rules it follows, except that it needs no target.
func wrapped(spec json.RawMessage) (schedule.Spec, error) {
	body := bytes.TrimSpace(spec)
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(body, &keys); err != nil {
		return schedule.Spec{}, &schedule.Invalid{Problems: []schedule.Problem{{Pointer: "/spec", Code: schedule.CodeWrongType, Message: "must be an object"}}}
	}
	if target := keys["target"]; len(target) == 0 {
		extra := `{"target":{"command":{"argv":["true"]}}`
		if len(keys) > 0 {
			extra += ","
		}
		body = append([]byte(extra), body[1:]...)
	}
	document := fmt.Appendf(nil, `{"apiVersion":"belfry/v1","kind":"Schedule","metadata":{"name":"preview"},"spec":%s}`, body)
	items, err := manifest.Read("spec.json", bytes.NewReader(document), schedule.Defaults{LeastGrace: -1})
	var bad *manifest.Error
	if errors.As(err, &bad) {
		out := &schedule.Invalid{}
		for _, p := range bad.Problems {
			out.Problems = append(out.Problems, p.Problem) // the place is one of our document, not of the request
		}
		return schedule.Spec{}, out
	}
	if err != nil {
		return schedule.Spec{}, err
	}
	return items[0].Spec, nil
}

func problemsOf(err error) []schedule.Problem {
	var e *schedule.Invalid
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e.Problems
	}
	return []schedule.Problem{{Code: schedule.CodeBadFormat, Message: err.Error()}}
}

func wirePreview(p control.Preview) client.Preview {
	out := client.Preview{
		Expr: p.Expr, Canonical: p.Canonical, TimeZone: p.TimeZone, Description: p.Description,
		From: client.Time{Time: p.From}, To: client.NewTime(p.To), Occurrences: local(p.Occurrences), Truncated: p.Truncated,
		Transitions: []client.Transition{}, Warnings: wireWarnings(p.Warnings),
	}
	const wall = "2006-01-02T15:04:05"
	for _, t := range p.Transitions {
		out.Transitions = append(out.Transitions, client.Transition{
			At: client.Time{Time: t.At}, Kind: t.Kind.String(), ShiftSeconds: int(t.Shift / time.Second),
			LocalFrom: t.LocalFrom.Format(wall), LocalTo: t.LocalTo.Format(wall), Effect: t.Effect, Occurrences: local(t.Occurrences),
		})
	}
	return out
}

// local prints instants with the offset that their zone's clock has then. An offset with seconds, as some zones had
// long ago, cannot be written in RFC 3339; such an instant is printed in UTC rather than wrongly.
func local(list []time.Time) []string {
	out := make([]string, len(list))
	for i, t := range list {
		if _, offset := t.Zone(); offset%60 != 0 {
			t = t.UTC()
		}
		out[i] = t.Format("2006-01-02T15:04:05.999999Z07:00")
	}
	return out
}

func wireWarnings(list []cron.Warning) []client.Warning {
	out := make([]client.Warning, len(list))
	for i, w := range list {
		out[i] = client.Warning{Code: w.Code, Message: w.Message, Fix: w.Fix}
	}
	return out
}

// Validate reads the documents of a file, JSON if its name says so, and tells what they declare. The error is a
// *manifest.Error.
func Validate(file string, text []byte, o ValidateOptions) (client.Validation, error) {
	items, err := manifest.Read(file, bytes.NewReader(text), o.Defaults)
	if err != nil {
		return client.Validation{}, err
	}
	return Declared(items, o.Now)
}

// ValidateOptions says what documents are held against.
type ValidateOptions struct {
	Defaults schedule.Defaults // of the installation
	Now      time.Time         // warnings are about the year from here
}

// Declared says what items would be, once applied.
func Declared(items []manifest.Item, now time.Time) (client.Validation, error) {
	out := client.Validation{Items: []client.Validated{}}
	for _, item := range items {
		spec, err := schedule.EncodeSpec(item.Spec)
		if err != nil {
			return client.Validation{}, err
		}
		out.Items = append(out.Items, client.Validated{
			Tenant: item.Tenant, Name: item.Name, Description: item.Spec.Describe(), Spec: spec,
			Warnings: wireWarnings(item.Spec.Warnings(now, now.AddDate(1, 0, 0))),
		})
	}
	return out, nil
}
