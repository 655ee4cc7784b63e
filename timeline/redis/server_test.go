package redis_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// shared is where a machine's own Redis listens.
const shared = "127.0.0.1:6379"

// open returns a client of the machine's own Redis, or else of a private one.
func open(t *testing.T) *client {
	t.Helper()
	if conn, err := net.DialTimeout("tcp", shared, time.Second); err == nil {
		_ = conn.Close()
		return &client{network: "tcp", address: shared}
	}
	return startServer(t).client()
}

// A server is a Redis of the test's own, on a socket in a folder of its own, that writes everything to disk at once.
type server struct {
	t      *testing.T
	binary string
	dir    string
	cmd    *exec.Cmd
}

func startServer(t *testing.T) *server {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatalf("no redis-server (%v): install Redis 6 or later (Debian: the package redis-server)", err)
	}
	// The folder's name is short because a socket's may have about a hundred bytes.
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, binary: binary, dir: dir}
	t.Cleanup(func() {
		s.kill()
		_ = os.RemoveAll(dir)
	})
	s.start()
	return s
}

func (s *server) socket() string  { return filepath.Join(s.dir, "s") }
func (s *server) client() *client { return &client{network: "unix", address: s.socket()} }

func (s *server) start() {
	s.t.Helper()
	s.cmd = exec.Command(s.binary, "--port", "0", "--unixsocket", s.socket(), "--dir", s.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "always", "--logfile", filepath.Join(s.dir, "log"))
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for began := time.Now(); ; {
		if _, err := s.client().do(context.Background(), "PING"); err == nil {
			return
		}
		if time.Since(began) > 20*time.Second {
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			s.t.Fatalf("redis-server does not answer:\n%s", log)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// kill ends the server as a crash would.
func (s *server) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it says that it was killed
	s.cmd = nil
}
