package schedule

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var someID = DeclaredID(OriginFile, "", "report")

func compiled(t *testing.T, id ID, s Spec) Compiled {
	t.Helper()
	s.Target = command("true")
	s, err := s.Complete(Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compile(id, s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	return instant(t, text).Time()
}

func due(t *testing.T, c Compiled, from, to string) []string {
	t.Helper()
	var list []string
	for d := range c.Trigger.Between(at(t, from), at(t, to)) {
		list = append(list, FormatInstant(d))
	}
	return list
}

// R-TZ-1: the zone's clock decides, the instants are UTC.
func TestCompiledTriggerIsDueOnTheZonesClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		spec Spec
		want []string
	}{
		{"cron over the change of 2027-03-28", Spec{Trigger: Trigger{Cron: []string{"30 2 * * *"}}, TimeZone: "Europe/Berlin"},
			[]string{"2027-03-27T01:30:00Z", "2027-03-28T01:30:00Z"}},
		{"the skipped time dropped", Spec{Trigger: Trigger{Cron: []string{"30 2 * * *"}, DSTGap: "skip"}, TimeZone: "Europe/Berlin"},
			[]string{"2027-03-27T01:30:00Z"}},
		{"seconds", Spec{Trigger: Trigger{Cron: []string{"15 0 12 * * *"}, Seconds: true}},
			[]string{"2027-03-27T12:00:15Z", "2027-03-28T12:00:15Z"}},
		{"a union counts an instant once", Spec{Trigger: Trigger{Cron: []string{"0 6 * * *", "0 6,18 * * *", "@every 12h"}}},
			[]string{"2027-03-27T00:00:00Z", "2027-03-27T06:00:00Z", "2027-03-27T12:00:00Z", "2027-03-27T18:00:00Z",
				"2027-03-28T00:00:00Z", "2027-03-28T06:00:00Z", "2027-03-28T12:00:00Z", "2027-03-28T18:00:00Z"}},
		{"an interval with an anchor", Spec{Trigger: Trigger{Every: Duration(16 * time.Hour), Anchor: instant(t, "2027-03-27T01:00:00Z")}},
			[]string{"2027-03-27T01:00:00Z", "2027-03-27T17:00:00Z", "2027-03-28T09:00:00Z"}},
		{"cron text that is an interval, with an anchor", Spec{Trigger: Trigger{Cron: []string{"@every 16h"}, Anchor: instant(t, "2027-03-27T01:00:00Z")}},
			[]string{"2027-03-27T01:00:00Z", "2027-03-27T17:00:00Z", "2027-03-28T09:00:00Z"}},
		{"instants", Spec{Trigger: Trigger{At: []Instant{*instant(t, "2027-03-28T05:00:00Z"), *instant(t, "2027-03-27T05:00:00.5Z"), *instant(t, "2027-03-28T07:00:00+02:00")}}},
			[]string{"2027-03-27T05:00:00.5Z", "2027-03-28T05:00:00Z"}},
		{"shifted back", Spec{Trigger: Trigger{Cron: []string{"0 0 * * *"}}, Shift: Duration(-5 * time.Minute)},
			[]string{"2027-03-27T23:55:00Z", "2027-03-28T23:55:00Z"}},
		{"bounds: start included, end not", Spec{Trigger: Trigger{Cron: []string{"0 */6 * * *"}},
			StartsAt: instant(t, "2027-03-27T06:00:00Z"), EndsAt: instant(t, "2027-03-28T00:00:00Z")},
			[]string{"2027-03-27T06:00:00Z", "2027-03-27T12:00:00Z", "2027-03-27T18:00:00Z"}},
		{"counted from the start", Spec{Trigger: Trigger{Cron: []string{"0 */6 * * *"}}, StartsAt: instant(t, "2027-03-26T12:00:00Z"), MaxCount: 4},
			[]string{"2027-03-27T00:00:00Z", "2027-03-27T06:00:00Z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := due(t, compiled(t, someID, c.spec), "2027-03-27T00:00:00Z", "2027-03-29T00:00:00Z")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// S-076: hourly with an offset of 55 minutes, off at 09:50 and on at 10:05, owes 09:55 and then 10:55.
func TestShiftIsPartOfTheDueInstant(t *testing.T) {
	t.Parallel()
	c := compiled(t, someID, Spec{Trigger: Trigger{Cron: []string{"0 * * * *"}}, Shift: Duration(55 * time.Minute)})
	if got := due(t, c, "2027-01-01T09:50:00Z", "2027-01-01T10:05:00Z"); !slices.Equal(got, []string{"2027-01-01T09:55:00Z"}) {
		t.Errorf("owed: %s", got)
	}
	if next, _ := c.Trigger.Next(at(t, "2027-01-01T10:05:00Z")); FormatInstant(next) != "2027-01-01T10:55:00Z" {
		t.Errorf("next: %s", next)
	}
}

// R-DEL-9, R-DEL-11: each schedule keeps its own second, and many together fill the minute evenly.
func TestSpreadFillsTheMinute(t *testing.T) {
	t.Parallel()
	const schedules = 3000
	var perSecond [60]int
	for i := range schedules {
		id := DeclaredID(OriginFile, "", string(rune('a'+i%26))+FormatDuration(time.Duration(i)))
		spec := Spec{Trigger: Trigger{Cron: []string{"* * * * *"}}, Spread: Duration(time.Minute)}
		first, _ := compiled(t, id, spec).Trigger.Next(at(t, "2027-01-01T00:00:00Z"))
		again, _ := compiled(t, id, spec).Trigger.Next(first)
		if again.Sub(first) != time.Minute {
			t.Fatalf("%s is due at %s and %s", id, first, again)
		}
		perSecond[first.Second()]++
	}
	// 50 each are expected; a binomial count strays from it by more than 35 (five deviations) once in two million.
	for second, n := range perSecond {
		if n < 15 || n > 85 {
			t.Errorf("second %d has %d of %d schedules", second, n, schedules)
		}
	}
}

// R-DEL-10, PROTOCOL C2: the jitter is the same at every asking, never early, and never beyond the next occurrence.
func TestJitterStaysBeforeTheNextOccurrence(t *testing.T) {
	t.Parallel()
	hourly := compiled(t, someID, Spec{Trigger: Trigger{Cron: []string{"0 * * * *"}}, Jitter: Duration(12 * time.Hour)})
	short := compiled(t, someID, Spec{Trigger: Trigger{Cron: []string{"0 * * * *"}}, Jitter: Duration(time.Minute)})
	none := compiled(t, someID, Spec{Trigger: Trigger{Cron: []string{"0 * * * *"}}})
	last := compiled(t, someID, Spec{Trigger: Trigger{At: []Instant{*instant(t, "2027-01-01T00:00:00Z")}}, Jitter: Duration(time.Hour)})
	rapid.Check(t, func(r *rapid.T) {
		d := at(t, "2027-01-01T00:00:00Z").Add(time.Duration(rapid.IntRange(0, 10_000).Draw(r, "hours")) * time.Hour)
		ready := hourly.ReadyAt(someID, d)
		if ready.Before(d) || ready.After(d.Add(time.Hour)) || ready.Nanosecond()%1000 != 0 {
			r.Fatalf("due %s, ready %s", d, ready)
		}
		if !ready.Equal(hourly.ReadyAt(someID, d)) {
			r.Fatalf("due %s is ready at two instants", d)
		}
		if ready := short.ReadyAt(someID, d); ready.Before(d) || !ready.Before(d.Add(time.Minute)) {
			r.Fatalf("due %s, ready %s with a jitter of a minute", d, ready)
		}
		if ready := none.ReadyAt(someID, d); !ready.Equal(d) {
			r.Fatalf("due %s, ready %s without jitter", d, ready)
		}
	})
	d := at(t, "2027-01-01T00:00:00Z")
	if ready := last.ReadyAt(someID, d); ready.Before(d) || !ready.Before(d.Add(time.Hour)) {
		t.Errorf("due %s, ready %s after the last occurrence", d, ready)
	}
}

func TestZonesAreShared(t *testing.T) {
	t.Parallel()
	a, errA := Zone("Europe/Berlin")
	b, errB := Zone("Europe/Berlin")
	if a != b || errA != nil || errB != nil {
		t.Errorf("two locations %p and %p, %v, %v", a, b, errA, errB)
	}
	for _, name := range knownZones() {
		if _, err := Zone(name); err != nil {
			t.Error(err)
		}
	}
	for name := range abbreviated {
		if _, err := Zone(name); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestUncheckedSpecDoesNotCompile(t *testing.T) {
	t.Parallel()
	for _, s := range []Spec{{}, {Trigger: Trigger{Cron: []string{"0 0 31 2 *"}}}, {Trigger: Trigger{Every: 1}},
		{Trigger: Trigger{Cron: []string{"* * * * *"}}, TimeZone: "PST"}, {Trigger: Trigger{Cron: []string{"* * * * *"}}, MaxCount: 3}} {
		var e *Invalid
		if _, err := Compile(someID, s); !errors.As(err, &e) {
			t.Errorf("%+v: %v", s.Trigger, err)
		}
	}
}

// Equal specs have one text, however they were written; so a file that is read again writes nothing (S-074).
func TestEncodedSpecReadsBackAndStaysEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		s, err := s.Complete(Defaults{LeastGrace: -1})
		if err != nil {
			t.Fatal(err)
		}
		text, err := EncodeSpec(s)
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeSpec(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(s, back); diff != "" {
			t.Fatal(diff)
		}
		if again, err := EncodeSpec(back); err != nil || string(again) != string(text) {
			t.Fatalf("%s\nbecame\n%s, %v", text, again, err)
		}
	})
}

func drawSpec(t *rapid.T) Spec {
	seconds := func(name string, most int64) Duration {
		return Duration(rapid.Int64Range(0, most).Draw(t, name)) * Duration(time.Second)
	}
	drawn := func(name string) Instant {
		return NewInstant(time.UnixMicro(rapid.Int64Range(1, 4e15).Draw(t, name)))
	}
	s := Spec{Description: rapid.StringMatching(`[a-z <&>é"\\]{0,20}`).Draw(t, "description"), Target: command("echo <&> 'ü'"),
		TimeZone: rapid.SampledFrom([]string{"", "UTC", "Europe/Berlin"}).Draw(t, "zone"), Shift: seconds("shift", 1000) - Duration(time.Hour),
		Spread: seconds("spread", 100), Jitter: seconds("jitter", 100), Timeout: seconds("timeout", 1000), Backoff: seconds("backoff", 10),
		MaxAttempts: rapid.IntRange(0, 1000).Draw(t, "attempts"), Paused: rapid.Bool().Draw(t, "paused")}
	if rapid.Bool().Draw(t, "no timeout") {
		s.Timeout, s.MaxCatchupAge, s.Target.Command.KillGrace, s.Target.Command.OutputLimit = None, None, None, None
	}
	if rapid.Bool().Draw(t, "argv") {
		s.Target.Command = &Command{Argv: []string{"a", "", "\t"}, Env: map[string]string{"B": "2", "A": "1"}, SuccessCodes: []int{3, 0, 3}}
	}
	if rapid.Bool().Draw(t, "job") {
		s.Target = Target{Job: &Job{Name: "report", Payload: struct{ Z, A any }{Z: uint64(1<<63 + 1), A: 0.1}}}
	}
	if rapid.Bool().Draw(t, "bounded") {
		from := drawn("from")
		s.StartsAt, s.StartFrom, s.MaxCount = &from, &from, 7
		s.MisfireGrace = dur(time.Duration(seconds("grace", 60)))
	}
	switch rapid.IntRange(0, 3).Draw(t, "trigger") {
	case 0:
		s.Trigger.Cron = rapid.SliceOfN(rapid.SampledFrom([]string{"0 3 * * *", "@every 90s", "@daily", "*/5 1-3 * * MON"}), 1, 3).Draw(t, "cron")
	case 1:
		s.Trigger.Every = seconds("every", 1000) + Duration(time.Second)
	case 2:
		anchor := drawn("anchor")
		s.Trigger.Every, s.Trigger.Anchor = Duration(time.Second), &anchor
	case 3:
		s.Trigger.At = []Instant{drawn("first"), drawn("second"), drawn("third")}
	}
	return s
}
