package cli

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A reload that comes while the server still starts does not end it: unit files send one as soon as the process exists.
func TestAnEarlySIGHUPDoesNotEndTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "crontab")
	if err := syscall.Mkfifo(path, 0o600); err != nil { // reading the file takes as long as this test likes
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Args = []string{"belfry", "serve", "--file", path, "--state-dir", dir, "--listen", "127.0.0.1:0"}
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(processTimeout, func() { _ = cmd.Process.Kill() }) // an error means that it is gone
	defer stuck.Stop()
	file, err := os.OpenFile(path, os.O_WRONLY, 0) // returns once the server reads
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	const line = "# belfry: name=a\n0 0 1 1 * true\n"
	if err := os.WriteFile(path+".new", []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(line); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	ready := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), `"msg":"ready"`) {
			ready = true
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !ready {
		t.Errorf("ready: %v, ended with %v", ready, err)
	}
}
