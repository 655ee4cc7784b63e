package crash

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"
)

var (
	duration = flag.Duration("crash.duration", 25*time.Second, "how long the crash test kills")
	seed     = flag.Uint64("crash.seed", 0, "seed of the kills; 0: by the clock")
)

// points are all the places between two steps at which the process kills itself once.
var points = []string{
	"commit.claim", "commit.runs", "commit.before", "commit.after", "take.before", "take.after",
	"start.before", "start.after", "settle.before", "settle.after",
}

// A process that is killed at any moment loses nothing, doubles nothing without saying so, and leaves a sound database
// (P1, P2, P5, P7). Half of the kills fall within 50 ms of a due instant, and one at each named point. Only what was
// later than two leases when planning went on may be in a gap: gaps are not a dustbin. A restart
// while runs are held selects the same occurrences under the same keys; what a dead worker had in hand is delivered
// again, so a command may run twice and says so by its deliveries. R-DEL-12, R-KEY-13, R-KEY-14, R-TX-7, R-TX-8, R-LSE-3.
func TestCrashLosesNothing(t *testing.T) {
	r := newRig(t, 20)
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0))
	s := r.serve()
	from := time.Now().Add(time.Second).Truncate(time.Second).Add(time.Second)
	end := time.Now().Add(*duration)
	kills := 0
	for i := 0; time.Now().Before(end); i++ {
		life := time.Duration(500+random.IntN(4000)) * time.Millisecond
		at := time.Now().Add(life)
		if i%2 == 0 { // around a due instant
			at = at.Truncate(time.Second).Add(time.Second + time.Duration(random.IntN(101)-50)*time.Millisecond)
		}
		time.Sleep(time.Until(at)) // the kill is meant to fall at that very moment
		s.kill()
		kills++
		r.intact()
		s = r.serve()
	}
	for _, point := range points {
		s.kill()
		s = r.serve(fmt.Sprintf("BELFRY_FAULT_CRASH=%s:%d", point, 1+random.IntN(3)))
		select {
		case <-s.exited:
		case <-time.After(20 * time.Second):
			t.Fatalf("the point %s was not passed within 20 s", point)
		}
		kills++
		r.intact()
		s = r.serve()
	}
	to := time.Now().Truncate(time.Second)
	r.quiesce(to)
	s.stop()
	e := r.evidence(from, to)
	verdict(t, r, e)
	again := 0
	for _, v := range e.Runs {
		if v.Deliveries > 1 {
			again++
		}
	}
	t.Logf("%d kills, %d runs, %d starts, %d runs redelivered, %d gaps", kills, len(e.Runs), len(e.Starts), again, len(e.Gaps))
}

func verdict(t *testing.T, r *rig, e Evidence) {
	t.Helper()
	if len(e.Runs) == 0 || len(e.Starts) == 0 {
		t.Fatalf("nothing ran:\n%s", r.log())
	}
	if bad := Check(e); len(bad) > 0 {
		if keep := os.Getenv("BELFRY_CRASH_KEEP"); keep != "" {
			t.Logf("copying %s to %s: %v", r.dir, keep, os.CopyFS(keep, os.DirFS(r.dir)))
		}
		t.Errorf("%d violations:\n%s", len(bad), strings.Join(bad[:min(20, len(bad))], "\n"))
	}
}

// The checker is shown to see faults in a real run: a build that drops one commit in 500, and one that doubles one.
func TestTheCheckerFailsOnBrokenBuilds(t *testing.T) {
	for fault, want := range map[string]string{"commit.drop": "lost", "commit.double": "for one occurrence"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 20)
			s := r.serve("BELFRY_FAULT_EVERY=" + fault + ":500")
			from := time.Now().Add(time.Second).Truncate(time.Second).Add(time.Second)
			to := from.Add(30 * time.Second) // 600 runs
			time.Sleep(time.Until(to))
			r.quiesce(to)
			s.stop()
			bad := strings.Join(Check(r.evidence(from, to)), "\n")
			if !strings.Contains(bad, want) {
				t.Errorf("the checker did not notice %s:\n%s", fault, bad)
			}
		})
	}
}
