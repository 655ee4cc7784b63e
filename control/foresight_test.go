package control_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store/memory"
)

// Every four hours at 20 past is six a day, in each of twelve zones, whatever their clocks do in 2027: none of them
// changes at a quarter that the expression names. S-055.
func TestSixADayIsSixADay(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "Europe/London", "America/New_York", "America/Los_Angeles", "America/Sao_Paulo",
		"America/Santiago", "Asia/Beirut", "Africa/Cairo", "Africa/Casablanca", "Asia/Kolkata", "Australia/Sydney", "Pacific/Auckland"} {
		z := zone(t, name)
		p, err := control.Look(control.PreviewInput{Spec: expression(t, "20 */4 * * *", name),
			From: time.Date(2027, 1, 1, 0, 0, 0, 0, z), To: time.Date(2028, 1, 1, 0, 0, 0, 0, z)})
		if err != nil || len(p.Occurrences) != 6*365 || !slices.IsSortedFunc(p.Occurrences, time.Time.Compare) {
			t.Errorf("%s: %d in the year, %v", name, len(p.Occurrences), err)
		}
	}
}

// Whoever asks beforehand is told which time is skipped and what becomes of it, by transition and by warning; whoever
// asks afterwards why nothing ran is told the same. S-052, S-060.
func TestASkippedTimeIsNamedBeforeAndAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cron, zone, gap, change, effect string }{
		{"30 2 * * *", "America/New_York", "", "2027-03-14T07:00:00Z", "02:30 does not exist; runs at 03:30"},
		{"30 2 * * *", "America/New_York", "skip", "2027-03-14T07:00:00Z", "02:30 does not exist; it is skipped"},
		{"30 2,3 * * *", "America/New_York", "", "2027-03-14T07:00:00Z", "02:30 does not exist; runs at 03:30, which is one with the run due there anyway"},
		{"0 2 * * *", "US/Pacific", "", "2027-03-14T10:00:00Z", "02:00 does not exist; runs at 03:00"},
		{"0 2 * * *", "US/Pacific", "skip", "2027-03-14T10:00:00Z", "02:00 does not exist; it is skipped"},
	} {
		spec, change := entry{cron: c.cron, zone: c.zone, gap: c.gap}.spec(t), instant(t, c.change)
		p, err := control.Look(control.PreviewInput{Spec: spec, From: change.AddDate(0, -1, 0), N: 3}) // long before
		if err != nil || len(p.Transitions) == 0 || !p.Transitions[0].At.Equal(change) || p.Transitions[0].Effect != c.effect {
			t.Errorf("%+v: transitions %+v, %v", c, p.Transitions, err)
		}
		warned := func(w cron.Warning) bool {
			return w.Code == cron.CodeDSTGap && w.At.Equal(change) && strings.Contains(w.Message, strings.SplitN(c.effect, ";", 2)[0])
		}
		if !slices.ContainsFunc(p.Warnings, warned) {
			t.Errorf("%+v: warnings %+v", c, p.Warnings)
		}
		if c.gap != "skip" {
			continue
		}
		clk := &stopped{change.Add(-time.Hour)}
		ctl := control.New(memory.New(clk, plan.Count), control.Options{Clock: clk})
		if _, err := ctl.ApplyFile(t.Context(), []schedule.Schedule{{Name: "s", Spec: spec}}, "test"); err != nil {
			t.Fatal(err)
		}
		clk.now = change.Add(24 * time.Hour)
		x, err := ctl.Explain(t.Context(), "", "s", p.Transitions[0].At.Add(30*time.Minute))
		if err != nil || x.Answer != control.AnswerNotDue || !strings.Contains(x.Sentence, c.effect) {
			t.Errorf("%+v: explained as %s: %s, %v", c, x.Answer, x.Sentence, err)
		}
	}
}

// What no date satisfies is refused, with the reason and the place, in bounded work. S-068, R-CRON-8.
func TestPreviewRefusesImpossibleDatesAtOnce(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6,9,11 *"} {
		best := time.Hour // of five: the machine may be busy
		for range 5 {
			begin := time.Now()
			_, err := control.Expression(text, schedule.Spec{}, "")
			best = min(best, time.Since(begin))
			var bad *schedule.Invalid
			if !errors.As(err, &bad) || bad.Problems[0].Code != schedule.CodeCronNever || !strings.HasPrefix(bad.Problems[0].Pointer, "/spec/trigger/cron") {
				t.Fatalf("%s: %v", text, err)
			}
		}
		if best > 50*time.Millisecond {
			t.Errorf("%s took %v", text, best)
		}
	}
}

// The next instant that people see follows the trigger and the clock: no planner runs, nothing is written, and it
// changes all the same; an edit shows in the next answer. R-TRG-13.
func TestNextDueIsComputedAtEachAsking(t *testing.T) {
	t.Parallel()
	clk := &stopped{start}
	mem := memory.New(clk, plan.Count)
	ctl := control.New(mem, control.Options{Clock: clk})
	declare := func(text string) {
		t.Helper()
		if _, err := ctl.ApplyFile(t.Context(), []schedule.Schedule{{Name: "s", Spec: expression(t, text, "UTC")}}, "test"); err != nil {
			t.Fatal(err)
		}
	}
	stored := func() (text string) {
		for row, err := range mem.Snapshot(t.Context(), 0) {
			text += fmt.Sprint(row, err)
		}
		return text
	}
	shown := func() string {
		t.Helper()
		one, err := ctl.Schedule(t.Context(), "", "s")
		list, _, errList := ctl.Schedules(t.Context(), "", control.Page{})
		first, errFirst := ctl.Upcoming(t.Context(), "", 1)
		if err != nil || errList != nil || errFirst != nil || !list[0].NextDue.Equal(one.NextDue) || !first[0].NextDue.Equal(one.NextDue) {
			t.Fatalf("%v, %v, %v: %v, %v, %v", err, errList, errFirst, one.NextDue, list, first)
		}
		return one.NextDue.UTC().Format("02 15:04")
	}
	declare("0 */4 * * *")
	before := stored()
	for _, c := range []struct {
		later time.Duration
		want  string
	}{{0, "30 12:00"}, {2*time.Hour - 1, "30 12:00"}, {2 * time.Hour, "30 16:00"}, {26 * time.Hour, "01 16:00"}} {
		clk.now = start.Add(c.later)
		if got := shown(); got != c.want {
			t.Errorf("%v later the next is %s, want %s", c.later, got, c.want)
		}
	}
	if after := stored(); after != before {
		t.Errorf("looking wrote:\n%s\nbefore:\n%s", after, before)
	}
	declare("30 12 * * *")
	if got := shown(); got != "01 12:30" {
		t.Errorf("after the edit the next is %s", got)
	}
}
