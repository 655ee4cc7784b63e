package sqlite_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/sqlite"
	"github.com/belfryhq/belfry/store/storetest"
)

var start = time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC)

// raw opens a file beside the store, as a person with a SQLite shell would.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func do(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func text(t *testing.T, db *sql.DB, query string, args ...any) (value string) {
	t.Helper()
	if err := db.QueryRow(query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

// The ledger has command lines and their output in it.
func TestNewFilesAreReadableByTheirOwnerAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "belfry.db")
	open(t, path, storetest.NewClock(start), noCount)
	for _, suffix := range []string{"", "-wal", "-shm", "-turn"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o, want 600", info.Name(), mode)
		}
	}
}

func TestPathsThatAreNoFileAreRefused(t *testing.T) {
	t.Parallel()
	for path, part := range map[string]string{
		"":                             "must name a file",
		":memory:":                     "must name a file",
		"file:belfry.db?mode=memory":   "must name a file",
		"/no/such/directory/it.db":     "create the directory first",
		filepath.Join(t.TempDir(), ""): "open database",
	} {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Count: noCount})
		if err == nil {
			s.Close()
			t.Errorf("%q was opened", path)
		} else if !strings.Contains(err.Error(), part) {
			t.Errorf("%q: %v; it does not say %q", path, err, part)
		}
	}
}

// A path may contain what means something in a URL.
func TestPathsWithReservedCharactersNameThatFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?c#d%20e&f.db")
	open(t, path, storetest.NewClock(start), noCount)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// Two processes that start together on a new file must not break each other's schema.
func TestManyHandlesMayOpenANewFileAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "belfry.db")
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{Count: noCount, Clock: storetest.NewClock(start)})
			if err != nil {
				t.Error(err)
				return
			}
			if _, _, err := s.Runs(t.Context(), store.RunQuery{}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	db := raw(t, path)
	if n := text(t, db, `SELECT COUNT(*) FROM belfry_migrations`); n != "1" {
		t.Errorf("%s migrations are recorded, want 1", n)
	}
	if ok := text(t, db, `PRAGMA integrity_check`); ok != "ok" {
		t.Error(ok)
	}
}

// An old program must not write into a schema that it does not know.
func TestANewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "belfry.db")
	l := newLedgerAt(t, path, 1)
	l.must(l.Close())
	db := raw(t, path)
	do(t, db, `INSERT INTO belfry_migrations (version, name, checksum, applied_at) VALUES (2, '0002_from_the_future', 'x', 0)`)
	refuses(t, path, "schema version 2 (0002_from_the_future)", "run the newer belfry")
	do(t, db, `DELETE FROM belfry_migrations WHERE version = 2`)
	do(t, db, `UPDATE belfry_migrations SET checksum = 'other'`)
	refuses(t, path, "schema version 1 (0001_ledger)", "different build")
}

func refuses(t *testing.T, path string, parts ...string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Count: noCount})
	if err == nil {
		s.Close()
		t.Fatal("the file was opened")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v; it does not say %q", err, part)
		}
	}
}

func TestAFileThatIsNoDatabaseIsRefusedAndLeftAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notes.txt")
	const notes = "these are my notes, which are long enough to be taken for a header of a database file, and more\n"
	if err := os.WriteFile(path, []byte(strings.Repeat(notes, 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, path, path)
	if b, err := os.ReadFile(path); err != nil || string(b) != strings.Repeat(notes, 20) {
		t.Errorf("the file was changed (%v)", err)
	}
}

// A file system that becomes read-only under a running store is not a poisoned row, and not a busy database.
func TestErrorsOfTheMachineStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	l := newLedger(t, 1)
	do(t, raw(t, l.path), `DROP TABLE belfry_nodes`)
	err := l.Beat(t.Context(), store.Node{ID: l.node}, time.Minute)
	if err == nil || errors.Is(err, store.ErrPoison) || errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "beat") {
		t.Errorf("error is %v", err)
	}
}

// R-CRON-9: a spec that somebody broke by hand shows as such, and hides no other schedule.
func TestASpecThatWasBrokenByHandIsListedWithTheReason(t *testing.T) {
	t.Parallel()
	l := newLedger(t, 2)
	do(t, raw(t, l.path), `UPDATE belfry_revisions SET spec = '{"cron":' WHERE schedule_id = ?`, l.ids[0][:])
	items, _, err := l.Schedules(t.Context(), store.ScheduleQuery{})
	l.must(err)
	reasons := map[schedule.ID]string{}
	for _, item := range items {
		reasons[item.ID] = item.Quarantine
	}
	if !strings.Contains(reasons[l.ids[0]], "cannot be read") || reasons[l.ids[1]] != "" || len(items) != 2 {
		t.Errorf("quarantine of the broken one is %q, of the other %q, of %d listed", reasons[l.ids[0]], reasons[l.ids[1]], len(items))
	}
}

func TestAClosedStoreSaysSo(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "belfry.db"), storetest.NewClock(start), noCount)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Beat(t.Context(), store.Node{}, time.Second); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a write after Close: %v", err)
	}
	if _, _, err := s.Runs(t.Context(), store.RunQuery{}); err == nil {
		t.Error("a read after Close succeeded")
	}
}

func TestOpenNeedsACounter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "belfry.db")
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "Count") {
		t.Errorf("error is %v", err)
	}
}

func TestOpenCreatesNothingInADirectoryThatIsMissing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "missing")
	if _, err := sqlite.Open(t.Context(), filepath.Join(dir, "belfry.db"), sqlite.Options{Count: noCount}); err == nil {
		t.Error("it was opened")
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat: %v", err)
	}
}
