package sqlite_test

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

// A kill shows that SQLite recovers, not that anything is on the disk: the kernel keeps what a dead process wrote. So
// these tests count the system calls that flush, by tracing a copy of the test program while it works.

// helperVariable tells a copy of the test program what to do, and to which file.
const helperVariable = "BELFRY_SQLITE_TEST_HELPER"

// TestHelper is not a test but what the copies run; in an ordinary run there is nothing to do.
func TestHelper(t *testing.T) {
	task, path, asked := strings.Cut(os.Getenv(helperVariable), ":")
	if !asked {
		return
	}
	switch task {
	case "settle": // eight groups of 25 outcomes, each acknowledged before the next one
		l := newLedgerAt(t, path, 1)
		l.commit(groups * 25)
		runs := l.take(groups * 25)
		mark()
		for i := range groups {
			l.settle(runs[i*25 : (i+1)*25])
		}
		mark()
	case "relaxed": // as many commits on a connection that does not sync each of them
		db := raw(t, path)
		do(t, db, `PRAGMA journal_mode = WAL`)
		do(t, db, `PRAGMA synchronous = NORMAL`)
		do(t, db, `CREATE TABLE x (y)`)
		mark()
		for range groups {
			do(t, db, `INSERT INTO x VALUES (1)`)
		}
		mark()
	case "forever": // runs that are acknowledged on standard output, until somebody kills it
		l := newLedgerAt(t, path, 5)
		for {
			l.commit(20)
			runs := l.take(20)
			l.settle(runs)
			for _, r := range runs {
				fmt.Printf("settled %x\n", r.ID[:])
			}
		}
	}
}

const groups = 8

// mark makes a system call that nothing else makes, so that the tracer knows where to count.
func mark() { _, _ = unix.Getpgid(-1) }

func helper(task, path string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelper$", "-test.count=1", "-test.v=false")
	cmd.Env = append(os.Environ(), helperVariable+"="+task+":"+path)
	cmd.Stderr = os.Stderr
	return cmd
}

// R-STA: what is acknowledged survives a power cut. Each acknowledged group costs at least one flush, however many
// outcomes it holds; and the count means something, because a connection that does not sync shows fewer.
func TestEveryAcknowledgedGroupIsFlushed(t *testing.T) {
	t.Parallel()
	syncs := countSyncs(t, helper("settle", filepath.Join(t.TempDir(), "belfry.db")))
	if syncs < groups {
		t.Errorf("%d flushes for %d acknowledged groups", syncs, groups)
	}
	if syncs > groups+4 { // a checkpoint may come in between, with three
		t.Errorf("%d flushes for %d acknowledged groups of 25 outcomes: they are not grouped", syncs, groups)
	}
	t.Logf("%d flushes for %d acknowledged groups", syncs, groups)
	if relaxed := countSyncs(t, helper("relaxed", filepath.Join(t.TempDir(), "relaxed.db"))); relaxed >= groups {
		t.Errorf("%d flushes for %d commits without syncing: the count shows nothing", relaxed, groups)
	}
}

// countSyncs runs a program and counts its fsync and fdatasync calls between the two marks.
func countSyncs(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	runtime.LockOSThread() // only the thread that started a traced process may trace it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start a traced process: %v", err)
	}
	defer func() { _ = cmd.Process.Release() }() // the tracer waits for it
	c := tracer{pid: cmd.Process.Pid}
	if err := c.follow(); err != nil {
		_ = cmd.Process.Kill()
		t.Fatal(err)
	}
	if c.marks != 2 || !c.status.Exited() || c.status.ExitStatus() != 0 {
		t.Fatalf("the traced process made %d marks and ended with %v", c.marks, c.status)
	}
	return c.syncs
}

// tracer follows a process through its system calls.
type tracer struct {
	pid          int
	status       syscall.WaitStatus
	marks, syncs int
}

