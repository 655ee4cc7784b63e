package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/belfryhq/belfry/internal/api"
	"github.com/belfryhq/belfry/internal/app"
	"github.com/belfryhq/belfry/target/command"
)

func TestMain(m *testing.M) {
	command.GuardMain() // serve in a script starts commands, and their guard is this binary
	testscript.Main(m, map[string]func(){"belfry": belfry})
}

// belfry is the program as scripts run it: with a clock that stands where the ledger of the world ends, if they say so.
func belfry() {
	e := &env{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, environ: os.Environ, now: time.Now, build: app.Build{Version: "test"}}
	if text := os.Getenv("NOW"); text != "" {
		now, err := time.Parse(time.RFC3339, text)
		if err != nil {
			panic(err)
		}
		e.now = func() time.Time { return now }
	}
	os.Exit(e.run(os.Args[1:]))
}

// Each script is one command of the command line, with its answers, its messages and its exit codes apart. Scripts that
// ask a server find one over a ledger that is known; see world_test.go.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			w := newWorld(t)
			var asked recorder
			server := httptest.NewServer(asked.record(api.Handler(w.control, api.Options{Follow: time.Millisecond})))
			e.Defer(server.Close)
			e.Defer(func() { asked.check(t) })
			e.Vars = append(e.Vars, "BELFRY_SERVER="+server.URL, "NOW=2026-11-30T10:10:00Z", "XDG_STATE_HOME="+e.WorkDir+"/state", "HOME="+e.WorkDir,
				"RUN1="+runID(1), "RUN2="+runID(2), "RUN6="+runID(6), "TZ=UTC", "BADURL=http://127.0.0.1:1")
			return nil
		},
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"code": code},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// code runs a command and wants an exit code: code 7 belfry preview nonsense.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N command...")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// recorder remembers what the command line asked for: it may use the public API only.
type recorder struct {
	mu    sync.Mutex
	paths []string
}

func (r *recorder) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		r.paths = append(r.paths, req.URL.Path)
		r.mu.Unlock()
		next.ServeHTTP(w, req)
	})
}

func (r *recorder) check(t *testing.T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, path := range r.paths {
		if !strings.HasPrefix(path, "/v1/") {
			t.Errorf("the command line asked for %s, which is not of the public API", path)
		}
	}
}
