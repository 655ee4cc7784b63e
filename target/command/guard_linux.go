package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lineFD is where a guard finds its end of the line to the server.
const lineFD = 3

// GuardMain turns this process into the guard of one command if it was started as one, and does not return then.
// Otherwise it does nothing. A program that runs commands calls it first thing in main, before anything that takes
// time or memory.
func GuardMain() {
	if len(os.Args) == 0 || os.Args[0] != guardName || !isSocket(lineFD) {
		return
	}
	// The command dies with the thread that started it (PR_SET_PDEATHSIG), so that thread must be the last to go.
	runtime.LockOSThread()
	g := &guard{
		line:   os.NewFile(lineFD, "server"),
		orders: make(chan order),
		deaths: make(chan death),
	}
	g.run()
	unix.Exit(0) // without what os.Exit may wait for
}

func isSocket(fd int) bool {
	var s unix.Stat_t
	return unix.Fstat(fd, &s) == nil && s.Mode&unix.S_IFMT == unix.S_IFSOCK
}

// guard is the parent of one command. It adopts whatever the command's descendants leave behind, so all of them are
// below it for as long as they live, and when it has no children left, none is left. One goroutine owns its state.
type guard struct {
	line   *os.File
	orders chan order
	deaths chan death

	call     call
	pid      int           // of the command
	ended    bool          // the command itself has ended
	stopping bool          // everything was told to end
	killing  bool          // everything is being killed
	killAt   time.Duration // reading of the boot clock at which killing begins; 0: none
	lease    time.Duration // the same, for the lease
	pause    time.Duration // between two rounds of killing
}

// order is a word of the server. Its end is an order, too: kill.
type order struct {
	word string
	n    int64
	lost bool
}

type death struct {
	pid    int
	status syscall.WaitStatus
	last   bool // no children are left
}

func (g *guard) run() {
	prepare()
	lines := bufio.NewScanner(g.line)
	lines.Buffer(nil, maxRequest)
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &g.call) != nil {
		return // the server died before it had said what to start
	}
	if g.lease = g.call.Lease; due(g.lease, boot()) {
		silence()
		g.tell(sayLapsed)
		g.tell(sayGone)
		return
	}
	pid, err := g.start()
	silence()
	if err != nil {
		errno, _ := errors.AsType[syscall.Errno](err)
		g.tell("%s %d", sayFailed, int(errno))
		g.tell(sayGone)
		return
	}
	g.pid = pid
	g.call = call{Grace: g.call.Grace, Single: g.call.Single}
	g.tell("%s %d", sayStarted, pid)
	go g.listen(lines)
	go g.bury()
	g.watch()
	g.tell(sayGone)
}

// prepare makes this process what a guard must be: the parent of orphans below it, deaf to signals that are meant for
// the server or the terminal (caught and not ignored, since a command would inherit that), and not found by somebody
// who kills the server by its name.
func prepare() {
	unix.CloseOnExec(lineFD)
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)     // since Linux 3.4
	_ = os.WriteFile("/proc/self/comm", []byte("run-guard"), 0) // only a name
	deaf := make(chan os.Signal, 1)
	signal.Notify(deaf, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGPIPE, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
}

// start starts the command in a session of its own. It dies with the guard.
func (g *guard) start() (int, error) {
	return syscall.ForkExec(string(g.call.Path), plainTexts(g.call.Argv), &syscall.ProcAttr{
		Dir:   string(g.call.Dir),
		Env:   plainTexts(g.call.Env),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// silence lets go of the command's streams: as long as a guard holds them, their reader would wait for it.
func silence() {
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		for fd := range 3 {
			_ = unix.Close(fd)
		}
		return
	}
	for fd := range 3 {
		_ = unix.Dup3(null, fd, 0) // fails only for descriptors that are not open
	}
	_ = unix.Close(null)
}

func (g *guard) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(g.line, format+"\n", args...) // a server that is gone is seen where it is read
}

func (g *guard) listen(lines *bufio.Scanner) {
	for lines.Scan() {
		var o order
		if _, err := fmt.Sscan(lines.Text(), &o.word, &o.n); err == nil {
			g.orders <- o
		}
	}
	g.orders <- order{lost: true}
}

// bury waits for every child, adopted ones included, until there is none.
func (g *guard) bury() {
	for {
		var d death
		var err error
		d.pid, err = syscall.Wait4(-1, &d.status, 0, nil)
		switch err {
		case nil:
			g.deaths <- d
		case syscall.EINTR:
		default: // ECHILD
			g.deaths <- death{last: true}
			return
		}
	}
}
