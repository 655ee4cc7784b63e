package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkCeiling is the bare SQL that BenchmarkEndToEnd is compared with: the same three batches on a table with
// nothing but a key, the occurrence's unique index and the queue's partial one.
func BenchmarkCeiling(b *testing.B) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "raw.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=cache_size(-16384)&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE runs (id BLOB PRIMARY KEY, schedule BLOB, due INTEGER, ready INTEGER, status INTEGER, pool TEXT, fence INTEGER, started INTEGER, finished INTEGER) WITHOUT ROWID;
		CREATE UNIQUE INDEX occurrence ON runs (schedule, due); CREATE INDEX ready ON runs (pool, ready) WHERE ready IS NOT NULL`); err != nil {
		b.Fatal(err)
	}
	l := &ledger{TB: b}
	schedules := make([][16]byte, 5000)
	for i := range schedules {
		schedules[i] = l.newID()
	}
	n := 0
	step := func() (spent [3]time.Duration) {
		t0 := processor()
		ids := make([][16]byte, 1000)
		transact(b, db, `INSERT INTO runs VALUES (?, ?, ?, ?, 1, 'default', 0, NULL, NULL)`, len(ids), func(i int) []any {
			ids[i] = l.newID()
			n++
			return []any{ids[i][:], schedules[n%len(schedules)][:], int64(n), int64(n)}
		})
		t1 := processor()
		transact(b, db, `UPDATE runs SET status = 3, ready = NULL, fence = ? WHERE id = ?`, len(ids), func(i int) []any {
			return []any{int64(i), ids[i][:]}
		})
		t2 := processor()
		transact(b, db, `UPDATE runs SET status = 7, finished = ? WHERE id = ? AND fence = ?`, len(ids), func(i int) []any {
			return []any{int64(n), ids[i][:], int64(i)}
		})
		return [3]time.Duration{t1 - t0, t2 - t1, processor() - t2}
	}
	b.ResetTimer()
	var spent [3]time.Duration
	for range b.N {
		for i, d := range step() {
			spent[i] += d
		}
	}
	report(b, spent)
}

func transact(b *testing.B, db *sql.DB, query string, rows int, args func(int) []any) {
	b.Helper()
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	stmt, err := tx.Prepare(query)
	if err != nil {
		b.Fatal(err)
	}
	for i := range rows {
		if _, err := stmt.Exec(args(i)...); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}
