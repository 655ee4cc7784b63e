package sqlstore

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

const (
	// readTimeout bounds a read whose caller gave no nearer deadline.
	readTimeout = 30 * time.Second
	// maxReadStatements bounds the statements that are kept prepared. Listings have as many forms as filters and page
	// sizes; beyond the bound they are prepared for each call.
	maxReadStatements = 200
)

// reads keeps the statements of the read connections: preparing one costs more than running it. A limit is part of a
// statement's text, because SQLite plans anew whenever a limit that is an argument changes.
type reads struct {
	db    *sql.DB
	mu    sync.Mutex // guards stmts; not held while a statement is prepared or run
	stmts map[string]*sql.Stmt
}

// stmt returns a prepared statement; nil without an error when there are too many already.
func (r *reads) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	r.mu.Lock()
	stmt, full := r.stmts[query], len(r.stmts) >= maxReadStatements
	r.mu.Unlock()
	if stmt != nil || full {
		return stmt, nil
	}
	stmt, err := r.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if first := r.stmts[query]; first != nil { // another caller was faster
		return first, stmt.Close() //nolint:sqlclosecheck // this one is closed, and first is kept
	}
	if r.stmts == nil {
		r.stmts = map[string]*sql.Stmt{}
	}
	r.stmts[query] = stmt
	return stmt, nil
}

func (r *reads) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, stmt := range r.stmts {
		_ = stmt.Close()
	}
	r.stmts = nil
}

// each runs a query, in a transaction if there is one, and calls fn for every row.
func (r *reads) each(ctx context.Context, tx *sql.Tx, fn func(scan func(...any) error) error, query string, args ...any) error {
	stmt, err := r.stmt(ctx, query)
	if err != nil {
		return err
	}
	var rows *sql.Rows
	switch {
	case stmt == nil && tx == nil:
		rows, err = r.db.QueryContext(ctx, query, args...)
	case stmt == nil:
		rows, err = tx.QueryContext(ctx, query, args...)
	case tx == nil:
		rows, err = stmt.QueryContext(ctx, args...)
	default:
		rows, err = tx.StmtContext(ctx, stmt).QueryContext(ctx, args...) //nolint:sqlclosecheck // ends with its transaction
	}
	if err != nil {
		return err
	}
	return eachRow(rows, fn)
}

// read runs fn with a context that ends, so that no read holds a connection for ever.
func (s *Store) read(ctx context.Context, doing string, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return s.wrap(doing, fn(ctx))
}
