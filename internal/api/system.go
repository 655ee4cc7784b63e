package api

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/control"
)

func (s *server) version(context.Context, *struct{}) (client.Version, error) {
	return s.o.Local().Version, nil
}

// status answers also when the store does not: that is when people ask.
func (s *server) status(ctx context.Context, _ *struct{}) (client.Status, error) {
	l := s.o.Local()
	out := client.Status{Version: l.Version.Version, Node: l.Node, StartedAt: at(l.StartedAt), Roles: orNone(l.Roles), Planner: l.Planner,
		File: l.File, Nodes: []client.Node{}, CommandAllow: l.Consent}
	i, err := s.installation(ctx)
	if err == nil {
		out.Now, out.Nodes = at(i.Now), wireNodes(i)
		if out.Planner.Epoch == 0 {
			out.Planner.Epoch, out.Planner.Watermark = i.Epoch, client.NewTime(i.Watermark)
		}
	}
	out.Ready, out.Reason = readiness(l, err)
	return out, nil
}

// readyTimeout bounds how long readiness waits for the store.
const readyTimeout = 2 * time.Second

func (s *server) installation(ctx context.Context) (control.Installation, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return s.control.Installation(ctx)
}

func readiness(l Local, err error) (ready bool, reason string) {
	switch {
	case err != nil:
		return false, "the database does not answer"
	case !l.Planner.Ready:
		return false, l.Planner.Reason
	}
	return true, ""
}

func (s *server) live(context.Context, *struct{}) (client.Readiness, error) {
	return client.Readiness{Status: "ok"}, nil
}

type outReady struct {
	Status int
	Body   client.Readiness
}

func (s *server) ready(ctx context.Context, _ *struct{}) (*outReady, error) {
	_, err := s.installation(ctx)
	ready, reason := readiness(s.o.Local(), err)
	if ready {
		return &outReady{http.StatusOK, client.Readiness{Status: "ok"}}, nil
	}
	return &outReady{http.StatusServiceUnavailable, client.Readiness{Status: "not_ready", Reason: reason}}, nil
}

// outputRoute is not huma's: the answer is a stream of text, and is only described there.
func (s *server) outputRoute() {
	const path = tenantPath + "/runs/{id}/output"
	op := operation("run-output", http.MethodGet, path, "Read what a run has written, as it comes when it is followed")
	for name, doc := range map[string]string{"delivery": "default: the last one", "from": "chunk to begin with", "follow": "true: go on until the run has ended"} {
		op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "query", Description: doc, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	for _, name := range []string{"tenant", "id"} {
		op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	op.Responses = map[string]*huma.Response{"200": {Description: "the output, errors and all; the trailer Belfry-Next-From is the chunk to go on from",
		Content: map[string]*huma.MediaType{"text/plain": {}}}}
	s.api.OpenAPI().AddOperation(&op)
	s.mux.HandleFunc("GET "+path, s.output)
}

// trailerNext tells from which chunk on to ask again.
const trailerNext = "Belfry-Next-From"

func (s *server) output(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if p := checkQuery(query, []string{"delivery", "from", "follow"}); p != nil {
		writeProblem(w, r, p)
		return
	}
	var p parameters
	q := control.OutputQuery{Delivery: p.number("delivery", query.Get("delivery"), 1<<20), From: p.number("from", query.Get("from"), 1<<30)}
	follow := p.truth("follow", query.Get("follow"))
	found, err := s.find(r.Context(), inRun{TenantPath{r.PathValue("tenant")}, r.PathValue("id")})
	if err := first(p.err(), err); err != nil {
		problem := ProblemOf(err)
		if problem.Code == CodeInternal {
			s.o.Logger.Error("a request failed", "reason", err.Error())
		}
		writeProblem(w, r, problem)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Trailer", trailerNext)
	s.stream(w, r, stream{found, q, follow})
}

type stream struct {
	run    control.Run
	query  control.OutputQuery
	follow bool
}

// writeTimeout is how long a client may take to read one piece.
const writeTimeout = 30 * time.Second

// stream writes what there is, and goes on looking while it follows. A server that stops looks once more, because the
// run may have ended with it. That an answer is not whole can, after the first byte, only be told by breaking it off.
func (s *server) stream(w http.ResponseWriter, r *http.Request, o stream) {
	door := http.NewResponseController(w)
	_ = door.SetReadDeadline(time.Time{}) // the request has been read; following may take long
	if o.query.Delivery == 0 {
		o.query.Delivery = o.run.Deliveries
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-r.Context().Done():
		case <-timer.C:
		}
		stopping := r.Context().Err() != nil
		_ = door.SetWriteDeadline(time.Now().Add(writeTimeout)) // a writer without deadlines is one in memory
		next, ended, err := s.look(r, o, w)
		if err != nil {
			if !stopping {
				s.o.Logger.Warn("an output could not be read to its end", "run_id", o.run.ID.String(), "reason", err.Error())
			}
			panic(http.ErrAbortHandler)
		}
		o.query.From = next
		if ended || !o.follow {
			w.Header().Set(trailerNext, strconv.Itoa(next))
			return
		}
		if stopping || door.Flush() != nil {
			panic(http.ErrAbortHandler)
		}
		timer.Reset(s.o.Follow)
	}
}

// look writes what has come since the last look. The end of the request does not cut it short: the last look comes after.
func (s *server) look(r *http.Request, o stream, w io.Writer) (next int, ended bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), writeTimeout)
	defer cancel()
	return s.control.Output(ctx, o.run, o.query, w)
}
