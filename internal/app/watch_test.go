package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// A follower is a watch whose applied sets a test can wait for.
type follower struct {
	*testing.T
	watch   *fileWatch
	path    string
	applied chan []string
}

func follow(t *testing.T, path string, edit ...func(*fileWatch)) *follower {
	t.Helper()
	f := &follower{T: t, path: path, applied: make(chan []string, 100)}
	f.watch = &fileWatch{source: Source{Path: path}, log: slog.New(slog.DiscardHandler), settle: 20 * time.Millisecond, look: time.Hour,
		apply: func(_ context.Context, items []schedule.Schedule, _ string) (store.Applied, error) {
			names := []string{}
			for _, s := range items {
				names = append(names, s.Name)
			}
			f.applied <- names
			return store.Applied{}, nil
		}}
	for _, e := range edit {
		e(f.watch)
	}
	f.must(f.watch.load(t.Context(), "start"))
	f.wait("one")
	ctx, cancel := context.WithCancel(t.Context())
	watcher := f.watch.watcher() // before anything is written
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.watch.follow(ctx, watcher)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return f
}

func (f *follower) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// wait waits for a set to be applied. Sets that were read on the way to it do not matter.
func (f *follower) wait(names ...string) {
	f.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case got := <-f.applied:
			if slices.Equal(got, names) {
				return
			}
		case <-timeout:
			f.Fatalf("%v was not applied", names)
		}
	}
}

func tab(names ...string) []byte {
	var text string
	for _, name := range names {
		text += "# belfry: name=" + name + "\n0 3 * * * true\n"
	}
	return []byte(text)
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Some editors write in place, some write another file and rename it; both must be seen, again and again.
func TestFileIsReadAgainHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tab")
	write(t, path, tab("one"))
	f := follow(t, path)
	for range 2 {
		write(t, path+".new", tab("two", "three"))
		f.must(os.Rename(path+".new", path))
		f.wait("two", "three")
		f.must(os.Remove(path))
		write(t, path, tab("four"))
		f.wait("four")
	}
}

// Mounted configuration is a link to a link to a directory that is swapped; nothing in the file's own place changes.
func TestFileBehindLinksIsPolled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, version := range []string{"v1", "v2"} {
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "v1", "tab"), tab("one"))
	write(t, filepath.Join(dir, "v2", "tab"), tab("two"))
	link := func(target, name string) {
		t.Helper()
		if err := errors.Join(os.Symlink(target, filepath.Join(dir, name+".tmp")), os.Rename(filepath.Join(dir, name+".tmp"), filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	link("v1", "current")
	link(filepath.Join("current", "tab"), "tab")
	f := follow(t, filepath.Join(dir, "tab"), func(w *fileWatch) { w.look = 20 * time.Millisecond })
	link("v2", "current")
	f.wait("two")
}

func TestBadFileKeepsTheLastGoodSetAndSaysSo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tab")
	write(t, path, tab("one"))
	f := follow(t, path, func(w *fileWatch) { w.settle = time.Hour }) // read when the test says so
	write(t, path, []byte("61 * * * * true\n"))
	f.watch.reload(t.Context(), "test")
	if s := f.watch.status(); s.Problem == "" || s.Items != 1 {
		t.Errorf("status %+v, want a problem and the one item of before", s)
	}
	f.must(os.Remove(path))
	f.watch.lookAt(t.Context())
	if s := f.watch.status(); s.Problem == "" {
		t.Error("a file that is gone is no problem")
	}
	select {
	case names := <-f.applied:
		t.Errorf("%v was applied", names)
	default:
	}
	write(t, path, tab("two"))
	f.watch.reload(t.Context(), "test")
	f.wait("two")
	if s := f.watch.status(); s.Problem != "" {
		t.Errorf("the problem stays: %s", s.Problem)
	}
}

// A database that was busy must not leave the file unread until somebody touches it.
func TestFileThatCouldNotBeAppliedIsTriedAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tab")
	write(t, path, tab("one"))
	f := follow(t, path, func(w *fileWatch) { w.settle = time.Hour })
	apply, fails := f.watch.apply, 1
	f.watch.apply = func(ctx context.Context, items []schedule.Schedule, why string) (store.Applied, error) {
		if fails--; fails >= 0 {
			return store.Applied{}, store.ErrBusy
		}
		return apply(ctx, items, why)
	}
	write(t, path, tab("two"))
	f.watch.reload(t.Context(), "test")
	f.watch.lookAt(t.Context())
	f.wait("two")
}
