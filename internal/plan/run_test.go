package plan

import (
	"testing"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

// A run carries the policies of the revision that owed it: its lock key only where overlap is restricted, by default
// the schedule's own. R-OVL-4, PROTOCOL C10.
func TestRunsCarryTheirRevisionsPolicies(t *testing.T) {
	t.Parallel()
	decide := func(spec string) run.Run {
		row := schedule.Row{ID: schedule.ID{9}, Spans: []schedule.Span{scriptSpan(t, "00:00:00", "-", spec, 1)}}
		d := Decide(Input{Definition: Build(row), From: at(t, "09:00:00"), To: at(t, "09:00:01"), Now: at(t, "09:00:00"), Lease: 5 * time.Second, NewID: counter()})
		if len(d.Runs) != 1 {
			t.Fatalf("%d runs", len(d.Runs))
		}
		return d.Runs[0]
	}
	own := "schedule:" + schedule.ID{9}.String()
	if r := decide(`{"trigger":{"cron":["0 9 * * *"]}}`); r.LockKey != "" || r.Overlap != schedule.OverlapAllow {
		t.Errorf("allow has the lock key %q", r.LockKey)
	}
	if r := decide(`{"trigger":{"cron":["0 9 * * *"]},"overlap":"skip"}`); r.LockKey != own || r.Overlap != schedule.OverlapSkip {
		t.Errorf("skip has the lock key %q", r.LockKey)
	}
	r := decide(`{"trigger":{"cron":["0 9 * * *"]},"overlap":"skip","lock_key":"db","max_attempts":3,"backoff":"60s","max_deliveries":2,"on_lost":"fail","pool":"slow"}`)
	if r.LockKey != "db" || r.MaxAttempts != 3 || r.Backoff != time.Minute || r.MaxDeliveries != 2 || r.OnLost != schedule.OnLostFail || r.Pool != "slow" {
		t.Errorf("%+v", r)
	}
	if r.Kind != run.Scheduled || r.Status != run.Pending || !r.Due.Equal(at(t, "09:00:00")) || !r.ReadyAt.Equal(r.Due) {
		t.Errorf("%+v", r)
	}
}

// Jitter delays when a run may be taken, never past the next occurrence, and its key stays. R-DEL-10, PROTOCOL C2.
func TestJitterDelaysReadinessOnly(t *testing.T) {
	t.Parallel()
	row := schedule.Row{ID: schedule.ID{9}, Spans: []schedule.Span{scriptSpan(t, "00:00:00", "-", `{"trigger":{"cron":["* * * * *"]},"jitter":"15m"}`, 1)}}
	in := Input{Definition: Build(row), From: at(t, "09:00:00"), To: at(t, "09:30:00"), Now: at(t, "09:00:00"), Lease: 5 * time.Second, NewID: counter()}
	first, moved := Decide(in).Runs, false
	in.NewID = counter()
	for i, r := range Decide(in).Runs {
		if !r.ReadyAt.Equal(first[i].ReadyAt) {
			t.Errorf("jitter of %v was drawn twice", r.Due)
		}
		if r.ReadyAt.Before(r.Due) || r.ReadyAt.After(r.Due.Add(time.Minute)) {
			t.Errorf("due %v, ready %v", r.Due, r.ReadyAt)
		}
		moved = moved || !r.ReadyAt.Equal(r.Due)
	}
	if len(first) != 30 || !moved {
		t.Errorf("%d runs, moved %v", len(first), moved)
	}
}

// What jitter still holds back is not late: lateness counts from when an occurrence becomes available, by the built-in
// grace of a minute as by one that the schedule gives. PROTOCOL A5, C2.
func TestLatenessCountsFromAvailability(t *testing.T) {
	t.Parallel()
	for grace, spec := range map[time.Duration]string{
		time.Minute:     `{"trigger":{"cron":["0 * * * *"]},"misfire":"skip","jitter":"15m"}`,
		2 * time.Minute: `{"trigger":{"cron":["0 * * * *"]},"misfire":"skip","jitter":"15m","misfire_grace":"2m"}`,
	} {
		late, onTime := 0, 0
		for n := range byte(100) {
			row := schedule.Row{ID: schedule.ID{n}, Spans: []schedule.Span{scriptSpan(t, "00:00:00", "-", spec, 1)}}
			d := Build(row)
			ready := d.spans[0].compiled.ReadyAt(row.ID, at(t, "09:00:00"))
			now := at(t, "09:07:00")
			out := Decide(Input{Definition: d, From: at(t, "08:30:00"), To: now, Now: now, Lease: 5 * time.Second, NewID: counter()})
			if now.Sub(ready) > grace {
				late++
				if len(out.Runs) != 0 || len(out.Gaps) != 1 {
					t.Errorf("available since %v: %d runs, %d gaps", now.Sub(ready), len(out.Runs), len(out.Gaps))
				}
				continue
			}
			onTime++
			if len(out.Runs) != 1 || len(out.Gaps) != 0 {
				t.Errorf("available in %v: %d runs, %d gaps", ready.Sub(now), len(out.Runs), len(out.Gaps))
			}
		}
		if late < 10 || onTime < 10 {
			t.Errorf("%d late and %d on time: the test shows little", late, onTime)
		}
	}
}
