package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/belfryhq/belfry/internal/sqlstore"
)

// dialect is what SQLite does its own way.
type dialect struct{}

func (dialect) Migrations() fs.FS {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}

func (dialect) Begin() string { return "BEGIN IMMEDIATE" }

func (dialect) OnConflictNothing(key string) string { return " ON CONFLICT (" + key + ") DO NOTHING" }

func (dialect) ChangeCounter() string { return "PRAGMA data_version" }

// CheckWriter refuses a connection that would acknowledge what is not on the disk, or wait less than it should.
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
	return nil
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
