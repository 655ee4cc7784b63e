package crontab

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"github.com/belfryhq/belfry/internal/manifest"
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

// cases are the files of an archive; the ending of a name says in which form it is read, and as whom.
func cases(t *testing.T, name string) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return a.Files
}

func options(name string) Options {
	switch filepath.Ext(name) {
	case ".system":
		return Options{System: true, Process: "root"}
	case ".alice":
		return Options{System: true, Process: "alice"}
	}
	return Options{}
}

func read(text string, o Options) (Crontab, error) {
	return Read("crontab", strings.NewReader(text), o)
}

// Bad lines are refused with file, line, column, field, text and remedy, and nothing of the crontab is taken.
// R-TRG-12, R-CRON-7, R-CRON-8, S-008, S-068, S-070.
func TestBadCrontabsAreRefusedWithPlaceAndRemedy(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, f := range cases(t, "bad.txtar") {
		got, err := Read(f.Name, strings.NewReader(string(f.Data)), options(f.Name))
		var e *manifest.Error
		if !errors.As(err, &e) || len(got.Items) != 0 {
			t.Errorf("%s: %d items, %v", f.Name, len(got.Items), err)
			continue
		}
		fmt.Fprintf(&b, "%v\n\n", err)
	}
	golden(t, "bad.txt", b.String())
}

// What becomes of each line, and what is reported about it. R-TZ-1: a CRON_TZ moves the times below it.
func TestLinesBecomeSchedules(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, f := range cases(t, "good.txtar") {
		got, err := Read(f.Name, strings.NewReader(string(f.Data)), options(f.Name))
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		fmt.Fprintf(&b, "# %s\n", f.Name)
		for _, item := range got.Items {
			text, err := schedule.EncodeSpec(item.Spec)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %s\n", item.Where, item.Name)
			fmt.Fprintf(&b, "    %s\n", strings.NewReplacer(plain...).Replace(string(text)))
		}
		for _, e := range got.Report {
			fmt.Fprintf(&b, "line %d %s %s %q %q\n", e.Line, e.Result, e.Name, e.Text, e.Reasons)
		}
		b.WriteByte('\n')
	}
	golden(t, "good.txt", b.String())
}

// plain leaves out of an encoded spec what every crontab line has by default.
var plain = []string{
	`"starts_at":null,"ends_at":null,"max_occurrences":0,"jitter":"0s",`, "", `"misfire":"once","misfire_grace":null,"misfire_limit":100,"misfire_keep":"oldest","max_catchup_age":"24h","start_from":null,`, "",
	`"overlap":"allow","lock_key":"","max_attempts":1,"max_deliveries":5,"on_lost":"redeliver","backoff":"0s","timeout":"24h","pool":"default","paused":false`, "",
	`"shift":"0s","spread":"0s",`, "", `"output_limit":"1MiB","kill_grace":"5s","success_codes":[0]`, "", `"seconds":false,"dst_gap":"shift","dst_repeat":"auto"`, "",
}

// Editing the times keeps the schedule, whatever the line; editing what it does makes another.
func TestTimesAreNoPartOfTheName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SampledFrom([]string{"* * * * *", "0 3 * * MON", "@daily", "@every 90s", "  */5 1-3  1,L * ?"})
		command := rapid.StringMatching(`[a-zA-Z/][ -~]{0,30}[a-z]`).Filter(func(s string) bool { return !strings.HasPrefix(s, "%") })
		env := rapid.SampledFrom([]string{"", "A=b\n", "CRON_TZ=Europe/Berlin\n"})
		line := command.Draw(t, "command")
		name := func(env, times, line string, o Options) string {
			got, err := read(env+times+"\t"+line+"\n", o)
			if err != nil {
				t.Fatal(err)
			}
			if name := got.Items[0].Name; !schedule.ValidName(name) {
				t.Fatalf("%q is named %q", line, name)
			}
			return got.Items[0].Name
		}
		e := env.Draw(t, "environment")
		first := name(e, times.Draw(t, "times"), line, Options{})
		if second := name(e, times.Draw(t, "other times"), line, Options{}); first != second {
			t.Fatalf("%q is named %s and, at other times, %s", line, first, second)
		}
		for _, other := range []string{name(e+"Z=z\n", "@daily", line, Options{}), name(e, "@daily", line+"x", Options{}),
			name(e, "@daily", line, Options{User: "alice"}), name("CRON_TZ=Asia/Tokyo\n", "@daily", line, Options{})} {
			if other == first {
				t.Fatalf("%q keeps the name %s with another environment, command, user or zone", line, first)
			}
		}
	})
}

// A name is part of a schedule's identity. This one was computed with sha256sum over "\0UTC\0date\0".
func TestNamesNeverChange(t *testing.T) {
	t.Parallel()
	got, err := read("* * * * * date\n", Options{})
	if err != nil || got.Items[0].Name != "date-1ca504" {
		t.Errorf("%+v, %v", got.Items, err)
	}
}

