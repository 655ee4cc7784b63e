package manifest

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/belfryhq/belfry/schedule"
)

var update = flag.Bool("update", false, "write the golden files anew; review the difference like code")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); -update writes it anew:\n%s", file, diff)
	}
}

func archive(t *testing.T, name string) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return a.Files
}

func read(name, text string) ([]Item, error) {
	return Read(name, strings.NewReader(text), schedule.Defaults{})
}

// Bad input is refused with file, line, key, what is allowed and what was probably meant, all of it at once, and
// nothing of the file is taken. R-TRG-12, R-CRON-7, R-CRON-8, R-TZ-1, S-008, S-068, S-070.
func TestBadManifestsAreRefusedWithPlaceAndRemedy(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, f := range archive(t, "bad.txtar") {
		items, err := read(f.Name, string(f.Data))
		var e *Error
		if !errors.As(err, &e) || len(items) != 0 {
			t.Errorf("%s: %d items, %v", f.Name, len(items), err)
			continue
		}
		fmt.Fprintf(&b, "%v\n\n", err)
	}
	golden(t, "bad.txt", b.String())
}

const everything = `
apiVersion: belfry/v1
kind: Schedule
metadata:
  name: everything
  tenant: acme
  labels: {team: pay}
  annotations: {note: "1"}
spec:
  description: All keys.
  trigger:
    cron: "0 3 * * *"
    seconds: false
    dst_gap: skip
    dst_repeat: last
  time_zone: Europe/Berlin
  shift: -5m
  spread: PT1M
  starts_at: 2026-01-01T00:00:00+01:00
  ends_at: 2030-01-01T00:00:00.0000001Z
  max_occurrences: 10
  except: []
  jitter: 30s
  target:
    command:
      argv: [echo, "5"]
      dir: /tmp
      env: {A: b}
      stdin: |
        two
        lines
      output_limit: 65536
      kill_grace: 0s
      success_codes: [3, 0]
  misfire: all
  misfire_grace: 20s
  misfire_limit: 7
  misfire_keep: newest
  max_catchup_age: 0s
  start_from: null
  overlap: skip
  lock_key: everything
  queue_limit: 100
  max_attempts: 3
  max_deliveries: 2
  on_lost: fail
  backoff: 10s
  timeout: 0
  start_deadline: 0s
  pool: heavy
  priority: 0
  lease: auto
  single_flight_key: ""
  per_tenant: false
  sensitive: false
  paused: true
`

// Every key that a manifest may have is taken; those of later pieces as long as they ask for nothing.
func TestEveryKeyIsTaken(t *testing.T) {
	t.Parallel()
	items, err := read("everything.yaml", everything)
	if err != nil {
		t.Fatal(err)
	}
	parse := func(text string) *schedule.Instant {
		i, err := schedule.ParseInstant(text)
		if err != nil {
			t.Fatal(err)
		}
		return &i
	}
	grace := schedule.Duration(20 * time.Second)
	want := []Item{{Tenant: "acme", Name: "everything", Labels: map[string]string{"team": "pay"}, Annotations: map[string]string{"note": "1"},
		Where: Place{"everything.yaml", 5, 9}, Spec: schedule.Spec{
			Description: "All keys.", Trigger: schedule.Trigger{Cron: []string{"0 3 * * *"}, DSTGap: "skip", DSTRepeat: "last"},
			TimeZone: "Europe/Berlin", Shift: schedule.Duration(-5 * time.Minute), Spread: schedule.Duration(time.Minute),
			StartsAt: parse("2025-12-31T23:00:00Z"), EndsAt: parse("2030-01-01T00:00:00.000001Z"), MaxCount: 10, Jitter: schedule.Duration(30 * time.Second),
			Target: schedule.Target{Command: &schedule.Command{Argv: []string{"echo", "5"}, Dir: "/tmp", Env: map[string]string{"A": "b"},
				Stdin: "two\nlines\n", OutputLimit: 64 << 10, SuccessCodes: []int{0, 3}}},
			Misfire: "all", MisfireGrace: &grace, MisfireLimit: 7, MisfireKeep: "newest", Overlap: "skip", LockKey: "everything",
			MaxAttempts: 3, MaxDeliveries: 2, OnLost: "fail", Backoff: schedule.Duration(10 * time.Second), Pool: "heavy", Paused: true,
		}}}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Error(diff)
	}
}

