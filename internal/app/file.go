package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/internal/crontab"
	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// fileWatch keeps the schedules of origin file equal to a file. A file that is wrong changes nothing: the last good
// set stays, and the problem is logged and shown. Loads are serialised by loading; mu guards what status shows.
type fileWatch struct {
	source Source
	log    *slog.Logger
	apply  func(ctx context.Context, items []schedule.Schedule, why string) (store.Applied, error)
	settle time.Duration // editors write a file in several steps
	look   time.Duration // how often the file is looked at when nothing tells of changes

	loading sync.Mutex
	mu      sync.Mutex
	sum     [32]byte // of the file as last looked at
	problem error    // why the last look changed nothing
	loaded  time.Time
	items   int
	report  []crontab.Entry
}

const (
	defaultSettle = 200 * time.Millisecond
	defaultLook   = 10 * time.Second
)

// content reads the file, bounded as its readers are.
func (w *fileWatch) content() ([]byte, error) {
	f, err := os.Open(w.source.Path)
	if err != nil {
		return nil, fmt.Errorf("read schedules: %w", err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	text, err := io.ReadAll(io.LimitReader(f, manifest.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read schedules: %w", err)
	}
	return text, nil
}

// read reads and parses the file; problems of its text are a *manifest.Error.
func (w *fileWatch) read() ([]schedule.Schedule, error) {
	text, err := w.content()
	if err != nil {
		return nil, err
	}
	items, report, err := w.source.Parse(text)
	w.mu.Lock()
	w.sum = sha256.Sum256(text)
	if err == nil {
		w.report = report
	}
	w.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out := make([]schedule.Schedule, len(items))
	for i, it := range items {
		out[i] = schedule.Schedule{Tenant: it.Tenant, Name: it.Name, Labels: it.Labels, Annotations: it.Annotations, Spec: it.Spec}
	}
	return out, nil
}

// load reads the file and applies it.
func (w *fileWatch) load(ctx context.Context, why string) error {
	w.loading.Lock()
	defer w.loading.Unlock()
	items, err := w.read()
	if err == nil {
		var done store.Applied
		if done, err = w.apply(ctx, items, why); err == nil {
			w.log.Info("schedules read", "file", w.source.Path, "reason", why, "created", len(done.Created), "updated", len(done.Updated),
				"removed", len(done.Removed), "unchanged", done.Unchanged, "unplanned", done.Unplanned)
			if len(done.Removed) > 0 { // an emptied file, or another server's file on the same ledger, looks like this
				w.log.Warn("schedules were removed: the file no longer names them", "file", w.source.Path, "count", len(done.Removed))
			}
			w.tellReport()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.problem = err; err == nil {
		w.loaded, w.items = time.Now(), len(items)
	}
	return err
}

// reload is load while the server runs: what went wrong is logged, since nobody waits for it.
func (w *fileWatch) reload(ctx context.Context, why string) {
	if err := w.load(ctx, why); err != nil && ctx.Err() == nil {
		w.log.Error("the file is wrong; the last good set stays", "file", w.source.Path, "reason", err.Error())
	}
}

// run watches the file's directory, because editors replace files rather than write them, and looks at the file by
// itself now and then in case nothing was told.
func (w *fileWatch) run(ctx context.Context) error {
	w.follow(ctx, w.watcher())
	return nil
}

func (w *fileWatch) follow(ctx context.Context, watcher *fsnotify.Watcher) {
	var events <-chan fsnotify.Event
	var errs <-chan error
	if watcher != nil {
		defer func() { _ = watcher.Close() }() // nothing is written through it
		events, errs = watcher.Events, watcher.Errors
	}
	timer := time.NewTimer(w.look)
	defer timer.Stop()
	var waiting time.Time // since when a change waits for its last step
	for {
		select {
		case <-ctx.Done():
			return
		case err := <-errs:
			w.log.Warn("a change of the file may have been missed; it is looked at now", "file", w.source.Path, "reason", err.Error())
			timer.Reset(w.settle)
		case e := <-events:
			if !w.concerns(e.Name) {
				continue
			}
			if waiting.IsZero() {
				waiting = time.Now()
			}
			if time.Since(waiting) < 10*w.settle { // a file that is written all the time is read all the same
				timer.Reset(w.settle)
			}
		case <-timer.C:
			waiting = time.Time{}
			w.lookAt(ctx)
			timer.Reset(w.look)
		}
	}
}

// watcher watches the directory, and that of the file which a link leads to; nil when the system cannot.
func (w *fileWatch) watcher() *fsnotify.Watcher {
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		err = watcher.Add(filepath.Dir(w.source.Path))
	}
	if err != nil {
		w.log.Warn("changes of the file are only polled for", "file", w.source.Path, "reason", err.Error())
		if watcher != nil {
			_ = watcher.Close() // it watches nothing
		}
		return nil
	}
	if real, err := filepath.EvalSymlinks(w.source.Path); err == nil && filepath.Dir(real) != filepath.Dir(w.source.Path) {
		if err := watcher.Add(filepath.Dir(real)); err != nil {
			w.log.Debug("the directory that the file's link leads to is only polled", "file", real, "reason", err.Error())
		}
	}
	return watcher
}

// concerns reports whether a name is that of the file, or of what a link in its place leads over (as mounted
// configuration does: a link to a link to a directory that is swapped).
func (w *fileWatch) concerns(name string) bool {
	if filepath.Base(name) == filepath.Base(w.source.Path) || filepath.Base(name) == "..data" {
		return true
	}
	real, err := filepath.EvalSymlinks(w.source.Path)
	return err == nil && filepath.Base(real) == filepath.Base(name)
}

// lookAt reads the file again if it is another than before.
func (w *fileWatch) lookAt(ctx context.Context) {
	text, err := w.content()
	w.mu.Lock()
	changed := err == nil && sha256.Sum256(text) != w.sum
	gone := err != nil && (w.problem == nil || w.problem.Error() != err.Error())
	retry := err == nil && w.problem != nil && !isContent(w.problem)
	if err != nil {
		w.problem = err
	}
	w.mu.Unlock()
	switch {
	case gone:
		w.log.Error("the file cannot be read; the last good set stays", "file", w.source.Path, "reason", err.Error())
	case changed:
		w.reload(ctx, "file changed")
	case retry: // it could not be read or applied for a reason that passes
		w.reload(ctx, "tried again")
	}
}

// isContent reports whether a problem lies in the text, which reading it again cannot mend.
func isContent(err error) bool {
	var bad *manifest.Error
	return errors.As(err, &bad)
}

// tellReport logs what became of a crontab's lines where that needs a word.
func (w *fileWatch) tellReport() {
	for _, e := range w.report {
		if len(e.Reasons) > 0 {
			w.log.Info("crontab line", "file", w.source.Path, "line", e.Line, "result", string(e.Result), "reason", strings.Join(e.Reasons, "; "))
		}
	}
}

// status is what the API shows.
func (w *fileWatch) status() *client.FileStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := &client.FileStatus{Path: w.source.Path, Format: w.source.KnownFormat(), LoadedAt: client.NewTime(w.loaded), Items: w.items,
		Report: []client.FileLine{}}
	if out.Format != FormatManifest {
		out.TimeZone = w.source.Zone
	}
	if w.problem != nil {
		out.Problem = w.problem.Error()
	}
	for _, e := range w.report {
		if len(e.Reasons) > 0 {
			out.Report = append(out.Report, client.FileLine{Line: e.Line, Text: e.Text, Result: string(e.Result), Name: e.Name, Reasons: e.Reasons})
		}
	}
	return out
}
