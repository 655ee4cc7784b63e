package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/belfryhq/belfry/internal/fault"
)

func start(c *call, out *capture) (process, error) {
	if fault.Without("guard-process") {
		return startPlain(c, out)
	}
	return startGuarded(c, out)
}

// guarded is a command under its guard, seen from the server. The two talk over a pair of sockets; when the server's
// end closes, for whatever reason, the guard kills everything.
type guarded struct {
	*life
	cmd  *exec.Cmd
	line *os.File
	call *call
	pid  int // of the command, once known

	mu sync.Mutex // orders writes to line
}

// lineTimeout bounds a write to the guard. It reads at once, so a full socket means that it is stopped or stuck.
const lineTimeout = 5 * time.Second

func startGuarded(c *call, out *capture) (process, error) {
	stdin, fed, err := feed(c.stdin)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stdin.Close() }() // our copy of the command's end
	if err := out.open(); err != nil {
		fed()
		return nil, err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		fed()
		return nil, err
	}
	defer func() { _ = theirs.Close() }() // our copy of the guard's end
	g := &guarded{life: newLife(), line: ours, call: c}
	g.cmd = guardCommand(c.title)
	g.cmd.Stdin, g.cmd.Stdout, g.cmd.Stderr = stdin, out.writers[0], out.writers[1]
	g.cmd.ExtraFiles = []*os.File{theirs}
	if err := guards.start(g.cmd); err != nil {
		fed()
		_ = ours.Close() // nobody is at the other end
		return nil, fmt.Errorf("the guard: %w", err)
	}
	out.begin()
	request, err := json.Marshal(c)
	if err == nil {
		err = g.say(string(request))
	}
	go g.watch(fed, err)
	return g, nil
}

// guardCommand is this very program as a guard. The link in /proc leads to the file that this process was started
// from, even when it was replaced or deleted since. The guard's own environment only keeps its memory small; the
// command's travels in the request.
func guardCommand(title [2]string) *exec.Cmd {
	return &exec.Cmd{
		Path:        "/proc/self/exe",
		Args:        []string{guardName, title[0], title[1]},
		Env:         []string{"GOGC=20", "GOMAXPROCS=2", "GOTRACEBACK=none"},
		Dir:         "/",
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
}

// socketPair returns our end, on which reads and writes can have deadlines, and the guard's.
func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		_ = unix.Close(fds[0])
		_ = unix.Close(fds[1])
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "guard"), os.NewFile(uintptr(fds[1]), "server"), nil
}

func (g *guarded) say(line string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.line.SetWriteDeadline(time.Now().Add(lineTimeout)); err != nil {
		return err
	}
	_, err := g.line.WriteString(line + "\n")
	return err
}

// tell says something that a guard which is gone need not hear; that it is gone shows where its words are read.
func (g *guarded) tell(format string, args ...any) { _ = g.say(fmt.Sprintf(format, args...)) }

func (g *guarded) stop(grace time.Duration)  { g.tell("%s %d", sayStop, grace) }
func (g *guarded) renew(until time.Duration) { g.tell("%s %d", sayLease, until) }

// abandon closes the line, upon which the guard goes on killing until nothing is left.
func (g *guarded) abandon() { _ = g.line.Close() }

// watch reads what the guard says until it is gone, and cleans up after it when it did not end well. It closes gone
// when nothing of the command is left.
func (g *guarded) watch(fed func(), broken error) {
	defer close(g.goneC)
	defer fed()
	clean := broken == nil && g.listen()
	_ = g.line.Close() // a guard that still lives takes this as the order to kill
	state := guards.wait(g.cmd)
	if clean {
		return
	}
	if broken == nil {
		broken = fmt.Errorf("its guard ended early (%s)", state)
	}
	// The guard's death has killed the command and made this process the parent of whatever else it started.
	killOrphans(g.call.title[0], g.pid)
	g.set(end{broken: broken})
}

// listen follows the guard's words and reports whether the last one was that everything is gone.
func (g *guarded) listen() bool {
	lines := bufio.NewScanner(g.line)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case sayStarted:
			g.pid, _ = number[int](rest)
		case sayFailed:
			errno, _ := number[int](rest)
			g.set(end{startup: g.call.refused(syscall.Errno(errno))})
		case sayExit:
			if s, ok := number[uint32](rest); ok {
				g.status(syscall.WaitStatus(s))
			}
		case sayLapsed:
			g.set(end{lapsed: true})
		case sayGone:
			return true
		}
	}
	return false
}
