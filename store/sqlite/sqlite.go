// Package sqlite keeps the ledger in one SQLite file. The file belongs to this machine: a network file system is
// refused. Several processes may open it at once; each writes over one connection and reads over a few more.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/internal/sqlstore"
	"github.com/belfryhq/belfry/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options says how a store behaves. Count is required; the rest may be zero.
type Options struct {
	// Clock is the store's clock, and so every "now" in the ledger. Default the machine's.
	Clock clock.Clock
	// Count counts the occurrences of a stored definition, for gaps that are closed.
	Count store.Counter
	// Logger hears of trouble that no caller is told. Default: nobody does.
	Logger *slog.Logger
	// Poll is how often the commits of other processes are looked for: a new run of another process may start that much
	// later. Default and least 50 ms; negative: never, for a file that no other process opens.
	Poll time.Duration
}

// Store is the ledger in one file. It may be used from any goroutine.
type Store struct {
	*sqlstore.Store
	turn *turnstile
}

var _ store.Store = (*Store)(nil)

const readers = 4

// Open opens the file, creates it if there is none (readable by its owner alone), and brings its schema up to date. It
// refuses a network file system, a schema that is newer than the program, and a SQLite that does not sync.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	s, err := open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return s, nil
}

func open(ctx context.Context, path string, o Options) (*Store, error) {
	path, err := local(path)
	if err != nil {
		return nil, err
	}
	if err := create(path); err != nil {
		return nil, err
	}
	quickSync()
	turn, err := newTurnstile(path)
	if err != nil {
		return nil, err
	}
	s, err := connect(ctx, path, sqlstore.Config{Dialect: dialect{turn}, Clock: o.Clock, Count: o.Count, Logger: o.Logger, Poll: o.Poll})
	if err != nil {
		return nil, errors.Join(err, turn.close())
	}
	return &Store{s, turn}, nil
}

// Close waits for the write that is going on. Later calls fail.
func (s *Store) Close() error {
	err := s.Store.Close()
	if closed := s.turn.close(); !errors.Is(closed, os.ErrClosed) {
		err = errors.Join(err, closed)
	}
	return err
}

func connect(ctx context.Context, path string, c sqlstore.Config) (_ *sqlstore.Store, err error) {
	for _, pool := range []struct {
		db      **sql.DB
		dsn     string
		maximum int
	}{
		{&c.Writer, dsn(path, "_txlock=immediate", "_pragma=synchronous(FULL)", "_pragma=cache_size(-16384)", "_pragma=journal_size_limit(67108864)"), 1},
		{&c.Reader, dsn(path, "_pragma=query_only(1)", "_pragma=cache_size(-4096)"), readers},
		{&c.Watcher, dsn(path, "_pragma=query_only(1)", "_pragma=cache_size(-64)"), 0},
	} {
		if *pool.db, err = sql.Open("sqlite", pool.dsn); err != nil {
			return nil, err
		}
		(*pool.db).SetMaxOpenConns(pool.maximum)
		(*pool.db).SetMaxIdleConns(max(pool.maximum, 1))
	}
	if err := enterWAL(ctx, path); err != nil {
		return nil, errors.Join(err, c.Writer.Close(), c.Reader.Close(), c.Watcher.Close())
	}
	return sqlstore.New(ctx, c)
}

// quickSync makes SQLite commit with fdatasync, as the builds of Linux distributions do: as durable, with less to
// write. Where there is no fdatasync nothing changes.
var quickSync = sync.OnceFunc(func() { _, _ = sqlite.Fdatasync(true) })

func dsn(path string, params ...string) string {
	u := url.URL{Scheme: "file", Path: path, RawQuery: strings.Join(append([]string{
		fmt.Sprintf("_pragma=busy_timeout(%d)", busyTimeout.Milliseconds()), "_pragma=foreign_keys(1)", "_error_rc=1"}, params...), "&")}
	return u.String()
}

// local makes a path absolute and refuses what is not a file on a disk of this machine.
func local(path string) (string, error) {
	if path == "" || strings.HasPrefix(path, ":memory:") || strings.HasPrefix(path, "file:") {
		return "", errors.New("the path must name a file, such as /var/lib/belfry/belfry.db")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return path, checkFileSystem(filepath.Dir(path))
}

// creating keeps two stores of one process from creating one file at once: closing a file drops all locks that the
// process holds on it, those of a SQLite connection included.
var creating sync.Mutex

// create makes an empty file that only its owner can read, before SQLite makes one that more people can. A file that
// exists is never opened here, for the reason above.
func create(path string) error {
	creating.Lock()
	defer creating.Unlock()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (create the directory first)", err)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// enterWAL switches the file to write-ahead logging, which lasts. SQLite does not wait when two do it at once.
func enterWAL(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for attempt := 0; ; attempt++ {
		var mode string
		err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		switch {
		case err == nil && mode == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("the file stays in journal mode %q: write-ahead logging needs shared memory beside the file", mode)
		case (dialect{}).Classify(err) != sqlstore.FaultBusy || attempt >= walAttempts:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(walPause):
		}
	}
}

const (
	walAttempts = 250
	walPause    = 20 * time.Millisecond
)
