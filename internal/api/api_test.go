package api_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/internal/api"
)

var update = flag.Bool("update", false, "write the golden files anew; review them like code")

// The keys and words of an answer are a promise to programs; a golden file shows every change of them.
func TestAnswersAreTheGoldenOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *api.Options) {
		o.Local = func() api.Local {
			return api.Local{Version: client.Version{Version: "1", Commit: "c", Go: "go", TZData: "2026a", SQLite: "3"}, Node: "nod_x", StartedAt: start,
				Roles: []string{"api"}, Planner: client.PlannerStatus{Ready: true}, Consent: "file"}
		}
	})
	for name, path := range map[string]string{
		"schedules": "/v1/tenants/-/schedules", "schedule": "/v1/tenants/-/schedules/minutely", "paused": "/v1/tenants/-/schedules/quiet",
		"schedule-next": "/v1/tenants/-/schedules/daily/next?n=2", "next": "/v1/tenants/-/next",
		"runs": "/v1/tenants/-/runs", "attempts": "/v1/tenants/-/runs/" + runID(2) + "/attempts", "run": "/v1/tenants/-/runs/" + runID(2),
		"gaps": "/v1/tenants/-/gaps?schedule=minutely", "explain-run": "/v1/tenants/-/schedules/minutely/explain?at=2026-11-30T10:01:00Z",
		"explain-gap": "/v1/tenants/-/schedules/minutely/explain?at=2026-11-30T10:04:00Z", "status": "/v1/system/status", "version": "/v1/system/version",
	} {
		status, _, text := w.do(call{path: path})
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, text)
			continue
		}
		golden(w, name, pretty(w, text))
	}
}

func golden(w *world, name, got string) {
	w.Helper()
	path := filepath.Join("testdata", name+".json")
	if *update {
		w.must(os.MkdirAll("testdata", 0o755))
		w.must(os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	w.must(err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		w.Errorf("%s (-want +got; -update writes it anew):\n%s", path, diff)
	}
}

// A web page that has its name resolve to loopback reaches this port, but cannot choose another Host.
func TestForeignHostsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, host := range []string{"evil.example", "evil.example:7878", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "0.0.0.0"} {
		w.problem(call{path: "/healthz/live", host: host}, http.StatusForbidden, api.CodePermissionDenied)
	}
	for _, host := range []string{"localhost", "LOCALHOST:1", "127.0.0.1:7878", "[::1]:7878", "127.8.8.8"} {
		if status, _, text := w.do(call{path: "/healthz/live", host: host}); status != http.StatusOK {
			t.Errorf("host %s: %d %s", host, status, text)
		}
	}
}

func TestCrossOriginPostsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const path, body = "/v1/tenants/-/schedules:preview", `{"expr":"* * * * *"}`
	for _, header := range []map[string]string{
		{"Content-Type": "application/json", "Sec-Fetch-Site": "cross-site"},
		{"Content-Type": "application/json", "Origin": "https://evil.example"},
	} {
		w.problem(call{method: http.MethodPost, path: path, body: body, header: header}, http.StatusForbidden, api.CodePermissionDenied)
	}
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"} {
		w.problem(call{method: http.MethodPost, path: path, body: body, header: map[string]string{"Content-Type": kind}}, http.StatusUnsupportedMediaType, api.CodeMedia)
	}
}

func TestCompressedBodiesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.problem(call{method: http.MethodPost, path: "/v1/tenants/-/schedules:preview", body: "\x1f\x8b",
		header: map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}}, http.StatusUnsupportedMediaType, api.CodeMedia)
}

// What cannot be posted at all must not be answered with how to post it.
func TestPostToWhatOnlyAnswersGetIsNoQuestionOfTheMediaType(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.problem(call{method: http.MethodPost, path: "/v1/tenants/-/schedules"}, http.StatusMethodNotAllowed, api.CodeMethod)
	w.problem(call{method: http.MethodPost, path: "/v1/nothing"}, http.StatusNotFound, api.CodeNotFound)
}

