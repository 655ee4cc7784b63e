package command

import (
	"bytes"
	"context"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/target"
)

// The test binary is a guard, and each of the helper programs, when it is started as one.
func TestMain(m *testing.M) {
	GuardMain()
	if len(os.Args) > 1 {
		if program, ok := programs[os.Args[1]]; ok {
			program(os.Args[2:])
			syscall.Exit(0) // the race detector makes os.Exit wait for a second
		}
	}
	goleak.VerifyTestMain(m)
}

// sink collects a stream.
type sink struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// answer is what a finished command left.
type answer struct {
	target.Result
	stdout, stderr string
	took           time.Duration
}

func newTarget(t *testing.T, o Options) *Target {
	t.Helper()
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// shell is the spec of a shell line with the defaults that matter here.
func shell(line string) schedule.Command {
	return schedule.Command{Shell: line, Dir: "/", OutputLimit: 1 << 20, KillGrace: schedule.Duration(200 * time.Millisecond), SuccessCodes: []int{0}}
}

// self is the spec of one of this binary's helper programs.
func self(t *testing.T, args ...string) schedule.Command {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := shell("")
	c.Argv = append([]string{exe}, args...)
	return c
}

func delivery(c schedule.Command) target.Delivery {
	r := run.Run{ID: run.ID{1, 2, 3}, Schedule: schedule.ID{4}, Kind: run.Scheduled, Due: time.Date(2026, 7, 1, 10, 0, 0, 250_000_000, time.UTC), Attempt: 1, Fence: 77}
	return target.Delivery{Run: r, Key: r.Key(), ScheduleName: "nightly", Spec: schedule.Target{Command: &c}}
}

func execute(ctx context.Context, t *testing.T, c schedule.Command) answer {
	t.Helper()
	return deliver(ctx, t, delivery(c))
}

func deliver(ctx context.Context, t *testing.T, d target.Delivery) answer {
	t.Helper()
	var stdout, stderr sink
	d.Stdout, d.Stderr = &stdout, &stderr
	begin := time.Now()
	r := newTarget(t, Options{}).Run(ctx, d)
	return answer{r, stdout.String(), stderr.String(), time.Since(begin)}
}

// timeout is a context that a worker makes for a run with a timeout.
func timeout(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), d, target.ErrTimeout)
	t.Cleanup(cancel)
	return ctx
}
