package command

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/target"
)

// programs are what the test binary does when its first argument names one of them.
var programs = map[string]func(args []string){
	"hermit": hermit,
	"family": family,
	"comet":  comet,
	"server": server,
}

// again starts this binary once more, with the same environment.
func again(setsid bool, args ...string) {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(99)
	}
}

// hermit leaves its parent, session and group, ignores SIGTERM and lives on. With "wait" its parent waits, too.
func hermit(args []string) {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	if len(args) > 0 && args[0] == "alone" {
		time.Sleep(time.Hour)
	}
	again(true, "hermit", "alone")
	if len(args) > 0 && args[0] == "wait" {
		fmt.Println("ready")
		time.Sleep(time.Hour)
	}
}

// family has args[0] children; every second one leads a session of its own.
func family(args []string) {
	n, _ := strconv.Atoi(args[0])
	for i := range n {
		cmd := exec.Command("sleep", "3600")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: i%2 == 0}
		if err := cmd.Start(); err != nil {
			fmt.Println("start:", err)
			os.Exit(99)
		}
	}
	fmt.Println("ready")
	time.Sleep(time.Hour)
}

// comet forks and ends, again and again: whoever looks at the list of processes sees only where it was.
func comet(args []string) {
	fmt.Println("ready")
	again(len(args) > 0, append([]string{"comet"}, args...)...)
}

// server runs one command, as Belfry does: args are the spec as JSON and how long the lease holds.
func server(args []string) {
	var c schedule.Command
	if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
		panic(err)
	}
	x, err := New(Options{})
	if err != nil {
		panic(err)
	}
	lease, _ := time.ParseDuration(args[1])
	d := target.Delivery{Run: run.Run{ID: run.ID{9}, Kind: run.Scheduled}, Spec: schedule.Target{Command: &c}, Stdout: os.Stdout}
	d.Lease = func() time.Duration { return boot() + lease }
	r := x.Run(context.Background(), d)
	fmt.Println("ended", r.Code, r.Message)
}

// startServer starts a server that runs c, and returns its process once the command has said that it is ready.
func startServer(t *testing.T, exe string, c schedule.Command, lease time.Duration) *exec.Cmd {
	t.Helper()
	spec, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "server", string(spec), lease.String())
	out := &sink{}
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	until(t, 10*time.Second, "the command is ready", func() bool { return strings.Contains(out.String(), "ready\n") })
	return cmd
}

// executable is this binary.
func executable(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// marked gives a command a variable that all its descendants inherit, and the test the means to count them.
func marked(t *testing.T, c schedule.Command) (schedule.Command, func() []int) {
	t.Helper()
	mark := fmt.Sprintf("TREE=%s-%d", t.Name(), time.Now().UnixNano())
	name, value, _ := strings.Cut(mark, "=")
	c.Env = map[string]string{name: value}
	alive := func() []int { return carriers(mark) }
	t.Cleanup(func() {
		for _, pid := range alive() {
			t.Errorf("process %d is left", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return c, alive
}

// carriers lists the living processes that have the mark in their environment.
func carriers(mark string) []int {
	var pids []int
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range environs {
		text, err := os.ReadFile(name)
		if err == nil && strings.Contains(string(text), mark) {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			pids = append(pids, pid)
		}
	}
	return pids
}

// until polls real processes, which no virtual clock moves.
func until(t *testing.T, limit time.Duration, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