func TestUnknownRoutesAndMethodsAreProblems(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	json := map[string]string{"Content-Type": "application/json"}
	for _, path := range []string{"/", "/nope", "/v1/tenants/-/nope", "/v1/tenants//runs", "/docs", "/schemas"} {
		w.problem(call{path: path}, http.StatusNotFound, api.CodeNotFound)
	}
	w.problem(call{method: http.MethodPost, path: "/v1/tenants/-/runs", header: json}, http.StatusMethodNotAllowed, api.CodeMethod)
	w.problem(call{method: http.MethodDelete, path: "/v1/tenants/-/schedules/daily"}, http.StatusMethodNotAllowed, api.CodeMethod)
	w.problem(call{path: "/v1/tenants/-/schedules:validate"}, http.StatusMethodNotAllowed, api.CodeMethod)
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.problem(call{path: "/v1/tenants/-/schedules/dayly"}, http.StatusNotFound, api.CodeNotFound)
	if !strings.Contains(p.Detail, `did you mean "daily"`) {
		t.Errorf("no suggestion: %s", p.Detail)
	}
	for _, path := range []string{"/runs/run_00000000000000000000000077", "/runs/nonsense", "/runs?schedule=nope", "/schedules/nope/next"} {
		w.problem(call{path: "/v1/tenants/-" + path}, http.StatusNotFound, api.CodeNotFound)
	}
	// another tenant sees nothing of what belongs to none (P9)
	for _, path := range []string{"/schedules/daily", "/runs/" + runID(1), "/runs/" + runID(1) + "/output", "/runs/" + runID(1) + "/attempts"} {
		w.problem(call{path: "/v1/tenants/acme" + path}, http.StatusNotFound, api.CodeNotFound)
	}
	var runs client.List[client.Run]
	if w.get("/v1/tenants/acme/runs", &runs); len(runs.Items) > 0 {
		t.Errorf("tenant acme sees %d runs of nobody", len(runs.Items))
	}
}

func TestWrongParametersAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for query, want := range map[string]string{
		"/runs?statos=failed":                    "statos",
		"/runs?status=faild":                     "status",
		"/runs?kind=cron":                        "kind",
		"/runs?from=yesterday":                   "from",
		"/runs?to=2026-11-30":                    "to",
		"/runs?page_size=-1":                     "page_size",
		"/runs?page_size=x":                      "page_size",
		"/runs?kind=scheduled&kind=manual":       "kind",
		"/gaps?reason=forgotten":                 "reason",
		"/schedules/daily/next?n=100000":         "n",
		"/schedules/daily/explain?at=1":          "at",
		"/runs/" + runID(1) + "/output?follow=1": "follow",
	} {
		p := w.problem(call{path: "/v1/tenants/-" + query}, http.StatusBadRequest, api.CodeInvalidArgument)
		if len(p.Errors) != 1 || p.Errors[0].Pointer != want {
			t.Errorf("%s: errors %v, want one of %s", query, p.Errors, want)
		}
	}
	w.problem(call{path: "/v1/tenants/UPPER/runs"}, http.StatusBadRequest, api.CodeInvalidArgument)
}

func TestPagesTogetherAreTheListing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var whole client.List[client.Run]
	w.get("/v1/tenants/-/runs", &whole)
	var found []string
	token := ""
	for range 10 {
		var page client.List[client.Run]
		w.get("/v1/tenants/-/runs?page_size=1&page_token="+token, &page)
		for _, r := range page.Items {
			found = append(found, r.ID)
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	want := []string{runID(6), runID(2), runID(1)} // newest due first
	if !slices.Equal(found, want) || len(whole.Items) != 3 {
		t.Errorf("pages gave %v, want %v; the whole listing has %d", found, want, len(whole.Items))
	}
}

func TestPageTokensBelongToTheirFilters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var page client.List[client.Run]
	w.get("/v1/tenants/-/runs?page_size=1", &page)
	for _, query := range []string{"/runs?status=failed&page_token=", "/gaps?page_token=", "/schedules?page_token="} {
		w.problem(call{path: "/v1/tenants/-" + query + page.NextPageToken}, http.StatusBadRequest, api.CodePageToken)
	}
	for _, token := range []string{"x", "AAAA", strings.Repeat("A", 40), page.NextPageToken + "A"} {
		w.problem(call{path: "/v1/tenants/-/runs?page_token=" + token}, http.StatusBadRequest, api.CodePageToken)
	}
}

