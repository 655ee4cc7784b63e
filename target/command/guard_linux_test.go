package command

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/target"
)

const (
	limit = 300 * time.Millisecond // timeout of the runs here
	grace = 200 * time.Millisecond // kill_grace of them
)

// Whatever a command does, it is gone within timeout, kill_grace and a second.
func TestNothingIsLeftAfterTheTimeout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]schedule.Command{
		"sleeps":                      shell("sleep 3600"),
		"ignores SIGTERM":             shell("trap '' TERM; sleep 3600 & wait; sleep 3600"),
		"grandchild leaves":           self(t, "hermit", "wait"),
		"two hundred children":        self(t, "family", "200"),
		"closes its streams":          shell("exec >&- 2>&- <&-; sleep 3600"),
		"is stopped":                  shell("kill -STOP $$; sleep 3600"),
		"writes without end":          shell("yes"),
		"grandchild holds the stream": shell("sleep 3600 & sleep 3600"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := marked(t, c)
			c.OutputLimit = 10_000
			a := execute(timeout(t, limit), t, c)
			if a.Code != target.CodeTimeout {
				t.Errorf("code %q (%s), want TIMEOUT", a.Code, a.Message)
			}
			if a.took > limit+grace+time.Second {
				t.Errorf("took %v", a.took)
			}
		})
	}
}

// The run ends with the command; what it leaves behind is ended, too, however it hides.
func TestNothingIsLeftAfterTheCommandEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]schedule.Command{
		"background process holds the stream": shell("sleep 3600 & echo done"),
		"grandchild leaves":                   self(t, "hermit"),
		"forks and ends without end":          self(t, "comet"),
		"the same, in sessions":               self(t, "comet", "sessions"),
		"nohup":                               shell("nohup sleep 3600 >/dev/null 2>&1 & echo done"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := marked(t, c)
			a := execute(timeout(t, 20*time.Second), t, c)
			if !a.OK() || a.took > grace+time.Second {
				t.Errorf("got %+v after %v", a.Result, a.took)
			}
		})
	}
}

func TestSIGTERMComesFirst(t *testing.T) {
	t.Parallel()
	c := shell("trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.01; done")
	c.KillGrace = schedule.Duration(10 * time.Second)
	a := execute(timeout(t, limit), t, c)
	if a.Code != target.CodeTimeout || a.ExitCode == nil || *a.ExitCode != 5 || !strings.HasSuffix(a.stdout, "asked\n") || a.took > 5*time.Second {
		t.Errorf("got %+v, %q after %v", a.Result, a.stdout, a.took)
	}
}

// A lost lease leaves no time for a long grace: somebody else may start the run again soon.
func TestLostLeaseCutsTheGrace(t *testing.T) {
	t.Parallel()
	c, _ := marked(t, shell("trap '' TERM; echo ready; while :; do sleep 0.01; done"))
	c.KillGrace = schedule.Duration(time.Hour)
	ctx, cancel := context.WithCancelCause(timeout(t, 20*time.Second))
	stop := time.AfterFunc(limit, func() { cancel(target.ErrLeaseLost) })
	defer stop.Stop()
	d := delivery(c)
	d.LostGrace = grace
	if a := deliver(ctx, t, d); a.Code != target.CodeLost || a.took > limit+grace+time.Second {
		t.Errorf("got %+v after %v", a.Result, a.took)
	}
}

// A process that is killed can do nothing any more; its guards do.
func TestNothingIsLeftAfterTheServerIsKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]schedule.Command{
		"sleeps":               shell("echo ready; sleep 3600"),
		"grandchild leaves":    self(t, "hermit", "wait"),
		"two hundred children": self(t, "family", "200"),
		"comet":                self(t, "comet"),
		"comet of sessions":    self(t, "comet", "sessions"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, alive := marked(t, c)
			c.KillGrace = schedule.Duration(time.Hour)
			cmd := startServer(t, executable(t), c, time.Hour)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			until(t, time.Second, "everything is gone", func() bool { return len(alive()) == 0 })
		})
	}
}

// A stopped server cannot renew anything, and another will deliver the run again: the guard ends it with the lease.
func TestStoppedServersCommandEndsWithItsLease(t *testing.T) {
	t.Parallel()
	c, alive := marked(t, self(t, "hermit", "wait"))
	const lease = 1500 * time.Millisecond
	cmd := startServer(t, executable(t), c, lease)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, lease+time.Second, "everything is gone", func() bool { return len(alive()) == 0 })
}

