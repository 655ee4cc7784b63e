package schedule

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew; review the difference like code")

// golden compares a text with a file of testdata: what people read about a mistake is product behaviour.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
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

func dur(d time.Duration) *Duration { return (*Duration)(&d) }

func instant(t *testing.T, text string) *Instant {
	t.Helper()
	i, err := ParseInstant(text)
	if err != nil {
		t.Fatal(err)
	}
	return &i
}

// A mistake is one change to a spec that is complete and valid.
type mistake struct {
	name string
	make func(s *Spec)
}

func mistakes(t *testing.T) []mistake {
	early, late := instant(t, "2026-01-01T00:00:00Z"), instant(t, "2027-01-01T00:00:00Z")
	cron := func(text ...string) func(*Spec) { return func(s *Spec) { s.Trigger.Cron = text } }
	zone := func(name string) func(*Spec) { return func(s *Spec) { s.TimeZone = name } }
	return []mistake{
		{"no trigger", func(s *Spec) { s.Trigger = Trigger{} }},
		{"two triggers", func(s *Spec) { s.Trigger.Every = Duration(time.Minute) }},
		{"three triggers", func(s *Spec) { s.Trigger.Every = Duration(time.Minute); s.Trigger.At = []Instant{*early} }},
		{"empty cron list", cron([]string{}...)},
		{"value out of range (R-CRON-7)", cron("61 * * * *")},
		{"six fields without seconds", cron("*/5 * * * * *")},
		{"never matches (R-CRON-8, S-068)", cron("0 0 30 2 *")},
		{"never matches either (S-068)", cron("0 0 31 4 *")},
		{"second of three expressions", cron("0 1 * * *", "0 25 * * *", "@every 90s")},
		{"reboot", cron("@reboot")},
		{"every without a unit", cron("@every 90")},
		{"every below a second", cron("@every 10ms")},
		{"interval of zero", func(s *Spec) { s.Trigger = Trigger{Every: None} }},
		{"interval with a fraction", func(s *Spec) { s.Trigger = Trigger{Every: Duration(1500 * time.Millisecond)} }},
		{"anchor without interval", func(s *Spec) { s.Trigger.Anchor = early }},
		{"seconds without cron", func(s *Spec) { s.Trigger = Trigger{Every: Duration(time.Minute), Seconds: true, DSTGap: "skip"} }},
		{"unknown dst_gap", func(s *Spec) { s.Trigger.DSTGap = "shfit" }},
		{"unknown dst_repeat", func(s *Spec) { s.Trigger.DSTRepeat = "never" }},
		{"empty list of instants", func(s *Spec) { s.Trigger = Trigger{At: []Instant{}} }},
		{"zone misspelt (S-070)", zone("Europe/Berln")},
		{"zone in the wrong case", zone("europe/berlin")},
		{"zone unknown", zone("Mars/Olympus")},
		{"zone abbreviated", zone("EST")},
		{"zone abbreviated as UTC", zone("GMT")},
		{"zone local", zone("Local")},
		{"zone with leap seconds", zone("right/Europe/Berlin")},
		{"zone outside the database", zone("../../etc/passwd")},
		{"spread in fractions", func(s *Spec) { s.Spread = Duration(1500 * time.Millisecond) }},
		{"spread too long", func(s *Spec) { s.Spread = Duration(200 * time.Hour) }},
		{"spread negative", func(s *Spec) { s.Spread = Duration(-time.Second) }},
		{"shift too far", func(s *Spec) { s.Shift = Duration(-9000 * time.Hour) }},
		{"jitter negative", func(s *Spec) { s.Jitter = Duration(-time.Minute) }},
		{"ends before it starts", func(s *Spec) { s.StartsAt, s.EndsAt = late, early }},
		{"count without a start", func(s *Spec) { s.MaxCount = 3 }},
		{"no target", func(s *Spec) { s.Target = Target{} }},
		{"two targets", func(s *Spec) { s.Target.Job = &Job{Name: "report"} }},
		{"argv and shell", func(s *Spec) { s.Target.Command.Argv = []string{"true"} }},
		{"neither argv nor shell", func(s *Spec) { s.Target.Command = &Command{} }},
		{"interpreter for argv", func(s *Spec) { s.Target.Command = &Command{Argv: []string{"true"}, Interpreter: "/bin/sh"} }},
		{"interpreter by name", func(s *Spec) { s.Target.Command.Interpreter = "bash" }},
		{"shell of two lines", func(s *Spec) { s.Target.Command.Shell = "cd /tmp\nls" }},
		{"directory with a tilde", func(s *Spec) { s.Target.Command.Dir = "~/work" }},
		{"variables", func(s *Spec) { s.Target.Command.Env = map[string]string{"2A": "", "BELFRY_KEY": "x", "B": "\x00"} }},
		{"no success code", func(s *Spec) { s.Target.Command.SuccessCodes = []int{} }},
		{"impossible success code", func(s *Spec) { s.Target.Command.SuccessCodes = []int{0, 256} }},
		{"output limit", func(s *Spec) { s.Target.Command.OutputLimit = 1 << 40 }},
		{"kill grace", func(s *Spec) { s.Target.Command.KillGrace = Duration(2 * time.Hour) }},
		{"unknown misfire", func(s *Spec) { s.Misfire = "onec" }},
		{"grace below two leases", func(s *Spec) { s.MisfireGrace = dur(5 * time.Second) }},
		{"grace negative", func(s *Spec) { s.MisfireGrace = dur(-time.Second) }},
		{"misfire_limit above", func(s *Spec) { s.MisfireLimit = 1001 }},
		{"misfire_limit below", func(s *Spec) { s.MisfireLimit = -1 }},
		{"unknown misfire_keep", func(s *Spec) { s.MisfireKeep = "latest" }},
		{"overlap that comes later", func(s *Spec) { s.Overlap = "queue" }},
		{"overlap of another product", func(s *Spec) { s.Overlap = "Forbid" }},
		{"attempts", func(s *Spec) { s.MaxAttempts = 2000 }},
		{"deliveries", func(s *Spec) { s.MaxDeliveries = -5 }},
		{"on_lost", func(s *Spec) { s.OnLost = "retry" }},
		{"timeout negative", func(s *Spec) { s.Timeout = Duration(-time.Hour) }},
		{"pool", func(s *Spec) { s.Pool = "Heavy Work" }},
		{"lock key", func(s *Spec) { s.LockKey = strings.Repeat("k", 256) }},
		{"text that no database keeps (PROTOCOL A8)", func(s *Spec) { s.Description = "a\x00b"; s.LockKey = "\xff" }},
		{"several at once", func(s *Spec) {
			s.Trigger.Cron, s.TimeZone, s.Misfire = []string{"* * * *"}, "PST", "run_once"
		}},
	}
}

