package command

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// entry is one process of the system.
type entry struct {
	pid, parent, group, session int
}

// processes lists every process that can be seen.
func processes() []entry {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }() // only read from
	names, _ := dir.Readdirnames(-1)   // what could be read is used
	var all []entry
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if e, ok := readEntry(pid); ok {
				all = append(all, e)
			}
		}
	}
	return all
}

// readEntry reads /proc/PID/stat: "pid (name) state parent group session ...", where name may hold anything.
func readEntry(pid int) (entry, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, false
	}
	_, rest, _ := bytes.Cut(text[bytes.LastIndexByte(text, ')')+1:], []byte(" "))
	fields := bytes.Fields(rest)
	if len(fields) < 4 {
		return entry{}, false
	}
	e := entry{pid: pid}
	for i, to := range []*int{&e.parent, &e.group, &e.session} {
		if *to, err = strconv.Atoi(string(fields[1+i])); err != nil {
			return entry{}, false
		}
	}
	return e, true
}

// below lists the descendants of the roots, without the roots.
func below(all []entry, roots ...int) []entry {
	children := map[int][]entry{}
	for _, e := range all {
		children[e.parent] = append(children[e.parent], e)
	}
	var found []entry
	for len(roots) > 0 {
		next := children[roots[0]]
		delete(children, roots[0]) // process ids are reused while we look: never walk one twice
		roots = roots[1:]
		for _, e := range next {
			found = append(found, e)
			roots = append(roots, e.pid)
		}
	}
	return found
}

// groups lists the process groups of the entries. The groups are theirs alone: a command begins a session, and a group
// never reaches beyond a session.
func groups(entries []entry) []int {
	own := unix.Getpgrp()
	seen := map[int]bool{0: true, 1: true, own: true}
	var list []int
	for _, e := range entries {
		if !seen[e.group] {
			seen[e.group] = true
			list = append(list, e.group)
		}
	}
	return list
}

// signalTree sends a signal to everything below root, once to each: by group.
func signalTree(root int, s unix.Signal) {
	for _, group := range groups(below(processes(), root)) {
		_ = unix.Kill(-group, s) // nobody there is what we want
	}
}

// killTree sends SIGKILL to everything below root. A group is killed at once, before a member can fork out of reach;
// the members again by themselves, for a group that changed since.
func killTree(root int) { killAll(below(processes(), root)) }

func killAll(entries []entry) {
	for _, group := range groups(entries) {
		_ = unix.Kill(-group, unix.SIGKILL) // nobody there is what we want
	}
	for _, e := range entries {
		_ = unix.Kill(e.pid, unix.SIGKILL)
	}
}

// chase kills the children of this process as fast as the kernel lists them, for a moment. Whatever forks and ends to
// stay out of sight becomes a child of its guard when its parent is gone, and needs longer to begin than this needs to
// look; a walk through all processes would come too late every time.
func chase() {
	for until := boot() + chaseFor; boot() < until; {
		children := ownChildren()
		if len(children) == 0 {
			return
		}
		for _, pid := range children {
			_ = unix.Kill(-pid, unix.SIGKILL) // if it leads a group; nobody there is what we want
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

const chaseFor = 20 * time.Millisecond

// ownChildren lists the children of this process from what the kernel keeps for each of its threads. It is empty where
// the kernel does not tell.
func ownChildren() (pids []int) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	for _, task := range tasks {
		text, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil {
			continue // the thread has ended
		}
		for _, field := range bytes.Fields(text) {
			if pid, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
