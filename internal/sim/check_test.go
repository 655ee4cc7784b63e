package sim

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

// sound is evidence that contradicts nothing: a minutely schedule over ten hours, with an outage from 03:00 to 03:10, a
// pause from 05:00:30 to 05:10:30 and a removal at 08:00:30, and its jobs, which each take ten seconds under a lock.
type sound struct {
	Evidence
	fence uint64
}

var midnight = time.Date(2000, 3, 26, 0, 0, 0, 0, time.UTC)

func clockAt(h, m, s int) time.Time {
	return midnight.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second)
}

var theSchedule = schedule.ID{1}

func newSound() *sound {
	s := &sound{Evidence: Evidence{
		Schedules: []Schedule{{ID: theSchedule, Name: "minutely",
			Revisions: map[uint64]Revision{1: {Rule: Rule{Cron: []string{"* * * * *"}}, Misfire: schedule.MisfireOnce,
				Age: 24 * time.Hour, Overlap: schedule.OverlapSkip, MaxAttempts: 2}},
			Spans: []Span{
				{Revision: 1, From: clockAt(0, 0, 0), To: clockAt(5, 0, 30)},
				{Revision: 1, From: clockAt(5, 0, 30), To: clockAt(5, 10, 30), Paused: true},
				{Revision: 1, From: clockAt(5, 10, 30), To: clockAt(8, 0, 30)},
			},
			Changes:  []time.Time{clockAt(0, 0, 0), clockAt(5, 0, 30), clockAt(5, 10, 30), clockAt(8, 0, 30)},
			Removals: []time.Time{clockAt(8, 0, 30)},
		}},
		Attempts: map[run.ID][]run.Attempt{}, History: map[run.ID][]run.Event{}, NotRevoked: map[run.ID]bool{},
		Outages: []Outage{{clockAt(3, 0, 5), clockAt(3, 10, 5)}},
		Until:   clockAt(10, 0, 0), Lease: 5 * time.Second, Lead: 2 * time.Second, Prompt: 15 * time.Minute,
	}}
	for due := clockAt(0, 0, 0); due.Before(clockAt(8, 0, 0)); due = due.Add(time.Minute) {
		late := due.After(clockAt(3, 0, 0)) && due.Before(clockAt(3, 10, 0))
		paused := due.After(clockAt(5, 0, 0)) && due.Before(clockAt(5, 11, 0))
		if !late && !paused {
			s.add(due)
		}
	}
	s.Gaps = []run.Gap{
		{Schedule: theSchedule, Revision: 1, Reason: run.Superseded, First: clockAt(3, 1, 0), Last: clockAt(3, 9, 0), Count: 9, CreatedAt: clockAt(3, 10, 10)},
		{Schedule: theSchedule, Revision: 1, Reason: run.Paused, First: clockAt(5, 1, 0), Last: clockAt(5, 10, 0), Count: 10, CreatedAt: clockAt(5, 0, 30)},
		{Schedule: theSchedule, Revision: 1, Reason: run.Removed, First: clockAt(8, 0, 0), Last: clockAt(8, 0, 0), Count: 1, CreatedAt: clockAt(8, 0, 31)},
	}
	return s
}

// add makes a run that succeeded, with its start.
func (s *sound) add(due time.Time) {
	s.fence++
	r := run.Run{Schedule: theSchedule, Revision: 1, Kind: run.Scheduled, Status: run.Succeeded, Due: due, Overlap: schedule.OverlapSkip,
		LockKey: "lock", MaxAttempts: 2, Attempt: 1, MaxDeliveries: 5, Deliveries: 1, Fence: s.fence, FinishedAt: due.Add(10 * time.Second)}
	binary.BigEndian.PutUint64(r.ID[8:], s.fence)
	s.Runs = append(s.Runs, r)
	s.Starts = append(s.Starts, Start{Run: r.ID, Key: r.Key(), Fence: s.fence, Clock: due, At: due, End: r.FinishedAt, Said: SaidOK})
}

// nth returns the position of the run that is due then, which is also that of its start.
func (s *sound) nth(due time.Time) int {
	for i, r := range s.Runs {
		if r.Due.Equal(due) {
			return i
		}
	}
	return -1
}

func (s *sound) dropRun(due time.Time) {
	i := s.nth(due)
	s.Runs = append(s.Runs[:i:i], s.Runs[i+1:]...)
	s.Starts = append(s.Starts[:i:i], s.Starts[i+1:]...)
}

