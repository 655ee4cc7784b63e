package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/belfryhq/belfry/internal/sqlstore"
)

// dialect is what SQLite does its own way.
type dialect struct {
	turn *turnstile
}

func (dialect) Migrations() fs.FS {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}

const (
	// busyTimeout is how long a writer waits for another process's transaction.
	busyTimeout = 5 * time.Second
	// busyPause is how long it sleeps between two tries. SQLite's own waiting sleeps longer and longer, up to 100 ms, in
	// which a free lock is of no use to anybody.
	busyPause = time.Millisecond
)

func (d dialect) Begin(c *sql.Conn) (err error) {
	if d.turn.enter() {
		defer d.turn.leave()
	}
	for range busyTimeout / busyPause {
		_, err = c.ExecContext(context.Background(), "BEGIN IMMEDIATE")
		if err == nil || d.Classify(err) != sqlstore.FaultBusy {
			return err
		}
		time.Sleep(busyPause)
	}
	return err
}

func (dialect) OnConflictNothing(key string) string { return " ON CONFLICT (" + key + ") DO NOTHING" }

func (dialect) ChangeCounter() string { return "PRAGMA data_version" }

// CheckWriter refuses a connection that would acknowledge what is not on the disk. Then it turns SQLite's own waiting
// off, because Begin waits, and after it nothing has to.
func (dialect) CheckWriter(ctx context.Context, c *sql.Conn) error {
	for _, setting := range []struct {
		pragma, means string
		ok            func(string, int) bool
	}{
		{"synchronous", "2, full", func(_ string, n int) bool { return n >= 2 }},
		{"journal_mode", "wal", func(v string, _ int) bool { return v == "wal" }},
		{"foreign_keys", "1, on", func(_ string, n int) bool { return n == 1 }},
		{"busy_timeout", "at least 5000", func(_ string, n int) bool { return n >= int(busyTimeout.Milliseconds()) }},
	} {
		var value string
		if err := c.QueryRowContext(ctx, "PRAGMA "+setting.pragma).Scan(&value); err != nil {
			return fmt.Errorf("read PRAGMA %s back: %w", setting.pragma, err)
		}
		n := -1
		_, _ = fmt.Sscan(value, &n) // a word is not a number
		if !setting.ok(value, n) {
			return fmt.Errorf("PRAGMA %s is %q and must be %s: this SQLite does not keep what it acknowledges", setting.pragma, value, setting.means)
		}
	}
	_, err := c.ExecContext(ctx, "PRAGMA busy_timeout = 0")
	return err
}

// Classify reads SQLite's result code.
func (dialect) Classify(err error) sqlstore.Fault {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return sqlstore.FaultOther
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return sqlstore.FaultBusy
	case sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH:
		return sqlstore.FaultPoison
	default:
		return sqlstore.FaultOther
	}
}
