package crash

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/sqlite"
)

// binary is the product built so that it can be broken on purpose; TestMain builds it once.
var binary string

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "belfry-crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // best effort: the system clears it as well
	binary = filepath.Join(dir, "belfry")
	build := exec.Command("go", "build", "-tags", "belfry_fault", "-o", binary, "github.com/belfryhq/belfry/cmd/belfry")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// rig is one installation under attack: a crontab, a database, and the file that its commands write.
type rig struct {
	*testing.T
	dir, tab, db, starts string
	names                []string
	step                 time.Duration
}

// newRig writes a crontab of n schedules, one a second each. A third of them take a while, a third skip on overlap.
func newRig(t *testing.T, n int) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{T: t, dir: dir, tab: filepath.Join(dir, "crontab"), db: filepath.Join(dir, "belfry.db"), starts: filepath.Join(dir, "starts"), step: time.Second}
	var tab strings.Builder
	example, err := os.ReadFile("../../examples/crontab")
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		name := fmt.Sprintf("second-%02d", i)
		r.names = append(r.names, name)
		more, tail := "", ""
		switch i % 3 {
		case 1:
			tail = "; sleep 0.3"
		case 2:
			more = " overlap=skip"
		}
		fmt.Fprintf(&tab, "# belfry: name=%s seconds=true%s\n", name, more)
		fmt.Fprintf(&tab, "* * * * * * echo \"$BELFRY_KEY $BELFRY_FENCE $(date +\\%%s\\%%N)\" >> %s%s\n", r.starts, tail)
	}
	r.write(r.tab, tab.String()+"\n"+string(example))
	return r
}

func (r *rig) write(path, text string) {
	r.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}

// server is one life of one process.
type server struct {
	r      *rig
	cmd    *exec.Cmd
	exited chan struct{}
	err    error
	stderr *lineWatch
}

// serve starts a process and waits until it is ready, or has died because the environment says so.
func (r *rig) serve(env ...string) *server {
	r.Helper()
	s := &server{r: r, exited: make(chan struct{}), stderr: newLineWatch(filepath.Join(r.dir, "log"))}
	s.cmd = exec.Command(binary, "serve", "--file", r.tab, "--db", "sqlite:"+r.db, "--listen", "127.0.0.1:0")
	s.cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+r.dir)
	s.cmd.Env = append(s.cmd.Env, env...)
	s.cmd.Stderr = s.stderr
	if err := s.cmd.Start(); err != nil {
		r.Fatal(err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	r.Cleanup(s.kill)
	select {
	case <-s.stderr.ready:
	case <-s.exited:
	case <-time.After(30 * time.Second):
		r.Fatalf("serve is not ready after 30 s:\n%s", r.log())
	}
	return s
}

func (r *rig) log() string {
	b, err := os.ReadFile(filepath.Join(r.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-4000):])
}

func (s *server) signal(sig syscall.Signal) {
	s.r.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.r.Logf("signal %v to %d: %v", sig, s.cmd.Process.Pid, err)
	}
}

// kill ends the process with SIGKILL and waits until it is gone; again is harmless.
func (s *server) kill() {
	_ = s.cmd.Process.Kill() // an error means that it is gone already
	<-s.exited
}

// stop ends the process cleanly.
func (s *server) stop() {
	s.r.Helper()
	s.signal(syscall.SIGTERM)
	select {
	case <-s.exited:
	case <-time.After(60 * time.Second):
		s.r.Fatalf("serve did not stop within a minute of SIGTERM:\n%s", s.r.log())
	}
	if s.err != nil {
		s.r.Errorf("serve ended with %v:\n%s", s.err, s.r.log())
	}
}

// lineWatch copies a process's error output to a file and tells when it said that it is ready.
type lineWatch struct {
	path  string
	buf   []byte
	ready chan struct{}
	said  bool
}

func newLineWatch(path string) *lineWatch { return &lineWatch{path: path, ready: make(chan struct{})} }

// Write is called by one goroutine of os/exec.
func (l *lineWatch) Write(p []byte) (int, error) {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = f.Write(p)
	if e := f.Close(); err == nil {
		err = e
	}
	if l.buf = append(l.buf, p...); !l.said && bytes.Contains(l.buf, []byte(`"msg":"ready"`)) {
		l.said = true
		close(l.ready)
	}
	if l.said {
		l.buf = nil
	}
	return len(p), err
}

// intact runs SQLite's own check over the database.
func (r *rig) intact() {
	r.Helper()
	db, err := sql.Open("sqlite", "file:"+r.db+"?_pragma=busy_timeout(5000)")
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = db.Close() }() // it was only read
	var answer string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&answer); err != nil || answer != "ok" {
		r.Fatalf("integrity check after a kill: %q, %v", answer, err)
	}
}

