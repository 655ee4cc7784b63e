package sqlstore

import (
	"context"
	"database/sql"
)

// tx is a write transaction. Its statements are prepared once for the life of the connection. They take no context: a
// context that can end costs a goroutine for each call, and a transaction that has begun is finished anyway. They are
// bounded by what they touch.
type tx struct {
	w    *writer
	hint bool // others may be waiting for this
}

func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if stmt := t.w.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := t.w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	t.w.stmts[query] = stmt
	return stmt, nil
}

// exec runs a statement and returns the number of rows that it changed.
func (t *tx) exec(query string, args ...any) (int, error) {
	stmt, err := t.stmt(query) //nolint:sqlclosecheck // the writer keeps it
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// each calls fn for every row. A statement may be under way once at a time, so fn must not run the same one.
func (t *tx) each(fn func(scan func(...any) error) error, query string, args ...any) error {
	stmt, err := t.stmt(query) //nolint:sqlclosecheck // the writer keeps it
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	return eachRow(rows, fn)
}

// one scans the only row of a query; false when there is none.
func (t *tx) one(dest []any, query string, args ...any) (found bool, err error) {
	err = t.each(func(scan func(...any) error) error {
		found = true
		return scan(dest...)
	}, query, args...)
	return found, err
}

// eachRow drains and closes rows.
func eachRow(rows *sql.Rows, fn func(scan func(...any) error) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// into makes a destination list readable at the call.
func into(dest ...any) []any { return dest }
