package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

// tenantPath begins every path that belongs to a tenant.
const tenantPath = "/v1/tenants/{tenant}"

// routes declares every route. What a route takes is in its input struct, what it answers in client.
func (s *server) routes() {
	get(s, "list-schedules", tenantPath+"/schedules", "List schedules by name", s.listSchedules)
	register(s, operation("get-schedule", http.MethodGet, tenantPath+"/schedules/{name}", "Read one schedule"), s.getSchedule)
	get(s, "schedule-next", tenantPath+"/schedules/{name}/next", "List the coming occurrences of a schedule", s.scheduleNext)
	get(s, "explain", tenantPath+"/schedules/{name}/explain", "Say what became of one instant of a schedule", s.explain)
	get(s, "next", tenantPath+"/next", "List what is due next over all schedules", s.next)
	get(s, "list-runs", tenantPath+"/runs", "List runs, newest due first", s.listRuns)
	get(s, "get-run", tenantPath+"/runs/{id}", "Read one run", s.getRun)
	get(s, "run-attempts", tenantPath+"/runs/{id}/attempts", "List what is recorded about a run's deliveries", s.runAttempts)
	get(s, "list-gaps", tenantPath+"/gaps", "List occurrences that made no run, newest first", s.listGaps)
	get(s, "version", "/v1/system/version", "Say what this server is built of", s.version)
	get(s, "status", "/v1/system/status", "Say how this server stands", s.status)
	get(s, "live", "/healthz/live", "Answer while the process lives", s.live)
	register(s, operation("ready", http.MethodGet, "/healthz/ready", "Answer 503 while planning cannot proceed here", http.StatusServiceUnavailable), s.ready)
	s.outputRoute()

	op := operation("preview", http.MethodPost, tenantPath+"/schedules:preview", "Say what an expression or a spec would do; nothing is stored")
	op.RequestBody = s.body(reflect.TypeFor[client.PreviewRequest]())
	register(s, op, s.preview)
	op = operation("validate", http.MethodPost, tenantPath+"/schedules:validate", "Hold a document of kind Schedule against the rules; nothing is stored")
	op.RequestBody = s.body(reflect.TypeFor[map[string]any]())
	register(s, op, s.validate)
}

// answer is a body as huma wants it.
type answer[T any] struct{ Body T }

func operation(id, method, path, summary string, more ...int) huma.Operation {
	return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, MaxBodyBytes: MaxBody,
		SkipValidateBody: true, Errors: append([]int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable}, more...)}
}

func (s *server) body(t reflect.Type) *huma.RequestBody {
	schema := s.api.OpenAPI().Components.Schemas.Schema(t, true, "")
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
}

// get registers a route that reads and answers with one value.
func get[I, O any](s *server, id, path, summary string, handle func(context.Context, *I) (O, error)) {
	register(s, operation(id, http.MethodGet, path, summary), func(ctx context.Context, in *I) (*answer[O], error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, err
		}
		return &answer[O]{out}, nil
	})
}

// register gives every handler its time and turns its errors into problems.
func register[I, O any](s *server, op huma.Operation, handle func(context.Context, *I) (*O, error)) {
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.refuse(ctx, err)
		}
		return out, nil
	})
	if op.RequestBody != nil { // what huma adds for a body that it does not read
		delete(op.RequestBody.Content, "application/octet-stream")
	}
}

// TenantPath is the tenant of a path. It is exported for huma, which reads exported fields only.
type TenantPath struct {
	Tenant string `path:"tenant" doc:"- is none"`
}

// PageQuery asks for one page of a listing.
type PageQuery struct {
	PageSize  string `query:"page_size" doc:"default 50; more than 1000 is 1000"`
	PageToken string `query:"page_token" doc:"next_page_token of the page before"`
}

type inSchedules struct {
	TenantPath
	PageQuery
}

// SchedulePath is the schedule of a path.
type SchedulePath struct {
	TenantPath
	Name string `path:"name"`
}