// YAML and JSON carry the same spec, and a stored spec is again what a manifest may say.
func TestEncodedSpecIsAManifest(t *testing.T) {
	t.Parallel()
	items, err := read("everything.yaml", everything)
	if err != nil {
		t.Fatal(err)
	}
	text, err := schedule.EncodeSpec(items[0].Spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"again.json", "again.yaml"} {
		again, err := read(name, `{"apiVersion":"belfry/v1","kind":"Schedule","metadata":{"name":"again"},"spec":`+string(text)+`}`)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(items[0].Spec, again[0].Spec); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestDocumentsOfOneFileAreReadInOrder(t *testing.T) {
	t.Parallel()
	doc := func(name string) string {
		return `{"apiVersion": "belfry/v1", "kind": "Schedule", "metadata": {"name": "` + name + `"}, "spec": {"trigger": {"at": "2027-01-01T00:00:00Z"}, "target": {"command": {"shell": "echo \ud83d\ude00 \/"}}}}`
	}
	yamlDoc := func(name string) string {
		return strings.ReplaceAll(strings.ReplaceAll(doc(name), `\ud83d\ude00`, "😀"), `\/`, `/`)
	}
	for name, text := range map[string]string{
		"a.json": doc("a") + "\n" + doc("b") + doc("c"),
		"a.yaml": "\ufeff# first\n---\n" + yamlDoc("a") + "\n---\n---\n# nothing\n---\nnull\n---\n" + yamlDoc("b") + "\n---\n" + yamlDoc("c") + "\n...\n",
	} {
		items, err := read(name, text)
		if err != nil {
			t.Fatal(err)
		}
		var names string
		for _, item := range items {
			names += item.Name
			if got := item.Spec.Target.Command.Shell; got != "echo 😀 /" {
				t.Errorf("%s: shell %q", name, got)
			}
		}
		if names != "abc" {
			t.Errorf("%s: %q", name, names)
		}
	}
	for _, empty := range []string{"", "# nothing\n", "---\n---\n"} {
		if items, err := read("empty.yaml", empty); err != nil || len(items) != 0 {
			t.Errorf("%q: %v, %v", empty, items, err)
		}
	}
}

func TestAliasesStandForWholeValues(t *testing.T) {
	t.Parallel()
	items, err := read("a.yaml", `
apiVersion: belfry/v1
kind: Schedule
metadata:
  name: &name alias
  labels: &labels {name: *name}
  annotations: *labels
spec:
  trigger: {cron: ["0 3 * * *"]}
  target: {command: {argv: [echo, *name]}}
`)
	if err != nil {
		t.Fatal(err)
	}
	if items[0].Annotations["name"] != "alias" || items[0].Spec.Target.Command.Argv[1] != "alias" {
		t.Errorf("%+v", items[0])
	}
}

// What is too large is refused with the limit named, and quickly.
func TestLimitsAreNamed(t *testing.T) {
	t.Parallel()
	head := "apiVersion: belfry/v1\nkind: Schedule\nmetadata:\n  name: a\nspec:\n"
	laughs := head + "  a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'z'; c++ {
		laughs += fmt.Sprintf("  %c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	var manyKeys strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&manyKeys, "k%d: v\n", i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"long.yaml":     {strings.Repeat("#", MaxBytes+1), "long.yaml: is longer than 8388608 bytes"},
		"many.yaml":     {strings.Repeat("--- 1\n", 200), "many.yaml has more than 100 problems"},
		"aliases.yaml":  {head + "  description: &d x\n  trigger: {cron: [" + strings.Repeat("*d,", 1001) + "]}\n", "more than 1000 uses of an alias in one document"},
		"laughs.yaml":   {laughs, "laughs.yaml:6:3: spec.a: there is no such key"},
		"cycle.yaml":    {head + "  trigger: &t {cron: [*t]}\n", "cycle.yaml:6:"},
		"deep.json":     {strings.Repeat("[", 200), "there are more than 100 levels of objects and arrays"},
		"keys.yaml":     {manyKeys.String(), "keys.yaml has more than 100 problems"},
		"deep.yaml":     {strings.Repeat("[", 200_000), "deep.yaml:"},
		"nul.yaml":      {"a: b\nc: \x00", "nul.yaml:2:4: a NUL character: this is not a text file"},
		"latin.yaml":    {"a: caf\xe9", "latin.yaml:1:7: byte 0xe9 is not UTF-8"},
		"problems.yaml": {head + "  trigger:\n" + strings.Repeat("    x: 1\n", 150), "has more than 100 problems"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(name, c.text)
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %.300v\nwant %s", err, c.want)
			}
		})
	}
}

func TestTooManyDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	for name, document := range map[string]string{"a.yaml": "---\n", "a.json": "null\n"} {
		if items, err := read(name, strings.Repeat(document, MaxDocuments)); err != nil || len(items) != 0 {
			t.Errorf("%s: %d documents: %v", name, MaxDocuments, err)
		}
		_, err := read(name, strings.Repeat(document, MaxDocuments+2))
		if err == nil || !strings.Contains(err.Error(), "there are more than 100000 documents") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadErrorIsPassedOn(t *testing.T) {
	t.Parallel()
	_, err := Read("a.yaml", iotest.ErrReader(io.ErrClosedPipe), schedule.Defaults{})
	if !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), "a.yaml") {
		t.Error(err)
	}
}

// An installation's own settings fill what a schedule leaves open.
func TestInstallationSettlesWhatIsOpen(t *testing.T) {
	t.Parallel()
	text := "apiVersion: belfry/v1\nkind: Schedule\nmetadata: {name: a}\nspec: {trigger: {every: 1m}, target: {command: {shell: 'true'}}, misfire_grace: 0s}\n"
	items, err := Read("a.yaml", strings.NewReader(text), schedule.Defaults{LeastGrace: -1, MaxCatchupAge: schedule.None})
	if err != nil || items[0].Spec.MaxCatchupAge != 0 || *items[0].Spec.MisfireGrace != 0 {
		t.Errorf("%+v, %v", items, err)
	}
}

// Whatever the text is, reading it ends with schedules or with problems that have a place, never with a panic.
func FuzzRead(f *testing.F) {
	a, err := txtar.ParseFile(filepath.Join("testdata", "bad.txtar"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range a.Files {
		f.Add(strings.HasSuffix(file.Name, ".json"), string(file.Data))
	}
	f.Add(false, everything)
	f.Fuzz(func(t *testing.T, asJSON bool, text string) {
		name := map[bool]string{false: "f.yaml", true: "f.json"}[asJSON]
		items, err := read(name, text)
		var e *Error
		if err != nil && (!errors.As(err, &e) || len(items) > 0 || len(e.Problems) == 0 || len(e.Problems) > MaxProblems) {
			t.Fatalf("%d items and error %v", len(items), err)
		}
		for _, item := range items {
			if err := item.Spec.Validate(); err != nil {
				t.Errorf("%s was taken: %v", item.Name, err)
			}
		}
	})
}
