package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// A process is a serve that a script started. Its standard error is the file log in the script's directory.
type process struct {
	cmd    *exec.Cmd
	exited chan error
	log    string
}

// processTimeout bounds every wait of a script; a loaded machine needs some.
const processTimeout = 30 * time.Second

// Scripts below testdata/serve start real processes on SQLite.
func TestServeScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/serve",
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "XDG_STATE_HOME="+e.WorkDir+"/state", "HOME="+e.WorkDir, "TZ=UTC")
			e.Values["running"] = map[string]*process{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "start": startServe, "signal": signalServe, "ended": endedServe, "logged": logged, "replace": replace,
		},
	})
}

func running(ts *testscript.TestScript) map[string]*process {
	return ts.Value("running").(map[string]*process)
}

// startServe starts "start NAME args...": belfry serve with the arguments, until it says that it is ready.
func startServe(ts *testscript.TestScript, _ bool, args []string) {
	binary := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "belfry")); err == nil {
			binary = filepath.Join(dir, "belfry")
			break
		}
	}
	p := &process{exited: make(chan error, 1), log: ts.MkAbs("log-" + args[0])}
	out, err := os.Create(p.log)
	ts.Check(err)
	p.cmd = exec.Command(binary, append([]string{"serve"}, args[1:]...)...)
	p.cmd.Dir, p.cmd.Stderr, p.cmd.Stdout = ts.MkAbs("."), out, out
	for _, name := range []string{"PATH", "HOME", "TZ", "XDG_STATE_HOME", "TMPDIR", "WORK", "GOCOVERDIR"} {
		p.cmd.Env = append(p.cmd.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(p.cmd.Start())
	ts.Check(out.Close())
	go func() { p.exited <- p.cmd.Wait() }()
	ts.Defer(func() {
		_ = p.cmd.Process.Kill() // an error means that it is gone already
	})
	running(ts)[args[0]] = p
	logged(ts, false, []string{args[0], `"msg":"ready"`})
}

// signalServe sends "signal NAME TERM".
func signalServe(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(running(ts)[args[0]].cmd.Process.Signal(map[string]syscall.Signal{
		"TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}[args[1]]))
}

// endedServe waits for the end of "ended NAME CODE".
func endedServe(ts *testscript.TestScript, _ bool, args []string) {
	p := running(ts)[args[0]]
	select {
	case err := <-p.exited:
		got := "0"
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "exit status ")
		}
		if got != args[1] {
			ts.Fatalf("%s ended with %s, want %s:\n%s", args[0], got, args[1], ts.ReadFile(p.log))
		}
	case <-time.After(processTimeout):
		ts.Fatalf("%s has not ended:\n%s", args[0], ts.ReadFile(p.log))
	}
}

// logged waits until the log of "logged NAME PATTERN" has a match.
func logged(ts *testscript.TestScript, neg bool, args []string) {
	p, want := running(ts)[args[0]], regexp.MustCompile(args[1])
	for deadline := time.Now().Add(processTimeout); ; {
		text, err := os.ReadFile(p.log)
		ts.Check(err)
		if want.Match(text) != neg {
			return
		}
		if neg || time.Now().After(deadline) {
			ts.Fatalf("the log of %s and %q:\n%s", args[0], args[1], text)
		}
		time.Sleep(20 * time.Millisecond) // another process writes it
	}
}

// replace puts one file in another's place, as editors do.
func replace(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.Rename(ts.MkAbs(args[0]), ts.MkAbs(args[1])))
}
