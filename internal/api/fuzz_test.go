package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"pgregory.net/rapid"

	"github.com/belfryhq/belfry/client"
)

// S-240: whatever text is sent, the answer is what was asked for or a problem that blames the request, and the server
// lives on.
func TestNoTextMakesTheServerFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	routes := []string{"/schedules", "/schedules/$", "/schedules/$/next", "/schedules/$/explain", "/next", "/runs", "/runs/$", "/runs/$/attempts", "/runs/$/output", "/gaps"}
	parameters := []string{"schedule", "status", "kind", "from", "to", "page_size", "page_token", "n", "at", "reason", "delivery", "follow", "other"}
	check := func(rt *rapid.T, c call) {
		status, header, text := w.do(c)
		var p client.Problem
		switch {
		case status < 300 || status >= 300 && status < 400:
		case status >= 500, header.Get("Content-Type") != "application/problem+json", json.Unmarshal([]byte(text), &p) != nil, p.Code == "":
			rt.Fatalf("%s %s %q: %d %s", c.method, c.path, c.body, status, text)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.OneOf(rapid.StringN(1, 40, 200), rapid.SampledFrom([]string{"daily", "minutely", "-", runID(1), "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "true", "failed,", "1"}))
		path := rapid.SampledFrom(routes).Draw(rt, "route")
		if i := len("/schedules/"); len(path) > i && path[i] == '$' {
			path = path[:i] + url.PathEscape(word.Draw(rt, "name")) + path[i+1:]
		} else if i := len("/runs/"); len(path) > i && path[i] == '$' {
			path = path[:i] + url.PathEscape(word.Draw(rt, "id")) + path[i+1:]
		}
		q := url.Values{}
		for range rapid.IntRange(0, 2).Draw(rt, "parameters") {
			q.Set(rapid.SampledFrom(parameters).Draw(rt, "parameter"), word.Draw(rt, "value"))
		}
		check(rt, call{path: "/v1/tenants/-" + path + "?" + q.Encode()})
		body := rapid.OneOf(rapid.StringN(0, 60, 300), rapid.SampledFrom([]string{`{"expr":"* * * * *","to":"9999-12-31T23:59:59Z"}`, `{"spec":{}}`, `{"spec":[]}`, `{"spec":"x"}`, `null`,
			`{"spec":{"trigger":{"at":"0001-01-01T00:00:00Z"}}}`, `{"spec":{"trigger":{"every":"1s"}},"from":"0001-01-01T00:00:00Z","to":"9999-12-31T23:59:59Z"}`}))
		check(rt, call{method: http.MethodPost, path: "/v1/tenants/-" + rapid.SampledFrom([]string{"/schedules:preview", "/schedules:validate"}).Draw(rt, "action"),
			body: body.Draw(rt, "body"), header: map[string]string{"Content-Type": "application/json"}})
	})
}
