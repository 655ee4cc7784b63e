package app

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/internal/api"
	"github.com/belfryhq/belfry/internal/crontab"
	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
)

// Preview answers a preview without a server.
func Preview(req client.PreviewRequest, now time.Time) (client.Preview, error) {
	return api.Preview(req, now)
}

// Problem says what an error is, in the form in which the API would say it.
func Problem(err error) *client.Problem { return api.ProblemOf(err) }

// Source is a file of schedules and how it is to be read.
type Source struct {
	Path     string
	Format   string // "": by the name; crontab, system-crontab or manifest
	Zone     string // of a crontab's lines above the first CRON_TZ; "": UTC
	Process  string // of a system crontab: the user whose lines are taken
	Defaults schedule.Defaults
}

// The formats of files.
const (
	FormatManifest      = "manifest"
	FormatCrontab       = "crontab"
	FormatSystemCrontab = "system-crontab"
)

// Formats lists what Source.Format may be.
func Formats() []string { return []string{FormatManifest, FormatCrontab, FormatSystemCrontab} }

// KnownFormat is the format that the source is read in: as given, or what its name says. The places where cron itself
// expects a user column have one here, too: read without it, "root" would be the command of every line.
func (s Source) KnownFormat() string {
	if s.Format != "" {
		return s.Format
	}
	switch strings.ToLower(filepath.Ext(s.Path)) {
	case ".yaml", ".yml", ".json":
		return FormatManifest
	}
	if path := filepath.Clean(s.Path); path == "/etc/crontab" || filepath.Dir(path) == "/etc/cron.d" {
		return FormatSystemCrontab
	}
	return FormatCrontab
}

// Parse reads the text of the source. The error is a *manifest.Error that lists all problems; the report says what
// became of each line of a crontab, also when there is an error.
func (s Source) Parse(text []byte) ([]manifest.Item, []crontab.Entry, error) {
	switch format := s.KnownFormat(); format {
	case FormatManifest:
		items, err := manifest.Read(s.Path, bytes.NewReader(text), s.Defaults)
		return items, nil, err
	case FormatCrontab, FormatSystemCrontab:
		tab, err := crontab.Read(s.Path, bytes.NewReader(text), crontab.Options{
			System: format == FormatSystemCrontab, Process: s.Process, Zone: s.Zone, Defaults: s.Defaults,
		})
		return tab.Items, tab.Report, err
	default:
		return nil, nil, fmt.Errorf("the format of %s is %q; allowed are %s", s.Path, format, strings.Join(Formats(), ", "))
	}
}

// Validate reads a file of schedules without applying it. The error is a *manifest.Error that lists all problems.
func Validate(s Source, r io.Reader, now time.Time) (client.Validation, []crontab.Entry, error) {
	text, err := io.ReadAll(io.LimitReader(r, manifest.MaxBytes+1))
	if err != nil {
		return client.Validation{}, nil, fmt.Errorf("read %s: %w", s.Path, err)
	}
	items, report, err := s.Parse(text)
	if err != nil {
		return client.Validation{}, report, err
	}
	v, err := api.Declared(items, now)
	return v, report, err
}

// Build is what the linker writes into the program. Empty fields come from the build information.
type Build struct{ Version, Commit string }

// Version tells what this program is built of.
func Version(ctx context.Context, b Build) client.Version {
	v := client.Version{Version: b.Version, Commit: b.Commit, Go: runtime.Version(), TZData: ZoneRelease(), SQLite: "unknown"}
	if v.Version == "" {
		v.Version = "dev"
	}
	if info, ok := debug.ReadBuildInfo(); ok && v.Commit == "" {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	if db, err := sql.Open("sqlite", ":memory:"); err == nil {
		if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&v.SQLite); err != nil {
			v.SQLite = "unknown"
		}
		_ = db.Close() // nothing was written
	}
	return v
}

// ZoneRelease names the zone data that times are computed with: the release that the machine's database names, or the
// data that came with the program.
func ZoneRelease() string {
	dirs := []string{"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo"}
	if own := os.Getenv("ZONEINFO"); own != "" {
		dirs = append([]string{own}, dirs...)
	}
	for _, dir := range dirs {
		for _, name := range []string{"tzdata.zi", "+VERSION"} {
			if release := firstLine(filepath.Join(dir, name)); release != "" {
				return release
			}
		}
		if info, err := os.Stat(filepath.Join(dir, "UTC")); err == nil && !info.IsDir() {
			return "system"
		}
	}
	return "embedded " + runtime.Version()
}

// firstLine is "2026a" of "# version 2026a".
func firstLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // nothing was written
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	if err != nil && n == 0 {
		return ""
	}
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "# version "))
}
