package crash

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

var rounds = flag.Int("crash.rounds", 2, "how often each way of losing the planner is tried")

// lease is the planner's lease under default settings.
const lease = 5 * time.Second

// claim reads who plans.
func claim(t *testing.T, s store.Store) timeline.Claim {
	t.Helper()
	c, _, err := s.Planner(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// part tells which of two processes plans: a planner's token begins with its process id.
func part(t *testing.T, s store.Store, servers []*server) (leader, follower int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		c := claim(t, s)
		for i, srv := range servers {
			if pid, _, _ := strings.Cut(c.Token, "-"); pid == strconv.Itoa(srv.cmd.Process.Pid) && c.ExpiresAt.After(time.Now()) {
				return i, 1 - i
			}
		}
		time.Sleep(20 * time.Millisecond) // another process's work can only be looked at
	}
	t.Fatal("nobody plans")
	return 0, 0
}

// takeover waits for the first commit under a later epoch and returns how long it took since an instant.
func takeover(t *testing.T, s store.Store, since time.Time, was timeline.Claim) time.Duration {
	t.Helper()
	for time.Since(since) < 30*time.Second {
		if c := claim(t, s); c.Epoch > was.Epoch && c.CoveredUntil.After(was.CoveredUntil) {
			return time.Since(since)
		}
		time.Sleep(5 * time.Millisecond) // as above
	}
	t.Fatal("nobody took over within 30 s")
	return 0
}

// Two processes on one file: the one that plans is killed, stopped cleanly, or frozen, and the other goes on, within
// the lease and a second, or at once. Nothing is lost, doubled, or written under an old epoch (P3, P4). R-LEAD-3..10,
// S-010.
func TestTheSecondProcessTakesOver(t *testing.T) {
	r := newRig(t, 6)
	servers := []*server{r.serve(), r.serve()}
	s := r.open()
	from := time.Now().Add(time.Second).Truncate(time.Second).Add(time.Second)
	var killed, stopped []time.Duration
	for range *rounds {
		leader, _ := part(t, s, servers)
		was, at := claim(t, s), time.Now()
		servers[leader].kill()
		killed = append(killed, takeover(t, s, at, was))
		servers[leader] = r.serve()

		leader, _ = part(t, s, servers)
		was, at = claim(t, s), time.Now()
		servers[leader].signal(syscall.SIGTERM)
		stopped = append(stopped, takeover(t, s, at, was))
		<-servers[leader].exited
		servers[leader] = r.serve()
	}
	freeze(t, r, s, servers)
	to := time.Now().Truncate(time.Second)
	r.quiesce(to)
	for _, srv := range servers {
		srv.stop()
	}
	verdict(t, r, r.evidence(from, to))
	t.Logf("takeover after SIGKILL %v, after SIGTERM %v", killed, stopped)
	for i := range killed {
		if killed[i] > lease+time.Second || stopped[i] > time.Second {
			t.Errorf("round %d: takeover took %v after SIGKILL (bound %v) and %v after SIGTERM (bound 1s)", i, killed[i], lease+time.Second, stopped[i])
		}
	}
}

// freeze stops the planning process for three leases and lets it go on: what it does then under its old epoch must
// change nothing.
func freeze(t *testing.T, r *rig, s store.Store, servers []*server) {
	t.Helper()
	leader, _ := part(t, s, servers)
	was := stopBetweenTransactions(t, s, servers[leader])
	took := takeover(t, s, time.Now(), was)
	until := time.Now()
	time.Sleep(3*lease - took) // the stopped process must not move for three leases
	watermark := claim(t, s).CoveredUntil
	servers[leader].signal(syscall.SIGCONT)
	time.Sleep(3 * time.Second) // long enough for everything it had in hand
	if now := claim(t, s); now.Epoch <= was.Epoch || now.CoveredUntil.Before(watermark) {
		t.Errorf("the woken planner moved the claim: %+v after %+v", now, was)
	}
	late, _, err := s.Runs(context.Background(), store.RunQuery{From: until.Add(-time.Minute), Page: store.Page{Limit: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range late {
		if v.Epoch == was.Epoch && v.CreatedAt.After(until) {
			t.Errorf("run %s was written under epoch %d after epoch %d had begun", v.ID, v.Epoch, was.Epoch+1)
		}
	}
}

// stopBetweenTransactions stops a process at a moment at which it does not hold the database: a process that is stopped
// inside a write transaction blocks every other, which is a stated limit of SQLite (PROTOCOL B1).
func stopBetweenTransactions(t *testing.T, s store.Store, srv *server) timeline.Claim {
	t.Helper()
	for range 50 {
		srv.signal(syscall.SIGSTOP)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		err := s.Beat(ctx, store.Node{ID: run.NodeID{1}, Host: "probe"}, time.Minute)
		cancel()
		if err == nil {
			return claim(t, s)
		}
		srv.signal(syscall.SIGCONT)
		time.Sleep(50 * time.Millisecond) // let it end its transaction
	}
	t.Fatal("the process is always inside a write transaction")
	return timeline.Claim{}
}

// Both of two processes work: of 5,000 runs each settles at least a fifth, and each run once (D30).
func TestTwoProcessesShareTheWork(t *testing.T) {
	r := newRig(t, 0)
	r.tab += ".yaml"
	due := time.Now().Add(6 * time.Second).UTC().Truncate(time.Second)
	var text strings.Builder
	for i := range 5 {
		fmt.Fprintf(&text, "---\napiVersion: belfry/v1\nkind: Schedule\nmetadata: {name: many-%d}\nspec:\n  target: {command: {argv: [\"true\"]}}\n  trigger:\n    at:\n", i)
		for j := range 1000 {
			fmt.Fprintf(&text, "      - %s\n", due.Add(time.Duration(j)*time.Millisecond).Format(time.RFC3339Nano))
		}
	}
	r.write(r.tab, text.String())
	servers := []*server{r.serve(), r.serve()}
	s := r.open()
	deadline := time.Now().Add(4 * time.Minute)
	by := map[run.NodeID]int{}
	for total := 0; total < 5000; {
		if time.Now().After(deadline) {
			t.Fatalf("%d of 5000 runs have succeeded after four minutes:\n%s", total, r.log())
		}
		time.Sleep(500 * time.Millisecond) // real processes
		total, by = settled(t, s)
	}
	for _, srv := range servers {
		srv.stop()
	}
	t.Logf("settled by node: %v", by)
	for id, n := range by {
		if n < 1000 {
			t.Errorf("node %s settled %d of 5000", id, n)
		}
	}
	if len(by) != 2 {
		t.Errorf("%d nodes settled runs, not 2", len(by))
	}
}

func settled(t *testing.T, s store.Store) (total int, by map[run.NodeID]int) {
	t.Helper()
	by = map[run.NodeID]int{}
	q := store.RunQuery{Statuses: []run.Status{run.Succeeded}, Page: store.Page{Limit: 1000}}
	for more := true; more; {
		items, next, err := s.Runs(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range items {
			by[v.Node]++
			total++
		}
		q.After, more = next, next != ""
	}
	return total, by
}
