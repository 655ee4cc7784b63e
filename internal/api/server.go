package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/schedule"
)

// The limits of a request. A larger one is refused with a problem; a slower one is cut off.
const (
	MaxBody       = 1 << 20
	maxURL        = 8 << 10
	callTimeout   = 10 * time.Second // a read of the store
	headerTimeout = 5 * time.Second
	bodyTimeout   = 15 * time.Second
	idleTimeout   = 2 * time.Minute
)

// Options says how the API behaves. The zero value works.
type Options struct {
	// Local tells how this process stands, beside what the store knows.
	Local func() Local
	// Defaults is what the installation settles for definitions that are validated here.
	Defaults schedule.Defaults
	// Follow is the pause between two looks for more output of a run that is followed; default 250 ms.
	Follow time.Duration
	Logger *slog.Logger // default discards
}

// Local is how one process stands. Planner and File are as client.Status has them.
type Local struct {
	Version   client.Version
	Node      string
	StartedAt time.Time
	Roles     []string
	Planner   client.PlannerStatus
	File      *client.FileStatus
	Consent   string
}

// server holds what handlers need. It may be used from any goroutine.
type server struct {
	control *control.Control
	o       Options
	mux     *http.ServeMux
	api     huma.API
}

// Handler makes the API over the verbs. It holds nothing that must be closed.
func Handler(c *control.Control, o Options) http.Handler {
	if o.Follow == 0 {
		o.Follow = 250 * time.Millisecond
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Local == nil {
		o.Local = func() Local { return Local{Planner: client.PlannerStatus{Ready: true}} }
	}
	ownErrors()
	s := &server{control: c, o: o, mux: http.NewServeMux()}
	config := huma.DefaultConfig("Belfry", "1")
	config.DocsPath, config.SchemasPath = "", "" // the docs page would load its viewer from elsewhere
	config.CreateHooks = nil                     // no $schema in bodies
	config.Info.Description = "A scheduler whose runs can be late, but never silently lost."
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[json.RawMessage](), reflect.TypeFor[map[string]any]())
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[client.Time](), reflect.TypeFor[time.Time]())
	s.api = humago.New(s.mux, config)
	s.api.UseMiddleware(s.knownParameters)
	s.routes()
	s.mux.HandleFunc("/", s.fallback)
	return s.guard(s.mux)
}

// Server is an HTTP server with the limits of this door: a client that sends slowly is cut off.
func Server(h http.Handler, log *slog.Logger) *http.Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// guard refuses what a web page could use to reach a service on loopback, bounds the request and adds headers that are
// safe for every answer.
func (s *server) guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		id := make([]byte, 8)
		_, _ = rand.Read(id) // never fails, says its documentation
		h.Set(headerRequestID, hex.EncodeToString(id))
		r = r.WithContext(context.WithValue(r.Context(), requestID{}, h.Get(headerRequestID)))
		// A client that does not read its answer is cut off; a stream moves the deadline on with each piece.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // a writer in memory has none
		defer s.survive(w, r)
		switch {
		case !loopbackHost(r.Host):
			writeProblem(w, r, NewProblem(CodePermissionDenied, "this server answers to loopback names only; send Host: localhost or 127.0.0.1"))
		case cross.Check(r) != nil:
			writeProblem(w, r, NewProblem(CodePermissionDenied, "a cross-origin request may not do this"))
		case len(r.RequestURI) > maxURL:
			writeProblem(w, r, NewProblem(CodeTooLarge, "the address is too long"))
		case r.Method == http.MethodPost && s.routed(r) && !isJSON(r.Header.Get("Content-Type")):
			writeProblem(w, r, NewProblem(CodeMedia, "send the body as application/json"))
		case r.Header.Get("Content-Encoding") != "":
			writeProblem(w, r, NewProblem(CodeMedia, "send the body as it is, without Content-Encoding"))
		case r.ContentLength > MaxBody:
			writeProblem(w, r, NewProblem(CodeTooLarge, tooLarge))
		default:
			r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
			next.ServeHTTP(w, r)
		}
	})
}

