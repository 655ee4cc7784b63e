package command

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this process the parent of what a dead guard leaves behind.
func adoptOrphans() error {
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
}

// guards knows the living guards of this process, so that none of them is taken for an orphan.
var guards = guardList{pids: map[int]bool{}}

type guardList struct {
	mu   sync.Mutex
	pids map[int]bool
}

func (l *guardList) start(cmd *exec.Cmd) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	l.pids[cmd.Process.Pid] = true
	return nil
}

func (l *guardList) wait(cmd *exec.Cmd) string {
	_ = cmd.Wait() // how it ended is in the state
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pids, cmd.Process.Pid)
	return cmd.ProcessState.String()
}

func (l *guardList) has(pid int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pids[pid]
}

// orphanTime bounds the hunt for orphans of one guard.
const orphanTime = 2 * time.Second

// killOrphans kills what a guard that was killed has left below this process: processes of the command's session, and
// those that carry the run's identity in their environment, with everything below them. A process that has left the
// session and replaced its environment is not known from one that another part of this program started.
func killOrphans(runID string, session int) {
	mark := []byte("BELFRY_RUN_ID=" + runID)
	limit, pause := time.Now().Add(orphanTime), firstPause
	for time.Now().Before(limit) {
		all := processes()
		var roots []int
		for _, e := range all {
			if e.parent == unix.Getpid() && !guards.has(e.pid) && belongs(e, mark, session) {
				roots = append(roots, e.pid)
			}
		}
		if len(roots) == 0 {
			return
		}
		killAll(append(below(all, roots...), only(all, roots)...))
		time.Sleep(pause)
		pause = min(2*pause, lastPause)
		for _, pid := range roots {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // it may not have died yet; the next round sees
		}
	}
}

func belongs(e entry, mark []byte, session int) bool {
	if session != 0 && e.session == session {
		return true
	}
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(e.pid) + "/environ")
	if err != nil {
		return false
	}
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if bytes.Equal(v, mark) {
			return true
		}
	}
	return false
}

func only(all []entry, pids []int) []entry {
	var list []entry
	for _, e := range all {
		for _, pid := range pids {
			if e.pid == pid {
				list = append(list, e)
			}
		}
	}
	return list
}
