package api_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/api"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

// followed asks for the output of run 6, which has not started, from a server that looks again only when it is told to
// stop. The answer has begun when it returns.
func followed(t *testing.T) (w *world, body io.Reader, stop context.CancelFunc) {
	t.Helper()
	w = newWorld(t)
	server := httptest.NewUnstartedServer(api.Handler(w.control, api.Options{Follow: time.Hour}))
	base, stop := context.WithCancel(context.Background())
	server.Config.BaseContext = func(net.Listener) context.Context { return base }
	server.Start()
	t.Cleanup(func() { stop(); server.Close() })
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/tenants/-/runs/"+runID(6)+"/output?follow=true", nil)
	w.must(err)
	answer, err := server.Client().Do(request)
	w.must(err)
	t.Cleanup(func() { _ = answer.Body.Close() }) // it has been read
	return w, answer.Body, stop
}

// A drain ends with the last run, and the API right after it: who follows that run still gets what it said at its end.
func TestStoppingServerTellsWhatARunWroteAtItsEnd(t *testing.T) {
	t.Parallel()
	w, body, stop := followed(t)
	taken, err := w.store.Take(w.Context(), store.Take{Node: w.node, Pools: []store.PoolRoom{{Pool: "default", Free: 1}}})
	w.must(err)
	h := store.Held{Run: taken.Runs[0].ID, Fence: taken.Runs[0].Fence}
	_, err = w.store.Start(w.Context(), []store.Started{{Held: h, At: minute(6)}})
	w.must(err)
	code := 0
	_, err = w.store.Settle(w.Context(), w.node, []store.Outcome{{Held: h, Status: run.Succeeded, Answered: true, StartedAt: minute(6), FinishedAt: minute(7),
		ExitCode: &code, Output: []store.Chunk{{Delivery: 1, Stream: store.Stdout, Data: []byte("done\n")}}, OutputBytes: 5}})
	w.must(err)
	stop()
	if text, err := io.ReadAll(body); err != nil || string(text) != "done\n" {
		t.Errorf("%q, %v; want done and a clean end", text, err)
	}
}

// An output that is cut must not look like one that is whole.
func TestStoppingServerBreaksOffTheOutputOfARunThatGoesOn(t *testing.T) {
	t.Parallel()
	_, body, stop := followed(t)
	stop()
	if text, err := io.ReadAll(body); err == nil {
		t.Errorf("%q ended cleanly, and the run has not", text)
	}
}
