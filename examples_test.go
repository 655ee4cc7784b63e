package belfry_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/belfryhq/belfry/internal/crontab"
	"github.com/belfryhq/belfry/internal/manifest"
	"github.com/belfryhq/belfry/schedule"
)

// People run the examples before they have read anything: every file is valid,
// and none of them does more than print.
func TestExamplesAreValidAndHarmless(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("examples/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("examples: %d files, %v", len(files), err)
	}
	for _, file := range files {
		items := readExample(t, file)
		if len(items) == 0 {
			t.Errorf("%s declares nothing", file)
		}
		for _, item := range items {
			command := item.Spec.Target.Command
			if command == nil {
				t.Errorf("%s: %s runs no command", file, item.Name)
				continue
			}
			line := cmp.Or(strings.Join(command.Argv, " "), command.Shell)
			word, _, _ := strings.Cut(line, " ")
			if !slices.Contains([]string{"cat", "date", "echo", "true"}, word) || strings.ContainsAny(line, ";&|<>`(") {
				t.Errorf("%s: %s runs %q; an example only prints", file, item.Name, line)
			}
		}
	}
}

func readExample(t *testing.T, file string) []manifest.Item {
	t.Helper()
	r, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if filepath.Ext(file) == ".yaml" {
		items, err := manifest.Read(file, r, schedule.Defaults{})
		if err != nil {
			t.Error(err)
		}
		return items
	}
	c, err := crontab.Read(file, r, crontab.Options{})
	if err != nil {
		t.Error(err)
	}
	return c.Items
}
