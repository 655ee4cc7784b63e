package control_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/internal/planner"
	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/memory"
)

// A trial is a stretch of time in which some schedules live.
type trial struct {
	id       string // of the scenario
	from, to string // a planner runs from from to to
	entries  []entry
}

// An entry is one schedule and what must come of it in the stretch.
type entry struct {
	cron, zone, gap, repeat string
	seconds                 bool
	want                    int
	at                      string // the instants, where they are few
}

// clockTrials are odd nights. The numbers follow from the calendar: a local hour that comes twice is 120 minutes, and so
// on.
func clockTrials() []trial {
	const newYork, berlin, pacific, london = "America/New_York", "Europe/Berlin", "US/Pacific", "Europe/London"
	skipped := trial{id: "S-052", from: "2027-03-14T05:00:00Z", to: "2027-03-15T04:00:00Z", entries: []entry{ // the local day
		{cron: "30 2 * * *", zone: newYork, want: 1, at: "2027-03-14T07:30:00Z"},
		{cron: "30 2 * * *", zone: newYork, gap: "skip"},
		{cron: "30 2,3 * * *", zone: newYork, want: 1, at: "2027-03-14T07:30:00Z"},
	}}
	for n := range 50 { // others: hours from 3 on stand four hours before UTC
		hour := 3 + n%20
		skipped.entries = append(skipped.entries, entry{cron: fmt.Sprintf("%d %d * * *", n, hour), zone: newYork, want: 1,
			at: time.Date(2027, 3, 14, hour+4, n, 0, 0, time.UTC).Format(time.RFC3339)})
	}
	const first, second = "2027-10-31T00:05:00Z", "2027-10-31T01:05:00Z"
	even := []entry{{cron: "* * * * *", zone: london, want: 6 * 60}, {cron: "*/15 * * * * *", zone: london, seconds: true, want: 6 * 240}}
	return []trial{
		{"S-051", "2027-11-07T08:00:00Z", "2027-11-07T10:00:00Z", []entry{{cron: "* * * * *", zone: "America/Los_Angeles", want: 120}}},
		skipped,
		{"S-053", "2027-10-30T22:00:00Z", "2027-10-31T23:00:00Z", []entry{
			{cron: "5 2 * * *", zone: berlin, want: 1, at: first}, {cron: "5 2 * * *", zone: berlin, repeat: "first", want: 1, at: first},
			{cron: "5 2 * * *", zone: berlin, repeat: "last", want: 1, at: second},
			{cron: "5 2 * * *", zone: berlin, repeat: "both", want: 2, at: first + " " + second}}},
		{"S-054", "2027-10-30T22:00:00Z", "2027-10-31T23:00:00Z", []entry{{cron: "0 2 * * *", zone: berlin, want: 1, at: "2027-10-31T00:00:00Z"}}},
		{"S-057", "2027-11-05T12:00:00Z", "2027-11-09T00:00:00Z", []entry{{cron: "0 6 * * MON", zone: newYork, want: 1, at: "2027-11-08T11:00:00Z"}}},
		{"S-058", "2027-11-07T07:00:00Z", "2027-11-08T08:00:00Z", []entry{{cron: "0 * * * *", zone: pacific, want: 25}}},
		{"S-059", "2027-03-27T22:00:00Z", "2027-03-28T04:00:00Z", even},
		{"S-059", "2027-10-30T22:00:00Z", "2027-10-31T04:00:00Z", even},
		{"S-060", "2027-03-14T08:00:00Z", "2027-03-15T07:00:00Z", []entry{
			{cron: "0 2 * * *", zone: pacific, want: 1, at: "2027-03-14T10:00:00Z"}, {cron: "0 2 * * *", zone: pacific, gap: "skip"}}},
		{"S-067", "2028-02-28T00:00:00Z", "2028-03-02T00:00:00Z", []entry{{cron: "0 0 29 2 *", zone: "UTC", want: 1, at: "2028-02-29T00:00:00Z"}}},
		// February 2028 begins on a Tuesday: Sundays are the 6th to the 27th, and the 29th is the fifth.
		{"S-069", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z", []entry{{cron: "0 2 29 2 0", zone: "UTC", want: 5,
			at: "2028-02-06T02:00:00Z 2028-02-13T02:00:00Z 2028-02-20T02:00:00Z 2028-02-27T02:00:00Z 2028-02-29T02:00:00Z"}}},
	}
}

// What a preview shows beforehand is what is planned: as many, at the same instants, none in a gap. What was computed on
// the zone's clock is stored in UTC (R-TZ-1). Through nights on
// which clocks change, leap days and either-day rules: S-051, S-052, S-053, S-054, S-057, S-058, S-059, S-060, S-067, S-069.
func TestPreviewIsWhatIsPlanned(t *testing.T) {
	t.Parallel()
	for _, x := range clockTrials() {
		t.Run(x.id, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				from, to := instant(t, x.from), instant(t, x.to)
				time.Sleep(time.Until(from))
				l := newLedger(t)
				specs := map[string]schedule.Spec{}
				for i, e := range x.entries {
					specs[fmt.Sprint(i)] = e.spec(t)
				}
				l.declare(specs)
				l.plan(to)
				for i, e := range x.entries {
					p, err := control.Look(control.PreviewInput{Spec: e.spec(t), From: from, To: to})
					if err != nil || len(p.Occurrences) != e.want || e.at != "" && words(p.Occurrences) != e.at {
						t.Errorf("%+v: previewed %d: %s, %v", e, len(p.Occurrences), words(p.Occurrences), err)
					}
					if got := l.dues(fmt.Sprint(i), to); words(got) != words(p.Occurrences) {
						t.Errorf("%+v: planned %d: %s\npreviewed %d: %s", e, len(got), words(got), len(p.Occurrences), words(p.Occurrences))
					}
				}
				l.noGap()
			})
		})
	}
}

