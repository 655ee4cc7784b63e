package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"github.com/belfryhq/belfry/internal/fault"
)

// groupCost bounds a group of writes, in rows: about ten milliseconds of work, so that a claim's renewal never waits
// behind a long one. A single write may cost more; it is then a group of its own.
const groupCost = 500

// writer commits the writes of a process in groups, on one connection. There is no goroutine behind it: whoever gets
// the turn carries out the next group, its own write among others, while the rest waits. So a group forms by itself
// while the one before it is being flushed, and nobody waits for company.
type writer struct {
	db        *sql.DB
	dialect   Dialect
	committed func() // called after a commit that others may be waiting for

	turn chan struct{} // holding the one place means owning conn and stmts

	conn  *sql.Conn
	stmts map[string]*sql.Stmt

	mu     sync.Mutex // guards the queues; taken inside the turn, never around it
	urgent []*write
	normal []*write
	closed bool
}

// write is one caller's part of a group.
type write struct {
	name   string // for error texts
	point  string // for the crash harness; "" for none
	urgent bool   // goes before everything that is not
	cost   int    // in rows
	// run does the work. It may be called again after a rollback, and so must set its results afresh. An error made by
	// decline says that it wrote nothing, so that the group may go on.
	run func(*tx) error

	ctx  context.Context
	err  error
	done chan struct{} // closed when err is final
}

// declined carries an answer such as "fenced" out of a write that changed nothing.
type declined struct{ error }

func (d declined) Unwrap() error { return d.error }

func decline(err error) error { return declined{err} }

var errClosed = errors.New("the store is closed")

func newWriter(db *sql.DB, d Dialect) *writer {
	return &writer{db: db, dialect: d, turn: make(chan struct{}, 1)}
}

// do carries out one write. When ctx ends before the write began, nothing is written; afterwards its result is waited
// for, because an outcome that is on the disk must not be reported as lost.
func (w *writer) do(ctx context.Context, o *write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o.ctx, o.done = ctx, make(chan struct{})
	if err := w.enqueue(o); err != nil {
		return err
	}
	for {
		select {
		case <-o.done:
			return o.err
		case w.turn <- struct{}{}:
			w.round()
			<-w.turn
		case <-ctx.Done():
			if w.withdraw(o) {
				return ctx.Err()
			}
			<-o.done
			return o.err
		}
	}
}

func (w *writer) enqueue(o *write) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errClosed
	}
	if o.urgent {
		w.urgent = append(w.urgent, o)
	} else {
		w.normal = append(w.normal, o)
	}
	return nil
}

// withdraw takes a write back, if it has not begun.
func (w *writer) withdraw(o *write) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, queue := range []*[]*write{&w.urgent, &w.normal} {
		for i, q := range *queue {
			if q == o {
				*queue = append((*queue)[:i:i], (*queue)[i+1:]...)
				return true
			}
		}
	}
	return false
}

// next takes writes off the queues, urgent ones first, until the group is full.
func (w *writer) next(group []*write) []*write {
	w.mu.Lock()
	defer w.mu.Unlock()
	cost := 0
	for _, o := range group {
		cost += o.cost
	}
	for _, queue := range []*[]*write{&w.urgent, &w.normal} {
		n := 0
		for _, o := range *queue {
			if len(group) > 0 && cost+o.cost > groupCost {
				break
			}
			cost += o.cost
			group = append(group, o)
			n++
		}
		*queue = append([]*write(nil), (*queue)[n:]...)
	}
	return group
}

// round carries out the next group. Whatever came while it waited for another process's transaction goes along. If a
// write of several goes wrong, everything is rolled back and each is tried alone: one caller's poison is not another's.
func (w *writer) round() {
	group := w.next(nil)
	if len(group) == 0 {
		return
	}
	if err := w.begin(); err != nil {
		w.settle(group, err)
		return
	}
	group = w.next(group)
	err := w.transact(group)
	if err == nil || len(group) == 1 || errors.Is(err, errCommit) {
		w.settle(group, err)
		return
	}
	for i := range group {
		alone := group[i : i+1]
		err := w.begin()
		if err == nil {
			err = w.transact(alone)
		}
		w.settle(alone, err)
	}
}

// settle gives a group its results.
func (w *writer) settle(group []*write, err error) {
	for _, o := range group {
		if err != nil {
			o.err = err
		}
		o.err = wrap(w.dialect, o.name, o.err)
		close(o.done)
	}
}

// errCommit marks an error of COMMIT itself: what was written may be on the disk, so it is not tried again here.
var errCommit = errors.New("commit")

// transact runs a group in the transaction that has begun, and ends it. An error means that nothing was written, or,
// after an error of COMMIT itself, that nobody knows.
func (w *writer) transact(group []*write) error {
	t := &tx{w: w}
	for _, o := range group {
		o.err = nil
		if err := o.ctx.Err(); err != nil {
			o.err = err // its caller may have given up while we waited for the database
			continue
		}
		crash(o.point, ".begin")
		var no declined
		switch err := o.run(t); {
		case errors.As(err, &no):
			o.err = no.error
		case err != nil:
			w.rollback()
			return err
		}
	}
	for _, o := range group {
		crash(o.point, ".before")
	}
	if _, err := w.conn.ExecContext(context.Background(), "COMMIT"); err != nil {
		w.rollback()
		return fmt.Errorf("%w: %w", errCommit, err)
	}
	for _, o := range group {
		crash(o.point, ".after")
	}
	if t.hint {
		w.committed()
	}
	return nil
}

func crash(point, where string) {
	if fault.Enabled && point != "" {
		fault.Point(point + where)
	}
}

// begin opens a transaction, over a new connection if the old one is gone.
func (w *writer) begin() error {
	if w.conn == nil {
		if err := w.connect(context.Background()); err != nil {
			return err
		}
	}
	err := w.dialect.Begin(w.conn)
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		w.drop()
	}
	return err
}

// rollback ends a failed transaction. If that does not work either, nobody knows what state the connection is in.
func (w *writer) rollback() {
	if _, err := w.conn.ExecContext(context.Background(), "ROLLBACK"); err != nil {
		w.drop()
	}
}

// connect opens the write connection and checks its settings.
func (w *writer) connect(ctx context.Context) error {
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return err
	}
	if err := w.dialect.CheckWriter(ctx, conn); err != nil {
		return errors.Join(err, conn.Close())
	}
	w.conn, w.stmts = conn, map[string]*sql.Stmt{}
	return nil
}

// drop throws the connection away. Its statements are closed first: with one left, the database would keep the file
// open behind a connection that nobody has any more.
func (w *writer) drop() {
	for _, stmt := range w.stmts {
		_ = stmt.Close()
	}
	_ = w.conn.Raw(func(any) error { return driver.ErrBadConn }) // how database/sql is told not to reuse it
	_ = w.conn.Close()
	w.conn, w.stmts = nil, nil
}

// close waits for the turn and keeps it for ever.
func (w *writer) close() error {
	w.mu.Lock()
	closed := w.closed
	w.closed = true
	w.mu.Unlock()
	if closed {
		return nil
	}
	w.turn <- struct{}{}
	for group := w.next(nil); len(group) > 0; group = w.next(nil) {
		w.settle(group, errClosed)
	}
	<-w.turn
	if w.conn != nil {
		for _, stmt := range w.stmts {
			_ = stmt.Close()
		}
		_ = w.conn.Close()
	}
	return w.db.Close()
}
