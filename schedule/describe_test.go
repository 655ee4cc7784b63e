package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSentencesSayWhen(t *testing.T) {
	t.Parallel()
	start, end := instant(t, "2027-01-01T00:00:00Z"), instant(t, "2028-01-01T00:00:00Z")
	var b strings.Builder
	for _, s := range []Spec{
		{Trigger: Trigger{Cron: []string{"0 3 * * *"}}, TimeZone: "Europe/Berlin"},
		{Trigger: Trigger{Cron: []string{"0 3 * * *", "30 12 * * MON-FRI", "@every 90s"}}},
		{Trigger: Trigger{Cron: []string{"@every 90s"}}},
		{Trigger: Trigger{Every: Duration(24 * time.Hour), Anchor: start}},
		{Trigger: Trigger{At: []Instant{*start}}},
		{Trigger: Trigger{At: []Instant{*end, *start}}},
		{Trigger: Trigger{Cron: []string{"0 * * * *"}}, Shift: Duration(55 * time.Minute), Spread: Duration(time.Minute), Jitter: Duration(30 * time.Second)},
		{Trigger: Trigger{Cron: []string{"0 0 1 * *"}}, Shift: Duration(-time.Hour), StartsAt: start, EndsAt: end, MaxCount: 3},
	} {
		s.Target = command("true")
		s, err := s.Complete(Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(s.Describe() + "\n")
	}
	golden(t, "sentences.txt", b.String())
}

// D3: a period longer than the look-back is warned about, with the fix; S-060: so are the times that clocks skip.
func TestWarningsNameTheFix(t *testing.T) {
	t.Parallel()
	from, to := at(t, "2027-01-01T00:00:00Z"), at(t, "2028-01-01T00:00:00Z")
	var b strings.Builder
	for _, c := range []struct {
		name string
		spec Spec
	}{
		{"daily in a zone with transitions: 25 hours once a year are no longer period", Spec{Trigger: Trigger{Cron: []string{"0 12 * * *"}}, TimeZone: "Europe/Berlin"}},
		{"a time that the clocks skip", Spec{Trigger: Trigger{Cron: []string{"30 2 * * *"}}, TimeZone: "Europe/Berlin"}},
		{"weekly", Spec{Trigger: Trigger{Cron: []string{"0 12 * * MON"}}}},
		{"weekly, skipping what is late", Spec{Trigger: Trigger{Cron: []string{"0 12 * * MON"}}, Misfire: "skip"}},
		{"weekly with the fix", Spec{Trigger: Trigger{Cron: []string{"0 12 * * MON"}}, MaxCatchupAge: Duration(168 * time.Hour)}},
		{"weekly without limit", Spec{Trigger: Trigger{Cron: []string{"0 12 * * MON"}}, MaxCatchupAge: None}},
		{"jitter beyond the period", Spec{Trigger: Trigger{Every: Duration(time.Minute)}, Jitter: Duration(time.Hour)}},
		{"bounds without an occurrence", Spec{Trigger: Trigger{Cron: []string{"0 12 1 1 *"}},
			StartsAt: instant(t, "2027-02-01T00:00:00Z"), EndsAt: instant(t, "2027-03-01T00:00:00Z")}},
		{"all instants passed", Spec{Trigger: Trigger{At: []Instant{*instant(t, "2026-01-01T00:00:00Z")}}}},
	} {
		c.spec.Target = command("true")
		s, err := c.spec.Complete(Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "# %s\n", c.name)
		for _, w := range s.Warnings(from, to) {
			fmt.Fprintf(&b, "%s: %s; %s\n", w.Code, w.Message, w.Fix)
		}
		b.WriteByte('\n')
	}
	golden(t, "warnings.txt", b.String())
}

func TestEveryMinuteOfARepeatedHourIsAMinuteApart(t *testing.T) {
	t.Parallel()
	c := compiled(t, someID, Spec{Trigger: Trigger{Cron: []string{"* * * * *"}}, TimeZone: "Europe/Berlin"})
	shortest, longest, ok := waits(c.Trigger, at(t, "2027-10-31T00:30:00Z"), c.Zone)
	if shortest != time.Minute || longest != time.Minute || !ok {
		t.Errorf("%s to %s, %v", shortest, longest, ok)
	}
}

func TestNearestWordIsSuggested(t *testing.T) {
	t.Parallel()
	words := []string{"misfire", "misfire_grace", "misfire_limit", "overlap", "pool", "timeout", "time_zone"}
	for word, want := range map[string]string{
		"missfire": "misfire", "mifsire": "misfire", "Timezone": "time_zone", "timeot": "timeout", "poll": "pool", "concurrency": "", "x": "", "": "",
		"misfire-limit": "misfire_limit", strings.Repeat("pool", 100): "",
	} {
		if got := nearest(word, words); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
	if !slices.IsSorted(knownZones()) {
		t.Error("zones.txt is not sorted")
	}
}