func TestBodiesAreReadStrictly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for body, want := range map[string]string{
		`{"expr":"* * * * *","expr":"1 * * * *"}`: "DUPLICATE_KEY /expr",
		`{"exp":"* * * * *"}`:                     "UNKNOWN_KEY /exp",
		`{"expr":null}`:                           "WRONG_TYPE /expr",
		`{"expr":5}`:                              "WRONG_TYPE /expr",
		`[]`:                                      "SYNTAX ",
		`{"expr":"* * * * *"} {}`:                 "SYNTAX ",
		`{"expr":`:                                "SYNTAX ",
		`{"expr":"61 * * * *"}`:                   "CRON_SYNTAX /expr",
		`{"expr":"* * * * *","time_zone":"CET"}`:  "BAD_TIME_ZONE /time_zone",
		`{"expr":"* * * * *","n":10001}`:          "OUT_OF_RANGE /n",
		`{"expr":"* * * * *","from":"x"}`:         "BAD_FORMAT /from",
		`{"expr":"@every 90s","dialect":"cron"}`:  "CRON_SYNTAX /expr",
		`{"spec":{"trigger":{"cron":"* * * * *"},"overlop":1}}`:  "UNKNOWN_KEY /spec/overlop",
		`{"spec":{"trigger":{"every":"1s","every":"2s"}}}`:       "DUPLICATE_KEY /spec/trigger/every",
		`{"expr":"* * * * *","spec":{"trigger":{"every":"1s"}}}`: "CONFLICT /spec",
		`{}`: "REQUIRED /expr",
	} {
		status, text := w.post("/v1/tenants/-/schedules:preview", body)
		var p client.Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil || status != http.StatusUnprocessableEntity || len(p.Errors) == 0 {
			t.Errorf("%s: %d %s", body, status, text)
			continue
		}
		if got := p.Errors[0].Code + " " + p.Errors[0].Pointer; got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// What was sent may be a secret, and an answer is logged in more places than a request.
func TestProblemsDoNotRepeatTheBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const secret = "hunter2-hunter2"
	for _, path := range []string{"/v1/tenants/-/schedules:preview", "/v1/tenants/-/schedules:validate"} {
		for _, body := range []string{`{"token":"` + secret + `"}`, `{"spec":{"target":{"command":{"argv":["true"],"env":{"K":"` + secret + `"}}}}}`, `"` + secret + `"`} {
			if status, text := w.post(path, body); status != http.StatusUnprocessableEntity || strings.Contains(text, secret) {
				t.Errorf("%s %s: %d %s", path, body, status, text)
			}
		}
	}
}

func TestLargeBodiesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.problem(call{method: http.MethodPost, path: "/v1/tenants/-/schedules:preview", body: `{"expr":"` + strings.Repeat("*", api.MaxBody) + `"}`,
		header: map[string]string{"Content-Type": "application/json"}}, http.StatusRequestEntityTooLarge, api.CodeTooLarge)
}

// 02:30 on the day the clocks go forward comes an hour late: the case every page about cron has.
func TestPreviewShowsTheSkippedHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	status, text := w.post("/v1/tenants/-/schedules:preview", `{"expr":"30 2 * * *","time_zone":"Europe/Berlin","from":"2027-03-27T00:00:00Z","to":"2027-03-29T00:00:00Z"}`)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	golden(w, "preview", pretty(w, text))
}