func TestRenewedLeaseKeepsTheCommand(t *testing.T) {
	t.Parallel()
	d := delivery(shell("sleep 2.5"))
	d.Lease = func() time.Duration { return boot() + 1500*time.Millisecond }
	if a := deliver(timeout(t, 20*time.Second), t, d); !a.OK() {
		t.Errorf("got %+v", a.Result)
	}
	held := boot() + limit
	d = delivery(shell("sleep 3600"))
	d.Lease = func() time.Duration { return held }
	if a := deliver(timeout(t, 20*time.Second), t, d); a.Code != target.CodeLost || a.took > limit+time.Second {
		t.Errorf("an old lease: %+v after %v", a.Result, a.took)
	}
}

// Somebody kills the guard by hand, or the kernel does for want of memory.
func TestNothingIsLeftAfterTheGuardIsKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]schedule.Command{
		"grandchild leaves":    self(t, "hermit", "wait"),
		"two hundred children": self(t, "family", "200"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := marked(t, c)
			d := delivery(c)
			d.Run.ID[5] = byte(len(name))
			d.ScheduleName = t.Name()
			killed := make(chan bool)
			var out sink
			d.Stdout = &out
			go func() {
				defer close(killed)
				for end := time.Now().Add(10 * time.Second); out.String() != "ready\n" && time.Now().Before(end); {
					time.Sleep(5 * time.Millisecond)
				}
				if pid := guardOf(d.Run.ID.String()); pid == 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
					t.Errorf("no guard %d to kill", pid)
				}
			}()
			r := newTarget(t, Options{}).Run(timeout(t, 20*time.Second), d)
			<-killed
			if r.Code != target.CodeInternal || !strings.Contains(r.Message, "guard") {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// guardOf finds the guard of a run by its arguments; 0 for none.
func guardOf(runID string) int {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err == nil && strings.HasPrefix(string(text), guardName+"\x00"+runID) {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			return pid
		}
	}
	return 0
}

// An upgrade replaces the file of a server that still runs.
func TestGuardStartsFromADeletedProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(executable(t))
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(exe, text, 0o700); err != nil {
		t.Fatal(err)
	}
	c, alive := marked(t, shell("rm -f "+exe+"; echo ready; sleep 3600"))
	cmd := startServer(t, exe, c, time.Hour)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, time.Second, "everything is gone", func() bool { return len(alive()) == 0 })
}

// A gigabyte of output costs at most 16 MiB, here and in the guard together. This test does not run beside others,
// whose memory it would count.
func TestEndlessOutputCostsLittleMemory(t *testing.T) {
	const size = 1 << 30
	d := delivery(shell("head -c 1073741824 /dev/zero"))
	d.Run.ID[6] = 1
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := make(chan int, 1)
	go func() {
		guard, most := 0, 0
		defer func() { peak <- most }()
		for end := time.Now().Add(10 * time.Second); guard == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
			guard = guardOf(d.Run.ID.String())
		}
		for n := 1; n > 0; time.Sleep(10 * time.Millisecond) {
			n = peakMemory(guard)
			most = max(most, n)
		}
	}()
	a := deliver(timeout(t, time.Minute), t, d)
	runtime.ReadMemStats(&after)
	if !a.OK() || a.OutputBytes != size || !a.Truncated || len(a.stdout) != 1<<20 {
		t.Errorf("got %+v, kept %d", a.Result, len(a.stdout))
	}
	guard, here := <-peak, int(after.HeapSys-min(before.HeapSys, after.HeapSys))>>10
	if guard == 0 || guard+here > memoryLimit>>10 {
		t.Errorf("the guard took %d KiB, this process %d KiB more", guard, here)
	}
	t.Logf("guard %d KiB, here %d KiB, %v", guard, here, a.took)
}

// peakMemory reads the most memory, in KiB, that a process ever had in use; 0 when it is gone.
func peakMemory(pid int) int {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}

// A server that was stopped between its decision and the start must not start the command when it wakes: the run has
// been delivered to another by then.
func TestAPassedLeaseStartsNothing(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "started")
	d := delivery(shell("echo started > " + file))
	passed := boot() - time.Second
	d.Lease = func() time.Duration { return passed }
	if a := deliver(timeout(t, 20*time.Second), t, d); a.Code != target.CodeLost {
		t.Errorf("got %+v", a.Result)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the command was started: %v", err)
	}
}
