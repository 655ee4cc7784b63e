package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/belfryhq/belfry/internal/crontab"
	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// fileWatch keeps the schedules of origin file equal to a file. A file that is wrong changes nothing: the last good
// set stays, and the problem is logged and shown.
type fileWatch struct {
	path, format string
	log          *slog.Logger
	apply        func(ctx context.Context, items []schedule.Schedule, why string) (store.Applied, error)

	mu      sync.Mutex
	sum     [32]byte // of the file as last looked at
	problem error    // why the last look changed nothing
}

const (
	settle = 200 * time.Millisecond // editors write a file in several steps
	look   = 10 * time.Second       // how often the file is looked at when nothing tells of changes
)

func (w *fileWatch) read() ([]schedule.Schedule, error) {
	text, err := os.ReadFile(w.path)
	if err != nil {
		return nil, fmt.Errorf("read schedules: %w", err)
	}
	w.mu.Lock()
	w.sum = sha256.Sum256(text)
	w.mu.Unlock()
	items, err := w.parse(text)
	if err != nil {
		return nil, err
	}
	out := make([]schedule.Schedule, len(items))
	for i, it := range items {
		out[i] = schedule.Schedule{Tenant: it.Tenant, Name: it.Name, Labels: it.Labels, Annotations: it.Annotations, Spec: it.Spec}
	}
	return out, nil
}

func (w *fileWatch) parse(text []byte) ([]manifest.Item, error) {
	format := w.format
	if format == "" {
		format = "crontab"
		switch strings.ToLower(filepath.Ext(w.path)) {
		case ".yaml", ".yml", ".json":
			format = "manifest"
		}
	}
	switch format {
	case "manifest":
		return manifest.Read(w.path, bytes.NewReader(text), schedule.Defaults{})
	case "crontab", "system-crontab":
		tab, err := crontab.Read(w.path, bytes.NewReader(text), crontab.Options{System: format == "system-crontab"})
		if err != nil {
			return nil, err
		}
		for _, e := range tab.Report {
			w.report(e)
		}
		return tab.Items, nil
	default:
		return nil, fmt.Errorf("format of %s is %q; allowed are manifest, crontab and system-crontab", w.path, format)
	}
}

// load reads the file and applies it.
func (w *fileWatch) load(ctx context.Context, why string) error {
	items, err := w.read()
	if err == nil {
		var done store.Applied
		if done, err = w.apply(ctx, items, why); err == nil {
			w.log.Info("schedules read", "file", w.path, "reason", why, "created", len(done.Created), "updated", len(done.Updated),
				"removed", len(done.Removed), "unchanged", done.Unchanged, "unplanned", done.Unplanned)
		}
	}
	w.mu.Lock()
	w.problem = err
	w.mu.Unlock()
	return err
}

// run watches the file's directory, because editors replace files rather than write them, and looks at the file by
// itself now and then in case nothing was told.
func (w *fileWatch) run(ctx context.Context) error {
	events := make(chan fsnotify.Event)
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer func() { _ = watcher.Close() }() // nothing is written through it
		if err = watcher.Add(filepath.Dir(w.path)); err == nil {
			events = watcher.Events
		}
	}
	if err != nil {
		w.log.Warn("changes of the file are only polled for", "file", w.path, "reason", err.Error())
	}
	timer := time.NewTimer(look)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e := <-events:
			if filepath.Base(e.Name) == filepath.Base(w.path) {
				timer.Reset(settle)
			}
		case <-timer.C:
			if w.changed() {
				if err := w.load(ctx, "file changed"); err != nil {
					w.log.Error("the file is wrong; the last good set stays", "file", w.path, "reason", err.Error())
				}
			}
			timer.Reset(look)
		}
	}
}

func (w *fileWatch) changed() bool {
	text, err := os.ReadFile(w.path)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.problem = fmt.Errorf("read schedules: %w", err)
		return false
	}
	return sha256.Sum256(text) != w.sum
}

// report logs what became of a crontab's line when that needs a word.
func (w *fileWatch) report(e crontab.Entry) {
	if len(e.Reasons) == 0 {
		return
	}
	w.log.Info("crontab line", "file", w.path, "line", e.Line, "result", string(e.Result), "reason", strings.Join(e.Reasons, "; "))
}
