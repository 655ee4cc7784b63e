package sqlstore

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// hub spreads hints within the process.
type hub struct {
	mu    sync.Mutex
	hints map[chan struct{}]bool
}

// notify leaves a hint with everybody. One that nobody has read yet stands for this one as well.
func (h *hub) notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for hint := range h.hints {
		nudge(hint)
	}
}

func nudge(hint chan struct{}) {
	select {
	case hint <- struct{}{}:
	default:
	}
}

func (h *hub) join() chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hints == nil {
		h.hints = map[chan struct{}]bool{}
	}
	hint := make(chan struct{}, 1)
	h.hints[hint] = true
	return hint
}

// leave closes the channel; under the lock, so that nobody writes to it afterwards.
func (h *hub) leave(hint chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.hints, hint)
	close(hint)
}

// Wake hints at once at what this process commits, and within the poll interval at what others do (PROTOCOL B20).
// Its goroutine ends with ctx.
func (s *Store) Wake(ctx context.Context) <-chan struct{} {
	hint := s.hub.join()
	go func() {
		defer s.hub.leave(hint)
		if s.c.Poll < 0 || s.c.Dialect.ChangeCounter() == "" {
			<-ctx.Done()
			return
		}
		s.watch(ctx, hint)
	}()
	return hint
}

// watch compares the database's change counter on one connection, because the counter is the connection's own. When
// the connection fails it is replaced, and a hint covers what was missed.
func (s *Store) watch(ctx context.Context, hint chan struct{}) {
	tick := time.NewTicker(s.c.Poll)
	defer tick.Stop()
	var c counter
	defer func() { c.close() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		n, err := c.read(s.c.Watcher, s.c.Dialect.ChangeCounter())
		switch {
		case err != nil:
			if c.failed++; c.failed == 1 {
				s.c.Logger.Warn("commits of other processes are not seen for the moment", "reason", err.Error())
			}
			c.close()
		case n != c.seen || c.failed > 0:
			c.seen, c.failed = n, 0
			nudge(hint)
		}
	}
}

// counter reads one number over one connection.
type counter struct {
	conn   *sql.Conn
	stmt   *sql.Stmt
	seen   int64
	failed int
}

func (c *counter) read(db *sql.DB, query string) (n int64, err error) {
	ctx := context.Background() // a context that can end would cost a goroutine for each of twenty readings a second
	if c.conn == nil {
		if c.conn, err = db.Conn(ctx); err != nil {
			return 0, err
		}
		if c.stmt, err = c.conn.PrepareContext(ctx, query); err != nil {
			return 0, err
		}
	}
	err = c.stmt.QueryRowContext(ctx).Scan(&n)
	return n, err
}

func (c *counter) close() {
	if c.stmt != nil {
		_ = c.stmt.Close()
	}
	if c.conn != nil {
		_ = c.conn.Close()
	}
	c.conn, c.stmt = nil, nil
}
