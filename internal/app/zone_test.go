package app

import (
	"os"
	"path/filepath"
	"testing"
)

// The zone of a crontab decides when everything in it runs: it is named or it is UTC, never guessed.
func TestMachineZoneIsNamedOrUTC(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := func(name, target string) string {
		path := filepath.Join(dir, name)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("TZif2"), 0o600); err != nil {
		t.Fatal(err)
	}
	berlin := link("berlin", "/usr/share/zoneinfo/Europe/Berlin")
	for _, c := range []struct{ tz, link, want string }{
		{"", berlin, "Europe/Berlin"},
		{"America/New_York", berlin, "America/New_York"},
		{":America/New_York", berlin, "America/New_York"},
		{"/usr/share/zoneinfo/Asia/Tokyo", berlin, "Asia/Tokyo"},
		{"CET-1CEST,M3.5.0,M10.5.0/3", berlin, "UTC"}, // cron would follow TZ, which has no name
		{"EST", berlin, "UTC"},
		{"Etc/UTC", berlin, "UTC"},
		{"", plain, "UTC"},
		{"", filepath.Join(dir, "missing"), "UTC"},
		{"", link("dangling", "../usr/share/zoneinfo/Europe/Paris"), "Europe/Paris"},
		{"", link("utc", "/usr/share/zoneinfo/Etc/UTC"), "UTC"},
		{"", link("odd", "/etc/passwd"), "UTC"},
	} {
		if got, source := machineZone(c.tz, c.link); got != c.want || source == "" {
			t.Errorf("TZ=%q, link %s: %s (%s), want %s", c.tz, c.link, got, source, c.want)
		}
	}
}