// A year of daily schedules at 00:00 and 02:15 in zones that change their clocks at midnight or by half an hour: each
// local day has its one run, and late is late by the length of the gap. S-062.
func TestEachLocalDayOfAYearHasItsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(instant(t, "2026-12-31T00:00:00Z")))
		l := newLedger(t)
		end, specs := instant(t, "2028-01-02T00:00:00Z"), map[string]schedule.Spec{}
		for _, name := range []string{"Australia/Lord_Howe", "America/Santiago", "Asia/Beirut", "Africa/Cairo", "Africa/Casablanca"} {
			for _, text := range []string{"0 0 * * *", "15 2 * * *"} {
				specs[strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(name))+"-"+strings.Fields(text)[0]] = expression(t, text, name)
			}
		}
		l.declare(specs)
		l.plan(end)
		for name, spec := range specs {
			days := map[string]int{}
			for _, due := range l.dues(name, end) {
				if day := due.In(zone(t, spec.TimeZone)); day.Year() == 2027 {
					days[day.Format(time.DateOnly)]++
				}
			}
			for day, n := range days {
				if n != 1 {
					t.Errorf("%s: %d runs on %s", name, n, day)
				}
			}
			if len(days) != 365 {
				t.Errorf("%s: %d local days have a run, want 365", name, len(days))
			}
		}
		late := instant(t, "2027-10-03T02:45:00+11:00") // half an hour after 02:15, not an hour
		if !slices.ContainsFunc(l.dues("australia-lord-howe-15", end), late.Equal) {
			t.Error("02:15 on Lord Howe did not run at 02:45")
		}
		l.noGap()
	})
}

// ledger is a memory store in a bubble with the verbs and a planner over it.
type ledger struct {
	*testing.T
	store *memory.Store
	ctl   *control.Control
}

func newLedger(t *testing.T) *ledger {
	s := memory.New(clock.Bubble{}, plan.Count)
	return &ledger{t, s, control.New(s, control.Options{Clock: clock.Bubble{}})}
}

func (l *ledger) declare(specs map[string]schedule.Spec) {
	l.Helper()
	var items []schedule.Schedule
	for name, s := range specs {
		items = append(items, schedule.Schedule{Name: name, Spec: s})
	}
	if _, err := l.ctl.ApplyFile(l.Context(), items, "test"); err != nil {
		l.Fatal(err)
	}
}

// plan runs a planner until an instant. It looks up seldom, so that a year passes quickly.
func (l *ledger) plan(until time.Time) {
	l.Helper()
	o := planner.Options{Lease: 24 * time.Hour, MaxIdle: 24 * time.Hour, Dirty: 24 * time.Hour, Snapshot: 240 * time.Hour, Clock: clock.Bubble{},
		Logger: slog.New(slog.DiscardHandler)}
	p, err := planner.New(l.store, o)
	if err != nil {
		l.Fatal(err)
	}
	ctx, cancel := context.WithDeadline(l.Context(), until)
	defer cancel()
	if err := p.Run(ctx); err != nil {
		l.Fatal(err)
	}
}

// dues lists the due instants of a schedule's runs before an end, ascending.
func (l *ledger) dues(name string, end time.Time) (list []time.Time) {
	l.Helper()
	q := store.RunQuery{Schedule: schedule.DeclaredID(schedule.OriginFile, "", name), Kind: run.Scheduled, To: end, Page: store.Page{Limit: 1000}}
	for {
		items, next, err := l.store.Runs(l.Context(), q)
		if err != nil {
			l.Fatal(err)
		}
		for _, r := range items {
			if r.Due.Location() != time.UTC {
				l.Errorf("%s: the run due %v is not stored in UTC", name, r.Due)
			}
			list = append(list, r.Due)
		}
		if q.Page.After = next; next == "" {
			slices.Reverse(list)
			return list
		}
	}
}

func (l *ledger) noGap() {
	l.Helper()
	gaps, _, err := l.store.Gaps(l.Context(), store.GapQuery{})
	if err != nil || len(gaps) > 0 {
		l.Errorf("gaps: %v, %v", gaps, err)
	}
}

func (e entry) spec(t *testing.T) schedule.Spec {
	t.Helper()
	s, err := control.Expression(e.cron, schedule.Spec{TimeZone: e.zone,
		Trigger: schedule.Trigger{Seconds: e.seconds, DSTGap: e.gap, DSTRepeat: e.repeat}}, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// words prints instants in UTC.
func words(list []time.Time) string {
	out := make([]string, len(list))
	for i, at := range list {
		out[i] = at.UTC().Format(time.RFC3339)
	}
	return strings.Join(out, " ")
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}
