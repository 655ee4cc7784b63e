package sim

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/internal/planner"
	"github.com/belfryhq/belfry/schedule"
)

// Gaps are not a dustbin: with default settings, a crontab, and outages of everything that are shorter than half a minute,
// clean or not, each occurrence has its run at the end, and there is no gap at all.
func TestShortOutagesLeaveNoGap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(days[0]))
		w := newWorld(t, *from, settings{planner: planner.Options{Lease: 5 * time.Second}, poll: time.Second})
		random := rand.New(rand.NewPCG(*from, 3<<32))
		o := w.operator(crontab())
		o.declare(o.set...)
		for range rounds {
			lives := []*process{w.startPlanner(0), w.startPlanner(1), w.startWorker(0), w.startWorker(1)}
			time.Sleep(time.Second + time.Duration(random.Int64N(int64(3*time.Minute))))
			killed := random.IntN(2) == 0
			for _, p := range lives {
				if killed {
					p.abandon()
				} else {
					p.stop()
				}
			}
			time.Sleep(time.Duration(random.Int64N(int64(30 * time.Second))))
		}
		w.settle()
		w.lives.Wait()
		e := w.evidence(o)
		for _, g := range e.Gaps {
			t.Errorf("%s has a gap %s from %s to %s, %d", g.ScheduleName, g.Reason, stamp(g.First), stamp(g.Last), g.Count)
		}
		report(t, *from, e)
		w.close()
	})
}

// crontab is a set of schedules as machines have them, under every misfire policy.
func crontab() (set []*declared) {
	for name, line := range map[string]string{
		"minutely": "* * * * *", "every-two": "*/2 * * * *", "every-five": "*/5 * * * *", "quarterly": "7,22,37,52 * * * *",
		"hourly": "17 * * * *", "nightly": "30 2 * * *", "daily": "25 1 * * *", "business": "*/10 9-17 * * 1-5",
	} {
		for _, misfire := range []schedule.Misfire{schedule.MisfireOnce, schedule.MisfireSkip, schedule.MisfireAll} {
			r := Revision{Rule: Rule{Cron: []string{line}, Zone: "Europe/Berlin"}, Misfire: misfire, Keep: schedule.KeepOldest, Limit: 100,
				Age: 24 * time.Hour, Overlap: schedule.OverlapAllow, MaxAttempts: 1}
			set = append(set, &declared{name: name + "-" + string(misfire), Revision: r, job: "short"})
		}
	}
	return set
}
