package control_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/cron"
	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store/memory"
	"github.com/belfryhq/belfry/target"
)

var start = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

type stopped struct{ now time.Time }

func (s *stopped) Now() time.Time         { return s.now }
func (s *stopped) Elapsed() time.Duration { return s.now.Sub(start) }

func expression(t *testing.T, expr, zone string) schedule.Spec {
	t.Helper()
	s, err := control.Expression(expr, schedule.Spec{TimeZone: zone}, "")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// From is included and to is not: two previews side by side show each occurrence once.
func TestPreviewsTile(t *testing.T) {
	t.Parallel()
	spec := expression(t, "*/5 * * * *", "UTC")
	var found []time.Time
	for _, edge := range []time.Time{start, start.Add(10 * time.Minute)} {
		p, err := control.Look(control.PreviewInput{Spec: spec, From: edge, To: edge.Add(10 * time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, p.Occurrences...)
	}
	want := []time.Time{start, start.Add(5 * time.Minute), start.Add(10 * time.Minute), start.Add(15 * time.Minute)}
	if !slices.EqualFunc(found, want, time.Time.Equal) {
		t.Errorf("found %v, want %v", found, want)
	}
}

func TestPreviewSaysWhenItsListIsCut(t *testing.T) {
	t.Parallel()
	spec := expression(t, "* * * * *", "UTC")
	day := start.Add(24 * time.Hour)
	for _, c := range []struct {
		n         int
		to        time.Time
		want      int
		truncated bool
	}{
		{0, time.Time{}, 10, false}, // as many as there are by default, and nobody asked for an end
		{3, time.Time{}, 3, false},
		{0, day, 24 * 60, false},
		{100, day, 100, true},
		{1440, day, 1440, false},
		{0, start.Add(10 * 24 * time.Hour), control.MaxOccurrences, true},
	} {
		p, err := control.Look(control.PreviewInput{Spec: spec, From: start, To: c.to, N: c.n})
		if err != nil || len(p.Occurrences) != c.want || p.Truncated != c.truncated {
			t.Errorf("n %d to %v: %d, truncated %v, %v; want %d, %v", c.n, c.to, len(p.Occurrences), p.Truncated, err, c.want, c.truncated)
		}
	}
}

func TestPreviewRefusesWhatHasNoAnswer(t *testing.T) {
	t.Parallel()
	spec := expression(t, "* * * * *", "UTC")
	for _, in := range []control.PreviewInput{
		{Spec: spec, From: start, N: -1},
		{Spec: spec, From: start, N: control.MaxOccurrences + 1},
		{Spec: spec, From: start, To: start},
		{Spec: spec, From: start, To: start.Add(-time.Second)},
	} {
		var bad *schedule.Invalid
		if _, err := control.Look(in); !errors.As(err, &bad) {
			t.Errorf("n %d to %v: %v, want *schedule.Invalid", in.N, in.To, err)
		}
	}
	for _, dialect := range []string{"cron", "quartz"} {
		if _, err := control.Expression("@every 90s", schedule.Spec{}, dialect); err == nil {
			t.Errorf("@every is taken in dialect %s", dialect)
		}
	}
}

// What the night of a clock change does must be seen before it happens.
func TestPreviewShowsEachClockChangeThatMatters(t *testing.T) {
	t.Parallel()
	year := control.PreviewInput{From: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC), N: 1}
	for expr, want := range map[string][]string{
		"30 2 * * *": {"02:30 does not exist; runs at 03:30", "02:30 comes twice; it runs once, at the first reading"},
		"0 12 * * *": nil,
		"* * * * *":  nil,
		"@every 1h":  nil,
	} {
		in := year
		in.Spec = expression(t, expr, "Europe/Berlin")
		p, err := control.Look(in)
		if err != nil {
			t.Fatal(err)
		}
		var effects []string
		for _, change := range p.Transitions {
			effects = append(effects, change.Effect)
		}
		if !slices.Equal(effects, want) {
			t.Errorf("%s: %q, want %q", expr, effects, want)
		}
	}
}

func TestStandingNamesTheStateThatWins(t *testing.T) {
	t.Parallel()
	active := schedule.Schedule{Spec: expression(t, "0 3 * * *", "UTC")}
	paused, quarantined, finished := active, active, active
	paused.Pause = &schedule.Pause{At: start, By: "a", Reason: "b"}
	quarantined.Quarantine = "broken"
	finished.Spec.Trigger = schedule.Trigger{At: []schedule.Instant{schedule.NewInstant(start.Add(-time.Hour))}}
	for want, s := range map[string]schedule.Schedule{control.StateActive: active, control.StatePaused: paused,
		control.StateQuarantined: quarantined, control.StateFinished: finished} {
		got := control.Stand(s, start)
		if got.State != want || (want == control.StateActive) == got.NextDue.IsZero() {
			t.Errorf("state %s, next due %v; want %s", got.State, got.NextDue, want)
		}
	}
	if got := control.Stand(schedule.Schedule{}, start); got.State != control.StateQuarantined || got.Reason == "" {
		t.Errorf("a row that cannot be read: %s %q", got.State, got.Reason)
	}
}

// R-TRG-13: what is due next is computed at each asking, not stored.
func TestUpcomingIsOrderedByWhatIsDueFirst(t *testing.T) {
	t.Parallel()
	clock := &stopped{start}
	c := control.New(memory.New(clock, plan.Count), control.Options{Clock: clock})
	var items []schedule.Schedule
	for name, expr := range map[string]string{"late": "0 12 * * *", "soon": "1 10 * * *", "mid": "0 11 * * *"} {
		items = append(items, schedule.Schedule{Name: name, Spec: expression(t, expr, "UTC")})
	}
	if _, err := c.ApplyFile(t.Context(), items, "test"); err != nil {
		t.Fatal(err)
	}
	for _, at := range []struct {
		now  time.Time
		want []string
	}{{start, []string{"soon", "mid", "late"}}, {start.Add(time.Minute), []string{"mid", "late", "soon"}}} {
		clock.now = at.now
		list, err := c.Upcoming(t.Context(), "", 0)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range list {
			names = append(names, s.Name)
		}
		if !slices.Equal(names, at.want) {
			t.Errorf("at %v: %v, want %v", at.now, names, at.want)
		}
	}
}

func TestFileWithACommandNeedsConsent(t *testing.T) {
	t.Parallel()
	for consent, refused := range map[target.Consent]bool{"": false, target.ConsentFile: false, target.ConsentAll: false, target.ConsentNone: true} {
		clock := &stopped{start}
		c := control.New(memory.New(clock, plan.Count), control.Options{Clock: clock, Consent: consent})
		_, err := c.ApplyFile(t.Context(), []schedule.Schedule{{Name: "x", Spec: expression(t, "* * * * *", "UTC")}}, "test")
		if errors.Is(err, control.ErrRefused) != refused {
			t.Errorf("consent %q: %v", consent, err)
		}
	}
}

// S-060: whoever skips or shifts a time of the night of a clock change is warned of it months before.
func TestPreviewWarnsOfTheClockChangeBeforehand(t *testing.T) {
	t.Parallel()
	spec := expression(t, "0 2 * * *", "US/Pacific")
	p, err := control.Look(control.PreviewInput{Spec: spec, From: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	warned := slices.ContainsFunc(p.Warnings, func(w cron.Warning) bool {
		return w.Code == cron.CodeDSTGap && w.At.Equal(time.Date(2027, 3, 14, 10, 0, 0, 0, time.UTC))
	})
	if !warned {
		t.Errorf("warnings %+v, want %s about 2027-03-14T10:00:00Z", p.Warnings, cron.CodeDSTGap)
	}
}
