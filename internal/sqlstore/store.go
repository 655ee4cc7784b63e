package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/store"
)

// Config is what a concrete store hands over.
type Config struct {
	Dialect Dialect
	// Writer gives the one connection that writes. Reader is a pool of connections that cannot write, Watcher one for
	// the loops that look for other processes' commits. New closes all three when it fails, and Close afterwards.
	Writer, Reader, Watcher *sql.DB
	Clock                   clock.Clock // the store's clock; default the machine's
	// Count counts the occurrences of a gap that is closed or cut. It is required: without it a pause would lose count.
	Count  store.Counter
	Logger *slog.Logger // default discards
	// Poll is how often the commits of other processes are looked for. Default 50 ms, which is also the least; negative:
	// never, for a database that only this process uses.
	Poll time.Duration
}

const leastPoll = 50 * time.Millisecond

func (c *Config) fill() error {
	if c.Count == nil {
		return errors.New("sqlstore: Count is required")
	}
	if c.Clock == nil {
		c.Clock = clock.System{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Poll >= 0 {
		c.Poll = max(c.Poll, leastPoll)
	}
	return nil
}

// Store implements store.Store on database/sql. It may be used from any goroutine.
type Store struct {
	c      Config
	writer *writer
	reads  reads
	hub    hub
}

var _ store.Store = (*Store)(nil)

// New brings the schema up to date and returns the store.
func New(ctx context.Context, c Config) (*Store, error) {
	s := &Store{c: c, writer: newWriter(c.Writer, c.Dialect), reads: reads{db: c.Reader}}
	s.writer.committed = s.hub.notify
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.writer.close(), c.Reader.Close(), c.Watcher.Close())
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if err := s.c.fill(); err != nil {
		return err
	}
	if err := s.writer.connect(ctx); err != nil {
		return fmt.Errorf("open the write connection: %w", err)
	}
	if err := s.migrate(ctx); err != nil {
		return fmt.Errorf("bring the schema up to date: %w", err)
	}
	return s.wrap("open the read connections", s.c.Reader.PingContext(ctx))
}

// Now is the injected clock, in the microseconds that a store keeps.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	return s.now(), ctx.Err()
}

func (s *Store) now() time.Time { return s.c.Clock.Now().UTC().Truncate(time.Microsecond) }

// Close waits for the write that is going on and closes all connections. Later calls fail.
func (s *Store) Close() error {
	err := s.writer.close()
	s.reads.close()
	return errors.Join(err, s.c.Watcher.Close(), s.c.Reader.Close())
}

// wrap adds what was being done, and the error that callers tell apart.
func (s *Store) wrap(doing string, err error) error { return wrap(s.c.Dialect, doing, err) }

func wrap(d Dialect, doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrBusy), errors.Is(err, store.ErrPoison):
		return fmt.Errorf("%s: %w", doing, err)
	}
	switch d.Classify(err) {
	case FaultBusy:
		return fmt.Errorf("%s: %w: %w", doing, store.ErrBusy, err)
	case FaultPoison:
		return fmt.Errorf("%s: %w: %w", doing, store.ErrPoison, err)
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}

// newID makes an identifier that sorts by the time of its making.
func newID() [16]byte { return uuid.Must(uuid.NewV7()) }
