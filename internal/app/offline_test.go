package app

import "testing"

// A crontab read with the wrong columns is still one that can be read, and runs "root" as a command.
func TestFormatFollowsTheNameUnlessItIsGiven(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, given, want string }{
		{"schedules.yaml", "", FormatManifest},
		{"/srv/a.YML", "", FormatManifest},
		{"a.json", "", FormatManifest},
		{"crontab", "", FormatCrontab},
		{"./etc/crontab", "", FormatCrontab},
		{"/etc/crontab", "", FormatSystemCrontab},
		{"/etc//crontab", "", FormatSystemCrontab},
		{"/etc/cron.d/sysstat", "", FormatSystemCrontab},
		{"/etc/cron.d/more/sysstat", "", FormatCrontab},
		{"/etc/cron.d/a.yaml", "", FormatManifest},
		{"/etc/crontab", FormatCrontab, FormatCrontab},
		{"a.yaml", FormatCrontab, FormatCrontab},
	} {
		if got := (Source{Path: c.path, Format: c.given}).KnownFormat(); got != c.want {
			t.Errorf("%s, format %q: %q, want %q", c.path, c.given, got, c.want)
		}
	}
}