// requestID is the key under which a request's context holds its name.
type requestID struct{}

const headerRequestID = "X-Request-Id"

// named gives a problem the name of its request, so that a person can find it in the log.
func named(ctx context.Context, p *client.Problem) *client.Problem {
	if id, ok := ctx.Value(requestID{}).(string); ok {
		p.RequestID = id
	}
	return p
}

const tooLarge = "a body has at most 1 MiB"

// survive answers for a handler that panicked: one bad request must not take the scheduler down.
func (s *server) survive(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // compared as net/http does
		panic(p)
	}
	s.o.Logger.Error("a request made its handler panic", "reason", p, "route", r.Pattern, "request_id", w.Header().Get(headerRequestID))
	writeProblem(w, r, NewProblem(CodeInternal, ""))
}

// loopbackHost reports whether a Host header names this machine in a way that no foreign page can make its own.
func loopbackHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/json")
}

// routed reports whether a request has a route, and not only the fallback.
func (s *server) routed(r *http.Request) bool {
	_, pattern := s.mux.Handler(r)
	return pattern != "/" && pattern != ""
}

// fallback answers what no route does.
func (s *server) fallback(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		probe := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if s.routed(probe) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		writeProblem(w, r, NewProblem(CodeMethod, "allowed are "+strings.Join(allowed, ", ")))
		return
	}
	writeProblem(w, r, NewProblem(CodeNotFound, "there is no such route; /openapi.json lists them"))
}

// writeProblem writes a problem outside of huma.
func writeProblem(w http.ResponseWriter, r *http.Request, p *client.Problem) {
	text, err := json.Marshal(named(r.Context(), p))
	if err != nil {
		http.Error(w, p.Title, p.Status)
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(append(text, '\n')) // nobody is left to hear that nobody listens
	}
}

// statusError is a Problem as huma knows errors.
type statusError struct{ *client.Problem }

// GetStatus is the HTTP status.
func (e statusError) GetStatus() int { return e.Status }

// ContentType names problem details.
func (e statusError) ContentType(string) string { return "application/problem+json" }

// MarshalJSON writes the problem alone.
func (e statusError) MarshalJSON() ([]byte, error) { return json.Marshal(e.Problem) }

// ownErrors makes huma's errors ours. The library keeps the function in a variable of its package.
var ownErrors = sync.OnceFunc(func() {
	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
		err := huma.NewError(status, message, errs...)
		if own, ok := err.(statusError); ok && ctx != nil {
			own.Problem = named(ctx.Context(), own.Problem)
			return own
		}
		return err
	}
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		code := CodeInvalidArgument
		for c, entry := range catalogue {
			if entry.status == status && c != CodePageToken {
				code = c
			}
		}
		p := NewProblem(code, message)
		for _, err := range errs {
			if d, ok := err.(huma.ErrorDetailer); ok {
				detail := d.ErrorDetail() // its value is what was sent, and is not repeated
				p.Errors = append(p.Errors, client.FieldError{Pointer: detail.Location, Code: schedule.CodeBadFormat, Message: detail.Message})
			}
		}
		return statusError{p}
	}
})

// refuse turns any error into one that huma writes as our problem.
func (s *server) refuse(ctx context.Context, err error) error {
	p := named(ctx, ProblemOf(err))
	if p.Code == CodeInternal {
		s.o.Logger.ErrorContext(ctx, "a request failed", "reason", err.Error(), "request_id", p.RequestID)
	}
	return statusError{p}
}

// knownParameters refuses a parameter that a route does not have, and one that is given twice: a filter with a typing
// error would list everything.
func (s *server) knownParameters(ctx huma.Context, next func(huma.Context)) {
	var known []string
	for _, p := range ctx.Operation().Parameters {
		if p.In == "query" {
			known = append(known, p.Name)
		}
	}
	u := ctx.URL()
	if err := checkQuery(u.Query(), known); err != nil {
		r, w := humago.Unwrap(ctx)
		writeProblem(w, r, err)
		return
	}
	next(ctx)
}