func (r *rig) open() store.Store {
	r.Helper()
	s, err := sqlite.Open(context.Background(), r.db, sqlite.Options{Clock: clock.System{}, Count: plan.Count, Poll: -1})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		if err := s.Close(); err != nil {
			r.Error(err)
		}
	})
	return s
}

// quiesce waits until every run that was due before an instant has its final status.
func (r *rig) quiesce(until time.Time) {
	r.Helper()
	s := r.open()
	deadline := time.Now().Add(60 * time.Second)
	for {
		items, _, err := s.Runs(context.Background(), store.RunQuery{
			Statuses: []run.Status{run.Pending, run.Held, run.Claimed, run.Running, run.Waiting, run.RetryScheduled}, To: until,
		})
		w, _, err2 := s.Planner(context.Background(), 0)
		if err == nil && err2 == nil && len(items) == 0 && !w.CoveredUntil.Before(until) {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("%d runs due before %v are not final after a minute (%v, %v):\n%s", len(items), until, err, err2, r.log())
		}
		time.Sleep(100 * time.Millisecond) // real processes: there is nothing to wait on but their database
	}
}

// evidence exports the ledger to files and reads everything back from files.
func (r *rig) evidence(from, to time.Time) Evidence {
	r.Helper()
	e := Evidence{From: from, To: to, Expected: map[string][]time.Time{}}
	for _, name := range r.names {
		id := schedule.DeclaredID(schedule.OriginFile, "", name)
		for due := from; due.Before(to); due = due.Add(r.step) {
			e.Expected[id.String()] = append(e.Expected[id.String()], due)
		}
		r.export(id, from, to)
	}
	readLines(r, "runs.jsonl", &e.Runs)
	readLines(r, "gaps.jsonl", &e.Gaps)
	e.Starts = r.started()
	return e
}

// started reads what the commands wrote.
func (r *rig) started() (all []Start) {
	r.Helper()
	for _, line := range r.lines(r.starts) {
		f := strings.Fields(line)
		fence, err1 := strconv.ParseUint(f[1], 10, 64)
		at, err2 := strconv.ParseInt(f[2], 10, 64)
		if err1 != nil || err2 != nil {
			r.Fatalf("line %q of %s cannot be read", line, r.starts)
		}
		all = append(all, Start{f[0], fence, time.Unix(0, at)})
	}
	return all
}

func (r *rig) export(id schedule.ID, from, to time.Time) {
	r.Helper()
	s := r.open()
	runs, gaps := store.RunQuery{Schedule: id, From: from, To: to, Page: store.Page{Limit: 1000}}, store.GapQuery{Schedule: id, From: from, To: to, Page: store.Page{Limit: 1000}}
	for more := true; more; {
		items, next, err := s.Runs(context.Background(), runs)
		if err != nil {
			r.Fatal(err)
		}
		for _, v := range items {
			r.append("runs.jsonl", Run{ID: v.ID.String(), Key: string(v.Key()), Kind: v.Kind.String(), ScheduleID: id.String(), Status: v.Status.String(), Due: schedule.FormatInstant(v.Due), Deliveries: v.Deliveries, Fence: v.Fence})
		}
		runs.After, more = next, next != ""
	}
	items, _, err := s.Gaps(context.Background(), gaps)
	if err != nil {
		r.Fatal(err)
	}
	for _, g := range items {
		r.append("gaps.jsonl", Gap{ScheduleID: id.String(), Reason: g.Reason.String(), First: g.First, Last: g.Last, Count: g.Count, CreatedAt: g.CreatedAt})
	}
}

func (r *rig) append(name string, v any) {
	r.Helper()
	f, err := os.OpenFile(filepath.Join(r.dir, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		r.Fatal(err)
	}
	if err := json.NewEncoder(f).Encode(v); err != nil {
		r.Fatal(err)
	}
	if err := f.Close(); err != nil {
		r.Fatal(err)
	}
}

func readLines[T any](r *rig, name string, into *[]T) {
	r.Helper()
	for _, line := range r.lines(filepath.Join(r.dir, name)) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			r.Fatal(err)
		}
		*into = append(*into, v)
	}
}

func (r *rig) lines(path string) (out []string) {
	r.Helper()
	b, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		r.Fatal(err)
	}
	for sc := bufio.NewScanner(bytes.NewReader(b)); sc.Scan(); {
		out = append(out, sc.Text())
	}
	return out
}
