package sqlstore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/sqlstore"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/sqlite"
	"github.com/belfryhq/belfry/store/storetest"
)

// A disk that stays full makes the write connection be thrown away several times a second. Each takes its files along,
// or the process runs out of descriptors long before somebody makes room.
func TestADroppedConnectionClosesItsFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "belfry.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: storetest.NewClock(start), Poll: -1,
		Count: func(_ schedule.ID, _ []byte, from, _ time.Time) (int, time.Time, time.Time) { return 1, from, from }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	beat := func() {
		t.Helper()
		if err := s.Beat(t.Context(), store.Node{ID: run.NodeID{1}}, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	beat()
	before := openFiles(t, path)
	for range 20 {
		sqlstore.DropWriter(s.Store)
		beat()
	}
	if after := openFiles(t, path); after > before {
		t.Errorf("the database was open %d times, and is %d times after 20 lost connections", before, after)
	}
}

// openFiles counts this process's descriptors of a database and what belongs to it.
func openFiles(t *testing.T, path string) (n int) {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range all {
		if name, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(name, path) {
			n++ // one that was closed meanwhile is another test's
		}
	}
	return n
}