func TestManyTwinsAreNumberedInOrder(t *testing.T) {
	t.Parallel()
	got, err := read(strings.Repeat("* * * * * date\n", 1000), Options{Tenant: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range got.Items {
		want := "date-1ca504"
		if i > 0 {
			want = fmt.Sprintf("date-1ca504-%d", i+1)
		}
		if item.Name != want || item.Tenant != "acme" || got.Report[i].Name != want {
			t.Fatalf("line %d is named %s of %q, want %s", i+1, item.Name, item.Tenant, want)
		}
	}
}

func TestZoneOfTheCallerHoldsUntilTheFirstCronTZ(t *testing.T) {
	t.Parallel()
	got, err := read("0 3 * * * a\nCRON_TZ=Asia/Tokyo\n0 3 * * * b\nCRON_TZ=\n0 3 * * * c\n", Options{Zone: "Europe/Berlin"})
	if err != nil {
		t.Fatal(err)
	}
	var zones []string
	for _, item := range got.Items {
		zones = append(zones, item.Spec.TimeZone)
	}
	if !slices.Equal(zones, []string{"Europe/Berlin", "Asia/Tokyo", "Europe/Berlin"}) {
		t.Error(zones)
	}
	if _, err := read("", Options{Zone: "CET"}); err == nil {
		t.Error("an abbreviation was accepted from the caller")
	}
}

func TestInstallationSettlesWhatIsOpen(t *testing.T) {
	t.Parallel()
	o := Options{Defaults: schedule.Defaults{LeastGrace: -1, MaxCatchupAge: schedule.Duration(time.Hour)}}
	got, err := read("# belfry: misfire_grace=0s\n* * * * * a\n", o)
	if err != nil || *got.Items[0].Spec.MisfireGrace != 0 || got.Items[0].Spec.MaxCatchupAge != schedule.Duration(time.Hour) {
		t.Errorf("%+v, %v", got.Items, err)
	}
}

// The example of the README, and lines as other systems end them.
func TestExampleIsTaken(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "crontab"))
	if err != nil {
		t.Fatal(err)
	}
	unix, err := read(string(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	windows, err := read("\ufeff"+strings.TrimSuffix(strings.ReplaceAll(string(text), "\n", "\r\n"), "\r\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(unix, windows); diff != "" {
		t.Error(diff)
	}
	for _, e := range unix.Report {
		if e.Result != Exact {
			t.Errorf("%+v", e)
		}
	}
}

func TestLimitsAreNamed(t *testing.T) {
	t.Parallel()
	var variables strings.Builder
	for i := range maxVariables + 1 {
		fmt.Fprintf(&variables, "V%d=x\n", i)
	}
	for text, want := range map[string]string{
		strings.Repeat("* * * * * a\n", MaxEntries+5):         "crontab:10001:1: more than 10000 lines with a command",
		variables.String() + strings.Repeat("x\n", 10):        "crontab:201:1: more than 200 variables are set",
		"* * * * * " + strings.Repeat("a", maxLine) + "\nx\n": "crontab:1:1: the line has 65546 bytes; at most 65536 are taken",
		strings.Repeat("#", manifest.MaxBytes+1):              "crontab: is longer than 8388608 bytes",
		strings.Repeat("x\n", 200):                            "crontab has more than 100 problems",
		"* * * * * a\x00b\n":                                  "crontab:1:12: a NUL character: this is not a text file",
	} {
		got, err := read(text, Options{})
		if err == nil || !strings.Contains(err.Error(), want) || len(got.Items) > 0 {
			t.Errorf("%.40q: %.200v\nwant %s", text, err, want)
		}
	}
	_, err := Read("crontab", iotest.ErrReader(io.ErrClosedPipe), Options{})
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// Every key that the package documents is a key of the spec, and is called as there.
func TestSettingsAreKeysOfTheSpec(t *testing.T) {
	t.Parallel()
	for name, kind := range settingsTable {
		if kind.pointer[strings.LastIndexByte(kind.pointer, '/')+1:] != name {
			t.Errorf("%s sets %s", name, kind.pointer)
		}
	}
	if !slices.IsSorted(Settings()) || !slices.Contains(Settings(), "name") {
		t.Error(Settings())
	}
}

// Whatever the text is, reading it ends with schedules or with problems that have a place, never with a panic.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"bad.txtar", "good.txtar"} {
		a, err := txtar.ParseFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			f.Add(filepath.Ext(file.Name) == ".system", string(file.Data))
		}
	}
	f.Fuzz(func(t *testing.T, system bool, text string) {
		got, err := read(text, Options{System: system, Process: "root"})
		var e *manifest.Error
		if err != nil && (!errors.As(err, &e) || len(got.Items) > 0 || len(e.Problems) == 0) {
			t.Fatalf("%d items and error %v", len(got.Items), err)
		}
		names := map[string]bool{}
		for _, item := range got.Items {
			if err := item.Spec.Validate(); err != nil || !schedule.ValidName(item.Name) || names[item.Name] {
				t.Errorf("%s was taken: %v", item.Name, err)
			}
			names[item.Name] = true
		}
	})
}
