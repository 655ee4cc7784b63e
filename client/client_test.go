package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfryhq/belfry/client"
)

func serve(t *testing.T, handle http.HandlerFunc) *client.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A server that restarts answers 503 for a moment; a person should not see it.
func TestReadsAreTriedAgainWhileTheServerIsNotAvailable(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"code":"UNAVAILABLE","retryable":true}`))
			return
		}
		_, _ = w.Write([]byte(`{"version":"1"}`))
	})
	v, err := c.Version(t.Context())
	if err != nil || v.Version != "1" || asked.Load() != 3 {
		t.Errorf("%+v, %v after %d requests", v, err, asked.Load())
	}
}

// A stopped server accepts connections for the kernel's sake. Whoever asks it waits once, not once for each try.
func TestSilentServerIsUnreachableAfterOneWait(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	silent := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		<-silent
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(silent) })
	c, err := client.New(server.URL, client.Options{Pause: time.Millisecond,
		HTTP: &http.Client{Transport: &http.Transport{ResponseHeaderTimeout: 50 * time.Millisecond}}})
	if err != nil {
		t.Fatal(err)
	}
	var gone *client.Unreachable
	if _, err := c.Version(t.Context()); !errors.As(err, &gone) || asked.Load() != 1 {
		t.Errorf("%v after %d requests, want that nobody answers after one", err, asked.Load())
	}
}

func TestRefusalsAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"code":"NOT_FOUND","title":"Not found","detail":"there is no run","status":200}`))
	})
	_, err := c.Run(t.Context(), "", "run_x")
	var p *client.Problem
	if !errors.As(err, &p) || p.Status != http.StatusNotFound || asked.Load() != 1 || !strings.Contains(err.Error(), "there is no run") {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
}

func TestAnAnswerOfSomethingElseIsToldByItsStatus(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusTeapot) })
	_, err := c.Version(t.Context())
	var p *client.Problem
	if !errors.As(err, &p) || p.Code != "HTTP_418" {
		t.Errorf("%v", err)
	}
}

func TestNobodyThereIsUnreachable(t *testing.T) {
	t.Parallel()
	c, err := client.New("127.0.0.1:1", client.Options{Pause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Version(t.Context())
	var gone *client.Unreachable
	if !errors.As(err, &gone) {
		t.Errorf("%v, want *client.Unreachable", err)
	}
	for _, base := range []string{"", "ftp://x", "http://", "::"} {
		if _, err := client.New(base, client.Options{}); err == nil {
			t.Errorf("%q is taken for an address", base)
		}
	}
}

// A name is a person's text: it must stay one segment of the path.
func TestNamesStayInTheirSegment(t *testing.T) {
	t.Parallel()
	var path string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
		_, _ = w.Write([]byte(`{}`))
	})
	if _, err := c.Schedule(t.Context(), "", "../runs/a b?x"); err != nil {
		t.Fatal(err)
	}
	if want := "/v1/tenants/-/schedules/..%2Fruns%2Fa%20b%3Fx"; path != want {
		t.Errorf("path %s, want %s", path, want)
	}
}

func TestAllFollowsThePages(t *testing.T) {
	t.Parallel()
	pages := map[string]client.List[int]{"": {Items: []int{1, 2}, NextPageToken: "a"}, "a": {Items: []int{3}, NextPageToken: "b"}, "b": {Items: []int{4}}}
	read := func(token string) (client.List[int], error) { return pages[token], nil }
	for limit, want := range map[int]int{0: 4, 1: 1, 3: 3, 10: 4} {
		if items, err := client.All(read, limit); err != nil || len(items) != want {
			t.Errorf("limit %d: %v, %v; want %d", limit, items, err, want)
		}
	}
}

func TestWaitEndsWithTheRunOrTheContext(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		status := "running"
		if asked.Add(1) > 1 && strings.HasSuffix(r.URL.Path, "ends") {
			status = "failed"
		}
		_, _ = w.Write([]byte(`{"status":"` + status + `"}`))
	})
	if r, err := c.Wait(t.Context(), "", "ends"); err != nil || r.Status != "failed" {
		t.Errorf("%s, %v", r.Status, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if r, err := c.Wait(ctx, "", "goes-on"); !errors.Is(err, context.DeadlineExceeded) || r.Status != "running" {
		t.Errorf("%s, %v; want it as last seen, and the deadline", r.Status, err)
	}
}

func TestInstantsHaveTheDigitsThatAreNeeded(t *testing.T) {
	t.Parallel()
	for want, at := range map[string]time.Time{
		`"2026-07-01T10:00:00Z"`:        time.Date(2026, 7, 1, 12, 0, 0, 0, time.FixedZone("", 7200)),
		`"2026-07-01T10:00:00.25Z"`:     time.Date(2026, 7, 1, 10, 0, 0, 250_000_000, time.UTC),
		`"2026-07-01T10:00:00.000001Z"`: time.Date(2026, 7, 1, 10, 0, 0, 1999, time.UTC),
		`null`:                          {},
	} {
		text, err := json.Marshal(client.Time{Time: at})
		var back client.Time
		if err == nil {
			err = json.Unmarshal(text, &back)
		}
		if err != nil || string(text) != want || !back.Equal(at.Truncate(time.Microsecond)) {
			t.Errorf("%s, %v, back %v; want %s", text, err, back, want)
		}
	}
}
