package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/belfryhq/belfry/internal/fault"
)

// migration is one step of the schema. Steps only go forward, and a released one never changes.
type migration struct {
	version  int
	name     string
	text     string
	checksum string
}

const createMigrations = `CREATE TABLE IF NOT EXISTS belfry_migrations (
	version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL)`

// migrate applies what is missing, all in one transaction under the write lock, so that two processes may open a new
// database at once.
func (s *Store) migrate(ctx context.Context) error {
	steps, err := readMigrations(s.c.Dialect.Migrations())
	if err != nil {
		return err
	}
	return s.writer.do(ctx, &write{name: "migrate", cost: groupCost, run: func(t *tx) error {
		if _, err := t.w.conn.ExecContext(ctx, createMigrations); err != nil {
			return err
		}
		applied := 0
		err := t.each(func(scan func(...any) error) error {
			var m migration
			if err := scan(&m.version, &m.name, &m.checksum); err != nil {
				return err
			}
			applied++
			return m.known(steps)
		}, "SELECT version, name, checksum FROM belfry_migrations ORDER BY version")
		if err != nil {
			return err
		}
		for _, m := range steps[applied:] {
			if err := s.step(ctx, t, m); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
		}
		return dropGuards(t)
	}})
}

// known checks an applied step against those of this program.
func (m migration) known(steps []migration) error {
	if m.version > len(steps) {
		return fmt.Errorf("the database has schema version %d (%s), and this belfry knows versions up to %d: run the newer belfry that wrote it, or restore a backup from before the upgrade",
			m.version, m.name, len(steps))
	}
	if want := steps[m.version-1]; m.checksum != want.checksum {
		return fmt.Errorf("schema version %d (%s) was applied with other content than this belfry has (%s): it was written by a different build",
			m.version, m.name, want.name)
	}
	return nil
}

func (s *Store) step(ctx context.Context, t *tx, m migration) error {
	if _, err := t.w.conn.ExecContext(ctx, m.text); err != nil {
		return err
	}
	_, err := t.exec("INSERT INTO belfry_migrations (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)",
		m.version, m.name, m.checksum, micros(s.now()))
	return err
}

// readMigrations lists the steps; their numbers are 1, 2, 3 and on.
func readMigrations(files fs.FS) ([]migration, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	steps := make([]migration, 0, len(names))
	for i, name := range names { // sorted by name
		digits, _, _ := strings.Cut(path.Base(name), "_")
		if version, err := strconv.Atoi(digits); err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s: its number is not %d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		steps = append(steps, migration{i + 1, strings.TrimSuffix(name, ".sql"), string(text), hex.EncodeToString(sum[:])})
	}
	return steps, nil
}

// dropGuards takes unique indexes away in a build that is broken on purpose.
func dropGuards(t *tx) error {
	for guard, index := range map[string]string{"unique-index": "belfry_runs_occurrence", "lock-index": "belfry_runs_lock"} {
		if fault.Without(guard) {
			if _, err := t.exec("DROP INDEX IF EXISTS " + index); err != nil {
				return err
			}
		}
	}
	return nil
}
