package sqlstore

import (
	"context"
	"database/sql"
	"io/fs"
)

// Dialect is what differs between databases.
type Dialect interface {
	// Migrations holds the numbered files of the schema, "0001_name.sql" and on.
	Migrations() fs.FS
	// Begin begins a write transaction and takes the write lock at once, so that what the transaction reads cannot change
	// before it writes. It waits for a lock that another process has, for seconds at most.
	Begin(c *sql.Conn) error
	// CheckWriter reads back, on a new write connection, the settings that durability depends on.
	CheckWriter(ctx context.Context, c *sql.Conn) error
	// OnConflictNothing is the end of an INSERT that turns a conflict on this key, and on no other, into no row.
	OnConflictNothing(key string) string
	// Classify tells what an error of the driver means for the caller.
	Classify(err error) Fault
	// ChangeCounter is a query for a number that differs after another process has committed; "" if there is none.
	ChangeCounter() string
}

// Fault is what an error means for the caller.
type Fault uint8

// The kinds of errors.
const (
	FaultOther  Fault = iota // of the machine or of the program: disk full, I/O, corruption, wrong SQL
	FaultBusy                // somebody else holds a lock; passes by itself
	FaultPoison              // the content of a row; comes back with every retry
)