// A checker that cannot fail shows nothing: each of these lies is found, and named.
func TestTheCheckerFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	if found := Check(newSound().Evidence); len(found) > 0 {
		t.Fatalf("sound evidence contradicts itself: %v", found)
	}
	one := clockAt(1, 0, 0)
	for _, c := range []struct {
		name  string
		spoil func(s *sound)
		want  string
	}{
		{"a run is missing", func(s *sound) { s.dropRun(one) }, "neither a run nor in a gap"},
		{"a run is there twice", func(s *sound) { s.add(one) }, "has 2 runs"},
		{"a run was owed by nobody", func(s *sound) { s.add(one.Add(time.Second)) }, "owed by nobody"},
		{"a run of another revision", func(s *sound) { s.Runs[s.nth(one)].Revision = 2 }, "is of revision 2"},
		{"a run is in a gap as well", func(s *sound) { s.add(clockAt(3, 5, 0)) }, "has 1 runs and is in 1 gaps"},
		{"a run in a pause", func(s *sound) { s.add(clockAt(5, 5, 0)) }, "has 1 runs and is in 1 gaps"},
		{"a run after the removal", func(s *sound) { s.add(clockAt(8, 1, 0)) }, "owed by nobody"},
		{"a gap counts one less", func(s *sound) { s.Gaps[0].Count-- }, "says 26T03:01:00 to 26T03:09:00, 8"},
		{"a gap begins late", func(s *sound) { s.Gaps[0].First = clockAt(3, 2, 0) }, "the count is"},
		{"a gap is missing", func(s *sound) { s.Gaps = s.Gaps[1:] }, "neither a run nor in a gap"},
		{"two gaps overlap", func(s *sound) { s.Gaps = append(s.Gaps, s.Gaps[0]) }, "is in 2 gaps"},
		{"a gap of another policy", func(s *sound) { s.Gaps[0].Reason = run.Missed }, "does not allow"},
		{"a gap without a removal", func(s *sound) { s.Schedules[0].Removals = nil }, "does not allow"},
		{"a gap of what was not late", func(s *sound) { s.Gaps[0].CreatedAt = clockAt(3, 9, 40) }, "although it was only 40s old"},
		{"a start before its instant", func(s *sound) { s.Starts[s.nth(one)].Clock = one.Add(-time.Microsecond) }, "was started at"},
		{"a start that came too late to be prompt", func(s *sound) {
			i := s.nth(one)
			s.Starts[i].Clock, s.Starts[i].At = one.Add(20*time.Minute), one.Add(20*time.Minute)
		}, "did nothing until 26T01:20:00"},
		{"a start that was not delivered", func(s *sound) {
			again := s.Starts[s.nth(one)]
			again.At, again.Fence = again.At.Add(-time.Second), again.Fence-1
			again.End, again.Said = again.At, SaidKilled
			s.Starts = append(s.Starts, again)
		}, "started 2 times and delivered 1 times"},
		{"a fence that does not increase", func(s *sound) {
			again := s.Starts[s.nth(one)]
			again.At = again.At.Add(time.Second)
			s.Runs[s.nth(one)].Deliveries = 2
			s.Starts = append(s.Starts, again)
		}, "under fence 61 after 61"},
		{"a start that no row knows", func(s *sound) { s.Starts[0].Run = run.ID{9} }, "the ledger knows no such run"},
		{"a start under another key", func(s *sound) { s.Starts[0].Key = "key" }, "was given the key"},
		{"a success that was none", func(s *sound) { s.Starts[s.nth(one)].Said = SaidError }, "its last execution does not say so"},
		{"a success without a start", func(s *sound) { s.Starts = s.Starts[1:] }, "its last execution does not say so"},
		{"a failure with attempts left", func(s *sound) {
			s.Runs[0].Status, s.Starts[0].Said = run.Failed, SaidError
		}, "failed with attempts left"},
		{"two successes", func(s *sound) {
			again := s.Starts[s.nth(one)]
			again.At, again.Fence = again.At.Add(-time.Second), again.Fence-1
			s.Runs[s.nth(one)].Deliveries, s.Runs[s.nth(one)].Attempt = 2, 2
			s.Starts = append(s.Starts, again)
			for _, start := range []Start{again, s.Starts[s.nth(one)]} {
				s.Attempts[again.Run] = append(s.Attempts[again.Run], run.Attempt{Run: again.Run, Fence: start.Fence, Outcome: run.Succeeded})
			}
		}, "2 of its outcomes are successes"},
		{"an outcome that no execution had", func(s *sound) {
			id := s.Runs[s.nth(one)].ID
			s.Attempts[id] = append(s.Attempts[id], run.Attempt{Run: id, Fence: 3, Outcome: run.Failed})
		}, "no execution says so"},
		{"a run that did not end", func(s *sound) { s.Runs[0].Status = run.Pending }, "did not end"},
		{"a run that was skipped while nothing else lived", func(s *sound) {
			i := s.nth(one)
			s.Runs[i].Status, s.Runs[i].FinishedAt = run.SkippedOverlap, one
			s.Starts = append(s.Starts[:i:i], s.Starts[i+1:]...)
		}, "was skipped without a reason"},
		{"a run that was cancelled", func(s *sound) {
			s.Runs[0].Status, s.Schedules[0].Removals = run.Cancelled, nil
		}, "was cancelled by nobody"},
		{"a dead letter with deliveries left", func(s *sound) { s.Runs[0].Status = run.DeadLetter }, "deliveries left"},
		{"a transition that does not exist", func(s *sound) {
			s.History[s.Runs[0].ID] = []run.Event{{From: run.Succeeded, To: run.Pending}}
		}, "went from succeeded to pending"},
		{"an end that changed", func(s *sound) {
			s.History[s.Runs[0].ID] = []run.Event{{From: run.Running, To: run.Failed}}
		}, "became failed and is succeeded"},
		{"two alive on one lock", func(s *sound) { s.Starts[s.nth(one)].End = one.Add(61 * time.Second) }, "lived until"},
		{"two runs of one outage", func(s *sound) {
			s.add(clockAt(3, 9, 0))
			s.Gaps[0].Last, s.Gaps[0].Count = clockAt(3, 8, 0), 8
		}, "although something newer was due"},
	} {
		s := newSound()
		c.spoil(s)
		found := strings.Join(Check(s.Evidence), "\n")
		if !strings.Contains(found, c.want) {
			t.Errorf("%s: want %q in:\n%s", c.name, c.want, found)
		}
	}
}