func (c *tracer) follow() error {
	if _, err := syscall.Wait4(c.pid, &c.status, 0, nil); err != nil {
		return fmt.Errorf("wait for the first stop: %w", err)
	}
	const options = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_EXITKILL
	if err := syscall.PtraceSetOptions(c.pid, options); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	thread, signal := c.pid, 0
	for {
		if err := syscall.PtraceSyscall(thread, signal); err != nil && !errors.Is(err, syscall.ESRCH) { // gone in the meantime
			return fmt.Errorf("go on: %w", err)
		}
		err := syscall.EINTR
		for err == syscall.EINTR { // its process group, and no other test's process
			thread, err = wait(-c.pid, &c.status)
		}
		switch {
		case err != 0:
			return fmt.Errorf("wait: %w", err)
		case thread == c.pid && (c.status.Exited() || c.status.Signaled()):
			return nil
		}
		signal = c.stopped(thread)
	}
}

func wait(group int, status *syscall.WaitStatus) (int, syscall.Errno) {
	thread, err := syscall.Wait4(group, status, unix.WALL, nil)
	var code syscall.Errno
	errors.As(err, &code)
	return thread, code
}

// stopped looks at why a thread stopped, and returns the signal to go on with.
func (c *tracer) stopped(thread int) int {
	const syscallStop = syscall.SIGTRAP | 0x80
	switch signal := c.status.StopSignal(); signal {
	case syscallStop:
		c.count(thread)
		return 0
	case syscall.SIGTRAP, syscall.SIGSTOP, -1: // a new thread, or one that ended
		return 0
	default:
		return int(signal)
	}
}

// count asks the kernel which system call the thread is entering, in the same form on every architecture.
func (c *tracer) count(thread int) {
	var info struct {
		op        uint8
		_         [3]byte
		arch      uint32
		ip, stack uint64
		number    uint64
		args      [6]uint64
	}
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(thread),
		unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if errno != 0 || info.op != unix.PTRACE_SYSCALL_INFO_ENTRY {
		return
	}
	switch info.number {
	case unix.SYS_GETPGID:
		if int64(info.args[0]) == -1 {
			c.marks++
		}
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC:
		if c.marks == 1 {
			c.syncs++
		}
	}
}

// SIGKILL at any moment: what was acknowledged is there afterwards, and the file is whole.
func TestAKilledWriterKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "belfry.db")
	cmd := helper("forever", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var acknowledged []string
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "settled "); ok {
			acknowledged = append(acknowledged, id)
		}
		if len(acknowledged) == 507 { // in the middle of a group, while the next one is being written
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if len(acknowledged) < 507 {
		t.Fatalf("the writer acknowledged only %d runs", len(acknowledged))
	}
	db := raw(t, path)
	for _, hexID := range acknowledged {
		id, err := hex.DecodeString(hexID)
		if err != nil {
			break // the line that the kill cut
		}
		if status := text(t, db, `SELECT status FROM belfry_runs WHERE id = ?`, id); status != fmt.Sprint(int(run.Succeeded)) {
			t.Fatalf("the acknowledged run %s has status %s", hexID, status)
		}
	}
	if ok := text(t, db, `PRAGMA integrity_check`); ok != "ok" {
		t.Error(ok)
	}
	open(t, path, clock.System{}, noCount)
}

// A process that was stopped while it waited for its turn must not stop the others: the turn is a courtesy.
func TestAStoppedProcessInTheTurnstileHoldsUpOthersForAMomentOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t, 1)
		f, err := os.OpenFile(l.path+"-turn", os.O_RDWR, 0)
		l.must(err)
		defer f.Close()
		l.must(unix.Flock(int(f.Fd()), unix.LOCK_EX))
		for _, longest := range []time.Duration{250 * time.Millisecond, 0} {
			began := time.Now()
			l.must(l.Beat(t.Context(), store.Node{ID: l.node}, time.Minute))
			if waited := time.Since(began); waited > longest {
				t.Errorf("a heartbeat took %v, more than %v", waited, longest)
			}
		}
	})
}