// R-TRG-12, R-CRON-7, R-CRON-8, R-TZ-1, S-068, S-070: what cannot work is refused before it is saved, all of it at
// once, with what to write instead.
func TestEveryMistakeIsNamed(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, m := range mistakes(t) {
		s := Spec{Trigger: Trigger{Cron: []string{"0 3 * * *"}}, Target: command("true")}
		m.make(&s)
		_, err := s.Complete(Defaults{})
		var e *Invalid
		if !errors.As(err, &e) || len(e.Problems) == 0 {
			t.Errorf("%s: accepted: %v", m.name, err)
			continue
		}
		fmt.Fprintf(&b, "# %s\n", m.name)
		for _, p := range e.Problems {
			fmt.Fprintf(&b, "%s %s\n", p.Code, p)
		}
		b.WriteByte('\n')
	}
	golden(t, "problems.txt", b.String())
}

// A stored row is checked again when it is read (R-CRON-9); the misfire_grace alone is the installation's business.
func TestStoredMistakesAreNamed(t *testing.T) {
	t.Parallel()
	valid, err := Spec{Trigger: Trigger{Cron: []string{"0 3 * * *"}}, Target: command("true")}.Complete(Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := EncodeSpec(valid)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range [][2]string{
		{`"0 3 * * *"`, `"0 3 31 2 *"`}, {`"0 3 * * *"`, `"0 3 * *"`}, {`"0 3 * * *"`, `3`},
		{`"UTC"`, `"Atlantis"`}, {`"24h"`, `"1 day"`}, {`"once"`, `"ones"`}, {`"pool"`, `"pond"`}, {`"seconds"`, `"secs"`},
		{`}`, ``}, {`"jitter":"0s"`, `"jitter":5`}, {`"1MiB"`, `"1MB"`},
	} {
		_, err := DecodeSpec([]byte(strings.Replace(string(text), c[0], c[1], 1)))
		if err == nil {
			t.Errorf("%s for %s: accepted", c[1], c[0])
		}
		fmt.Fprintf(&b, "# %s for %s\n%v\n\n", c[1], c[0], err)
	}
	if _, err := DecodeSpec(append(slices.Clone(text), " {}"...)); err == nil {
		t.Error("a second value was accepted")
	}
	golden(t, "stored.txt", b.String())
}

func TestTestsMayUseAnyGrace(t *testing.T) {
	t.Parallel()
	s := Spec{Trigger: Trigger{Cron: []string{"0 3 * * *"}}, Target: command("true"), MisfireGrace: dur(0)}
	if _, err := s.Complete(Defaults{}); err == nil {
		t.Error("a grace of 0s was accepted with default settings")
	}
	if _, err := s.Complete(Defaults{LeastGrace: 30 * time.Second}); err == nil {
		t.Error("a grace of 0s was accepted with leases of 15 s")
	}
	got, err := s.Complete(Defaults{LeastGrace: -1})
	if err != nil || got.MisfireGrace == nil || *got.MisfireGrace != 0 {
		t.Errorf("a grace of 0s for tests: %v, %v", got.MisfireGrace, err)
	}
}

func TestMetadataMistakesAreNamed(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 33 {
		many[fmt.Sprintf("k%02d", i)] = "v"
	}
	var b strings.Builder
	for _, m := range []Metadata{
		{}, {Name: "Nightly Report"}, {Name: "-x"}, {Name: strings.Repeat("n", 101)}, {Name: "..."}, {Name: "ok", Tenant: "Acme.Inc"},
		{Name: "ok", Labels: many}, {Name: "ok", Labels: map[string]string{"": "x", "a/b": strings.Repeat("v", 256)}},
		{Name: "ok", Annotations: map[string]string{"a": strings.Repeat("v", 64<<10)}},
	} {
		err := m.Validate()
		if err == nil {
			t.Errorf("%+v was accepted", m)
		}
		fmt.Fprintf(&b, "# name %q tenant %q\n%v\n\n", m.Name, m.Tenant, err)
	}
	golden(t, "metadata.txt", b.String())
	for _, m := range []Metadata{{Name: "a"}, {Name: "9.x_y-z", Tenant: "t_1-b"}, {Name: strings.Repeat("n", 100), Tenant: strings.Repeat("t", 63)}} {
		if err := m.Validate(); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
	}
}