// Over a long outage each misfire policy has its meaning, and the checker knows it.
func TestTheCheckerKnowsTheMisfirePolicies(t *testing.T) {
	t.Parallel()
	down, up := clockAt(3, 0, 5), clockAt(4, 0, 30)
	for _, c := range []struct {
		name   string
		policy func(*Revision)
		ran    func(minute int) bool // of the instants 3:01 to 3:59
		bad    bool
	}{
		{"once ran nothing", func(*Revision) {}, func(int) bool { return false }, false}, // 4:00 is on time
		{"once ran an old one", func(*Revision) {}, func(m int) bool { return m == 30 }, true},
		{"skip ran nothing", func(r *Revision) { r.Misfire = schedule.MisfireSkip }, func(int) bool { return false }, false},
		{"skip ran one", func(r *Revision) { r.Misfire = schedule.MisfireSkip }, func(m int) bool { return m == 50 }, true},
		{"all ran all", func(r *Revision) { r.Misfire = schedule.MisfireAll }, func(int) bool { return true }, false},
		{"all lost one", func(r *Revision) { r.Misfire = schedule.MisfireAll }, func(m int) bool { return m != 30 }, true},
		{"all ran the newest", func(r *Revision) { r.Misfire, r.Keep, r.Limit = schedule.MisfireAll, schedule.KeepNewest, 9 },
			func(m int) bool { return m > 50 }, false},
		{"all ran beyond its limit", func(r *Revision) { r.Misfire, r.Keep, r.Limit = schedule.MisfireAll, schedule.KeepNewest, 9 },
			func(m int) bool { return m > 40 }, true},
		{"all ran what is too old", func(r *Revision) { r.Misfire, r.Age = schedule.MisfireAll, 20*time.Minute },
			func(int) bool { return true }, true},
		{"all ran what is not too old", func(r *Revision) { r.Misfire, r.Age = schedule.MisfireAll, 20*time.Minute },
			func(m int) bool { return m > 40 }, false},
	} {
		policy := Revision{Rule: Rule{Cron: []string{"* * * * *"}}, Misfire: schedule.MisfireOnce, Age: 24 * time.Hour}
		c.policy(&policy)
		x := checker{
			Evidence: Evidence{Until: clockAt(5, 0, 0), Lease: 5 * time.Second, Lead: 2 * time.Second},
			runs:     map[schedule.ID][]run.Run{}, counted: map[schedule.ID][]*owed{},
		}
		for m := range 60 {
			if m == 0 || c.ran(m) {
				x.runs[theSchedule] = append(x.runs[theSchedule], run.Run{Schedule: theSchedule, Due: clockAt(3, m, 0)})
			}
		}
		x.runs[theSchedule] = append(x.runs[theSchedule], run.Run{Schedule: theSchedule, Due: clockAt(4, 0, 0)})
		x.outage(&Schedule{ID: theSchedule, Name: "minutely", Revisions: map[uint64]Revision{1: policy},
			Spans: []Span{{Revision: 1, From: midnight}}}, Outage{down, up})
		if bad := len(x.found) > 0; bad != c.bad {
			t.Errorf("%s: %v", c.name, x.found)
		}
	}
}