func TestValidateTellsWhatADocumentDeclares(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	status, text := w.post("/v1/tenants/-/schedules:validate",
		`{"apiVersion":"belfry/v1","kind":"Schedule","metadata":{"name":"x"},"spec":{"trigger":{"every":"90s"},"target":{"command":{"argv":["true"]}}}}`)
	var v client.Validation
	if err := json.Unmarshal([]byte(text), &v); err != nil || status != http.StatusOK || len(v.Items) != 1 || v.Items[0].Description != "Every 1m30s" {
		t.Errorf("%d %s", status, text)
	}
	if status, text := w.post("/v1/tenants/-/schedules:validate", `{"apiVersion":"belfry/v1","kind":"Schedul"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("%d %s", status, text)
	}
}

func TestScheduleCarriesItsRevisionAsETag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, header, _ := w.do(call{path: "/v1/tenants/-/schedules/daily"})
	if got := header.Get("ETag"); got != `"1"` {
		t.Errorf("ETag %s, want \"1\"", got)
	}
	status, _, text := w.do(call{path: "/v1/tenants/-/schedules/daily", header: map[string]string{"If-None-Match": `"1"`}})
	if status != http.StatusNotModified || text != "" {
		t.Errorf("If-None-Match: %d %q", status, text)
	}
}

func TestReadinessIsRedWhilePlanningCannotProceed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *api.Options) {
		o.Local = func() api.Local {
			return api.Local{Planner: client.PlannerStatus{Reason: "the clock has been stepped"}}
		}
	})
	status, _, text := w.do(call{path: "/healthz/ready"})
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "the clock has been stepped") {
		t.Errorf("ready: %d %s", status, text)
	}
	if status, _, _ := w.do(call{path: "/healthz/live"}); status != http.StatusOK {
		t.Errorf("live: %d; a process that waits is alive", status)
	}
}

// Explain has an answer for every instant, whoever asks and whenever.
func TestExplainAnswersEveryInstant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for at, want := range map[string]string{
		"minutely?at=2026-11-30T10:06:00Z": "run",
		"minutely?at=2026-11-30T10:05:00Z": "gap",
		"minutely?at=2026-11-30T10:04:30Z": "not_due",
		"minutely?at=2026-11-30T10:08:00Z": "pending", // the watermark stands at minute 7
		"minutely?at=2026-11-30T10:30:00Z": "future",
		"minutely?at=2026-11-30T09:59:00Z": "not_due", // before it existed
		"daily?at=2026-12-01T01:30:00Z":    "future",
		"daily?at=2026-12-01T02:30:00Z":    "not_due", // an hour off: Berlin is ahead
		"quiet?at=2026-11-30T12:00:00Z":    "paused",
	} {
		var x client.Explanation
		name, query, _ := strings.Cut(at, "?")
		w.get("/v1/tenants/-/schedules/"+name+"/explain?"+query, &x)
		if x.Answer != want {
			t.Errorf("%s: %s (%s), want %s", at, x.Answer, x.Sentence, want)
		}
	}
}

func TestOutputIsStreamedToItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, query := range []string{"", "?follow=true", "?delivery=1", "?from=0"} {
		status, header, text := w.do(call{path: "/v1/tenants/-/runs/" + runID(1) + "/output" + query})
		if status != http.StatusOK || text != "hello 1\n" || !strings.HasPrefix(header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %q %s", query, status, text, header.Get("Content-Type"))
		}
	}
	if status, _, text := w.do(call{path: "/v1/tenants/-/runs/" + runID(1) + "/output?from=1"}); status != http.StatusOK || text != "" {
		t.Errorf("from the end on: %d %q", status, text)
	}
}

func TestDescriptionListsTheRoutesAndNoForeignOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var spec struct {
		OpenAPI string                    `json:"openapi"`
		Paths   map[string]map[string]any `json:"paths"`
	}
	w.get("/openapi.json", &spec)
	for _, path := range []string{"/schedules", "/schedules/{name}", "/schedules/{name}/next", "/schedules/{name}/explain", "/next", "/runs", "/runs/{id}",
		"/runs/{id}/attempts", "/runs/{id}/output", "/gaps", "/schedules:preview", "/schedules:validate"} {
		if spec.Paths["/v1/tenants/{tenant}"+path] == nil {
			t.Errorf("%s is not described", path)
		}
	}
	if !strings.HasPrefix(spec.OpenAPI, "3.1") {
		t.Errorf("openapi %s", spec.OpenAPI)
	}
	if _, _, text := w.do(call{path: "/v1/system/version"}); strings.Contains(text, "$schema") {
		t.Errorf("a body has $schema: %s", text)
	}
}

// A client that sends its headers byte by byte must not hold a connection for ever.
func TestServerHasLimitsForSlowClients(t *testing.T) {
	t.Parallel()
	s := api.Server(http.NotFoundHandler(), nil)
	if s.ReadHeaderTimeout <= 0 || s.ReadHeaderTimeout > 10*time.Second || s.ReadTimeout <= 0 || s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 {
		t.Errorf("limits %v %v %v %d", s.ReadHeaderTimeout, s.ReadTimeout, s.IdleTimeout, s.MaxHeaderBytes)
	}
}
