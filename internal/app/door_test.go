package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
)

func TestNodeAnswersUntilItHasStopped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, address := filepath.Join(dir, "tab"), filepath.Join(dir, "belfry.addr")
	write(t, path, tab("one"))
	n, err := Open(t.Context(), Options{DB: filepath.Join(dir, "db"), File: Source{Path: path}, Listen: "127.0.0.1:0", AddressFile: address})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	bound, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	node := n.Identity(bound)
	c, err := client.New(n.Address(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	status, err := c.Status(bound)
	if err != nil || status.Node != node || !strings.HasPrefix(node, "nod_") || status.File == nil || status.File.Items != 1 {
		t.Errorf("status %+v, %v; want node %s and one item of the file", status, err, node)
	}
	if text, err := os.ReadFile(address); err != nil || string(text) != n.Address()+"\n" {
		t.Errorf("address file %q, %v; want %s", text, err, n.Address())
	}
	if info, err := os.Stat(address); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("address file has mode %v, %v; want 0600", info.Mode(), err)
	}
	cancel()
	if err := errors.Join(<-ended, n.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(address); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the address stays behind: %v", err)
	}
	var gone *client.Unreachable
	if _, err := c.Status(bound); !errors.As(err, &gone) {
		t.Errorf("after the end: %v, want that nobody answers", err)
	}
}

func TestAddressesThatOthersReachAreRefused(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Options{DB: filepath.Join(t.TempDir(), "db"), Listen: "0.0.0.0:0"})
	if err == nil || !strings.Contains(err.Error(), "listen on 127.0.0.1") {
		t.Errorf("%v, want a refusal with a remedy", err)
	}
}

// Nothing is half applied: with one bad line the whole file is refused, before there is a database.
func TestBadFileRefusesTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, db := filepath.Join(dir, "tab"), filepath.Join(dir, "db")
	write(t, path, append(tab("one"), "61 * * * * true\n"...))
	_, err := Open(t.Context(), Options{DB: db, File: Source{Path: path}})
	var bad *manifest.Error
	if !errors.As(err, &bad) || bad.Problems[0].Line != 3 {
		t.Errorf("%v, want a problem in line 3", err)
	}
	if _, err := os.Stat(db); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the database was made: %v", err)
	}
}

// A second server by mistake, on the same state directory but with another file, must not empty the first one's ledger.
func TestTakenAddressRefusesTheStartBeforeTheFileIsApplied(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second, db := filepath.Join(dir, "first"), filepath.Join(dir, "second"), filepath.Join(dir, "db")
	write(t, first, tab("one"))
	write(t, second, tab("two"))
	n, err := Open(t.Context(), Options{DB: db, File: Source{Path: first}, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Close() }() // it never ran
	if _, err := Open(t.Context(), Options{DB: db, File: Source{Path: second}, Listen: n.Address()}); err == nil || !strings.Contains(err.Error(), n.Address()) {
		t.Errorf("%v, want that %s is taken", err, n.Address())
	}
	if _, err := n.Control.Schedule(t.Context(), "", "one"); err != nil {
		t.Errorf("the schedule of the server that runs: %v", err)
	}
}

func TestCommandsNeedConsent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "tab")
	write(t, path, tab("one"))
	_, err := Open(t.Context(), Options{DB: filepath.Join(dir, "db"), File: Source{Path: path}, Consent: "none"})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "command.allow") {
		t.Errorf("%v, want ErrRefused with the setting's name", err)
	}
}

// A user's crontab and the system's differ in a column; reading one as the other runs the wrong thing.
func TestSystemCrontabTakesTheLinesOfItsOwnUser(t *testing.T) {
	t.Parallel()
	s := Source{Path: "crontab", Format: FormatSystemCrontab, Process: "belfry", Zone: "Europe/Berlin", Defaults: schedule.Defaults{}}
	items, _, err := s.Parse([]byte("0 3 * * * belfry true\n"))
	if err != nil || len(items) != 1 || items[0].Spec.Target.Command.Shell != "true" || items[0].Spec.TimeZone != "Europe/Berlin" {
		t.Errorf("%+v, %v", items, err)
	}
	if _, _, err := s.Parse([]byte("0 3 * * * somebody true\n")); err == nil {
		t.Error("a line of another user is taken")
	}
}