func (s *server) listSchedules(ctx context.Context, in *inSchedules) (out client.List[client.Schedule], err error) {
	var p parameters
	tenant := p.tenant(in.Tenant)
	page, err := p.page(in.PageSize, in.PageToken, "schedules", tenant)
	if err := first(p.err(), err); err != nil {
		return out, err
	}
	items, next, err := s.control.Schedules(ctx, tenant, page)
	if err != nil {
		return out, err
	}
	out.Items = []client.Schedule{}
	for _, item := range items {
		w, err := wireSchedule(item)
		if err != nil {
			return out, err
		}
		out.Items = append(out.Items, w)
	}
	out.NextPageToken = pageToken(next, "schedules", tenant)
	return out, nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

type inGetSchedule struct {
	SchedulePath
	IfNoneMatch string `header:"If-None-Match"`
}

type outSchedule struct {
	Status int
	ETag   string `header:"ETag"`
	Body   *client.Schedule
}

// getSchedule answers with the revision as its strong ETag. The status part changes without it, so a match is answered
// only for a client that asks for the definition.
func (s *server) getSchedule(ctx context.Context, in *inGetSchedule) (*outSchedule, error) {
	var p parameters
	tenant := p.tenant(in.Tenant)
	if err := p.err(); err != nil {
		return nil, err
	}
	item, err := s.control.Schedule(ctx, tenant, in.Name)
	if err != nil {
		return nil, err
	}
	w, err := wireSchedule(item)
	tag := fmt.Sprintf("%q", fmt.Sprint(item.Revision))
	for match := range strings.SplitSeq(in.IfNoneMatch, ",") {
		if match = strings.TrimSpace(match); match == tag || match == "*" {
			return &outSchedule{Status: http.StatusNotModified, ETag: tag}, nil
		}
	}
	return &outSchedule{Status: http.StatusOK, ETag: tag, Body: &w}, err
}

type inDue struct {
	SchedulePath
	From string `query:"from" doc:"RFC 3339, included; default now"`
	To   string `query:"to" doc:"RFC 3339, excluded"`
	N    string `query:"n" doc:"default 10, with to 10000"`
}

func (s *server) scheduleNext(ctx context.Context, in *inDue) (out client.Due, err error) {
	var p parameters
	tenant := p.tenant(in.Tenant)
	q := control.DueQuery{From: p.instant("from", in.From), To: p.instant("to", in.To), N: p.number("n", in.N, control.MaxOccurrences)}
	if err := p.err(); err != nil {
		return out, err
	}
	due, err := s.control.Due(ctx, tenant, in.Name, q)
	if err != nil {
		return out, err
	}
	return client.Due{Schedule: due.Name, ScheduleID: due.ID.String(), TimeZone: due.Spec.TimeZone, Description: due.Description,
		State: due.State, Occurrences: local(due.Occurrences), Truncated: due.Truncated}, nil
}

type inExplain struct {
	SchedulePath
	At string `query:"at" required:"true" doc:"RFC 3339"`
}

func (s *server) explain(ctx context.Context, in *inExplain) (out client.Explanation, err error) {
	var p parameters
	tenant := p.tenant(in.Tenant)
	instant := p.instant("at", in.At)
	if in.At == "" {
		p.add("at", schedule.CodeRequired, "must be given")
	}
	if err := p.err(); err != nil {
		return out, err
	}
	x, err := s.control.Explain(ctx, tenant, in.Name, instant)
	if err != nil {
		return out, err
	}
	return wireExplanation(x), nil
}

type inNext struct {
	TenantPath
	N string `query:"n" doc:"default 50"`
}

func (s *server) next(ctx context.Context, in *inNext) (out client.List[client.Next], err error) {
	var p parameters
	tenant, n := p.tenant(in.Tenant), p.number("n", in.N, control.MaxUpcoming)
	if err := p.err(); err != nil {
		return out, err
	}
	items, err := s.control.Upcoming(ctx, tenant, n)
	out.Items = []client.Next{}
	for _, item := range items {
		out.Items = append(out.Items, wireNext(item))
	}
	return out, err
}

type inRuns struct {
	TenantPath
	Schedule string `query:"schedule" doc:"name, or id"`
	Status   string `query:"status" doc:"statuses, with commas between them"`
	Kind     string `query:"kind"`
	From     string `query:"from" doc:"RFC 3339, of the due instant, included"`
	To       string `query:"to" doc:"RFC 3339, of the due instant, excluded"`
	PageQuery
}

var (
	statuses = closed[run.Status]{run.ParseStatus, run.Statuses()}
	reasons  = closed[run.Reason]{run.ParseReason, run.Reasons()}
	kinds    = closed[run.Kind]{run.ParseKind, run.Kinds()}
)

func (s *server) listRuns(ctx context.Context, in *inRuns) (out client.List[client.Run], err error) {
	var p parameters
	f := control.RunFilter{Tenant: p.tenant(in.Tenant), Schedule: in.Schedule, Kind: word(&p, "kind", in.Kind, kinds),
		From: p.instant("from", in.From), To: p.instant("to", in.To)}
	for text := range strings.SplitSeq(in.Status, ",") {
		if status := word(&p, "status", strings.TrimSpace(text), statuses); status != 0 {
			f.Statuses = append(f.Statuses, status)
		}
	}
	filters := []string{"runs", f.Tenant, in.Schedule, in.Status, in.Kind, in.From, in.To}
	f.Page, err = p.page(in.PageSize, in.PageToken, filters...)
	if err := first(p.err(), err); err != nil {
		return out, err
	}
	items, next, err := s.control.Runs(ctx, f)
	out.Items = []client.Run{}
	for _, item := range items {
		out.Items = append(out.Items, wireRun(item))
	}
	out.NextPageToken = pageToken(next, filters...)
	return out, err
}

type inRun struct {
	TenantPath
	ID string `path:"id"`
}

// find reads the run of a path.
func (s *server) find(ctx context.Context, in inRun) (control.Run, error) {
	var p parameters
	tenant := p.tenant(in.Tenant)
	if err := p.err(); err != nil {
		return control.Run{}, err
	}
	id, err := run.ParseID(in.ID)
	if err != nil {
		return control.Run{}, &control.Missing{What: "run", Name: clip(in.ID), Hint: "a run's id is run_ and 26 characters"}
	}
	return s.control.Run(ctx, tenant, id)
}

func (s *server) getRun(ctx context.Context, in *inRun) (client.Run, error) {
	r, err := s.find(ctx, *in)
	if err != nil {
		return client.Run{}, err
	}
	return wireRun(r), nil
}

func (s *server) runAttempts(ctx context.Context, in *inRun) (client.Attempts, error) {
	r, err := s.find(ctx, *in)
	if err != nil {
		return client.Attempts{}, err
	}
	attempts, history, err := s.control.Attempts(ctx, r.Tenant, r.ID)
	return wireAttempts(attempts, history), err
}

type inGaps struct {
	TenantPath
	Schedule string `query:"schedule" doc:"name, or id"`
	Reason   string `query:"reason"`
	From     string `query:"from" doc:"RFC 3339; gaps that touch [from, to) are listed"`
	To       string `query:"to" doc:"RFC 3339"`
	PageQuery
}

func (s *server) listGaps(ctx context.Context, in *inGaps) (out client.List[client.Gap], err error) {
	var p parameters
	f := control.GapFilter{Tenant: p.tenant(in.Tenant), Schedule: in.Schedule, Reason: word(&p, "reason", in.Reason, reasons),
		From: p.instant("from", in.From), To: p.instant("to", in.To)}
	filters := []string{"gaps", f.Tenant, in.Schedule, in.Reason, in.From, in.To}
	f.Page, err = p.page(in.PageSize, in.PageToken, filters...)
	if err := first(p.err(), err); err != nil {
		return out, err
	}
	items, next, err := s.control.Gaps(ctx, f)
	out.Items = []client.Gap{}
	for _, item := range items {
		out.Items = append(out.Items, wireGap(item))
	}
	out.NextPageToken = pageToken(next, filters...)
	return out, err
}

type inBody struct {
	TenantPath
	RawBody []byte
}

func (s *server) preview(ctx context.Context, in *inBody) (*answer[client.Preview], error) {
	var p parameters
	p.tenant(in.Tenant)
	if err := p.err(); err != nil {
		return nil, err
	}
	var req client.PreviewRequest
	if err := strictly(in.RawBody, &req); err != nil {
		return nil, err
	}
	i, err := s.control.Installation(ctx)
	if err != nil {
		return nil, err
	}
	out, err := Preview(req, i.Now)
	return &answer[client.Preview]{out}, err
}

// validate reads the body as a manifest; a place is a line of the body.
func (s *server) validate(ctx context.Context, in *inBody) (*answer[client.Validation], error) {
	var p parameters
	tenant := p.tenant(in.Tenant)
	if err := p.err(); err != nil {
		return nil, err
	}
	i, err := s.control.Installation(ctx)
	if err != nil {
		return nil, err
	}
	out, err := Validate("body.json", in.RawBody, ValidateOptions{Defaults: s.o.Defaults, Now: i.Now})
	if err != nil {
		return nil, err
	}
	for _, item := range out.Items {
		if item.Tenant != "" && item.Tenant != tenant {
			return nil, manifest.NewError("body.json", []manifest.Problem{{Place: manifest.Place{File: "body.json"}, Problem: schedule.Problem{
				Pointer: "/metadata/tenant", Code: schedule.CodeConflict, Message: "is another tenant than the path names"}}})
		}
	}
	return &answer[client.Validation]{out}, nil
}
