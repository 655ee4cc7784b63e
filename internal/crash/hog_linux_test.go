package crash

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// hogs are commands that do not end, or not in a way that is easy to see: each is one shell line, and what its run must
// be at the end.
var hogs = map[string]struct {
	line   string
	status run.Status
	least  int // so many processes must have been seen at once, or the test has looked past them
}{
	"hermit": {`setsid sh -c 'trap "" TERM HUP; sleep 3600' & sleep 3600`, run.Failed, 3},
	"deaf":   {`trap '' TERM; sleep 3600; sleep 3600`, run.Failed, 2},
	"flood":  {`head -c 1073741824 /dev/zero; sleep 3600`, run.Failed, 1},
	"mute":   {`exec >&- 2>&-; sleep 3600`, run.Failed, 1},
	"held":   {`sleep 3600 & exec sleep 1`, run.Succeeded, 2},
	"family": {`i=0; while [ $i -lt 200 ]; do sleep 3600 & i=$((i+1)); done; wait`, run.Failed, 201},
}

const (
	hogTimeout = 2 * time.Second
	hogGrace   = time.Second
	hogRound   = 4 * time.Second // a stretch with them, or without
	hogSlack   = time.Second
	hogMemory  = 16 << 10 // KiB
)

// lateFloors are, for each quantile that is compared, a lateness that says nothing of Belfry: while two hundred
// processes are being made, a process that writes a line waits for a processor. One second in four is such a one.
var lateFloors = map[float64]time.Duration{0.5: 50 * time.Millisecond, 0.9: 250 * time.Millisecond}

// Commands that misbehave are gone within timeout, kill_grace and a second, cost at most 16 MiB, leave other schedules
// as punctual as they were, and do not outlive a server that is killed. D35, P9.
func TestMisbehavingCommandsHurtNobody(t *testing.T) {
	rounds := max(2, int(*duration/(12*time.Second)))
	r := newRig(t, 0)
	r.tab += ".yaml"
	// Stretches without them and with them take turns, so that what else goes on in the machine falls on both.
	begin := time.Now().Add(3 * time.Second).Truncate(time.Second)
	to := begin.Add(time.Duration(2*rounds) * hogRound) // then once more, and the server is killed
	var starts []string
	for i := range rounds {
		starts = append(starts, begin.Add(time.Duration(2*i+1)*hogRound).UTC().Format(time.RFC3339))
	}
	r.write(r.tab, hogManifest(r, append(starts, to.UTC().Format(time.RFC3339))))
	s := r.serve()
	w := watchHogs(s.cmd.Process.Pid, hogPrefix())
	time.Sleep(time.Until(to.Add(hogTimeout / 2))) // the last ones are at work
	s.kill()
	left := w.awaitNone(t, 5*time.Second)
	w.stop()
	w.killLeft()
	if left > 2*time.Second {
		t.Errorf("commands lived on for %v after the server was killed", left)
	}
	checkHogLives(t, w, to)
	checkHogMemory(t, w, begin, rounds)
	checkHogRuns(t, r, to)
	checkPunctuality(t, r, begin, to)
	t.Logf("gone %v after SIGKILL", left.Round(time.Millisecond))
}

// hogPrefix makes names of schedules by which this test's processes are known from all others.
func hogPrefix() string { return fmt.Sprintf("hog-%d-", os.Getpid()) }

func hogManifest(r *rig, instants []string) string {
	var b strings.Builder
	item := func(name, trigger, line string) {
		fmt.Fprintf(&b, "---\napiVersion: belfry/v1\nkind: Schedule\nmetadata: {name: %s}\nspec:\n  timeout: %v\n  trigger: %s\n  target:\n    command:\n      kill_grace: %v\n      shell: |\n        %s\n",
			name, hogTimeout, trigger, hogGrace, line)
	}
	for i := range 10 {
		name := fmt.Sprintf("second-%d", i)
		r.names = append(r.names, name)
		item(name, "{every: 1s}", fmt.Sprintf(`echo "$BELFRY_KEY $BELFRY_FENCE $(date +%%s%%N)" >> %s`, r.starts))
	}
	for name, h := range hogs {
		item(hogPrefix()+name, "{at: ["+strings.Join(instants, ", ")+"]}", h.line)
	}
	return b.String()
}

// checkHogLives compares how long processes of each run were seen with what they may take.
func checkHogLives(t *testing.T, w *hogWatch, to time.Time) {
	t.Helper()
	seen := map[string]int{}
	longest := map[string]time.Duration{}
	atTheEnd := 0
	for id, l := range w.lives {
		seen[l.name] = max(seen[l.name], l.peak)
		took := l.last.Sub(l.first)
		if l.first.Before(to) {
			longest[l.name] = max(longest[l.name], took)
		} else {
			atTheEnd++
		}
		if took > hogTimeout+hogGrace+hogSlack {
			t.Errorf("processes of %s (run %s) were seen for %v", l.name, id, took)
		}
	}
	for name, h := range hogs {
		if seen[name] < h.least {
			t.Errorf("at most %d processes of %s were seen at once, want %d", seen[name], name, h.least)
		}
	}
	if atTheEnd != len(hogs) {
		t.Errorf("%d runs were seen in the last second, want %d", atTheEnd, len(hogs))
	}
	t.Logf("seen for %v, at most at once %v", longest, seen)
}

// checkHogMemory compares the server's memory in each stretch of misbehaving commands with the stretch just before it,
// since the database's caches fill as the server gets on, whoever works it; and it looks at what a guard takes.
func checkHogMemory(t *testing.T, w *hogWatch, begin time.Time, rounds int) {
	t.Helper()
	peak := func(stretch int) (rss int) {
		from := begin.Add(time.Duration(stretch) * hogRound)
		for _, m := range w.server {
			if !m.at.Before(from) && m.at.Before(from.Add(hogRound)) {
				rss = max(rss, m.rss)
			}
		}
		return rss
	}
	growth, first, last := 0, peak(0), peak(2*rounds-2)
	for i := range rounds {
		growth = max(growth, peak(2*i+1)-peak(2*i))
	}
	// A guard is this very program again and shares its file's pages with the server; what it adds is its own part.
	guard, private := 0, 0
	for _, l := range w.lives {
		guard, private = max(guard, l.guardPeak), max(private, l.guardPrivate)
	}
	t.Logf("the server's memory grew by %d KiB at most with them, from %d KiB in the first quiet stretch to %d in the last; a guard's was %d KiB at most, %d of them its own",
		growth, first, last, guard, private)
	if first == 0 || last == 0 || private == 0 {
		t.Fatalf("the memory was not seen: %d, %d, %d KiB", first, last, private)
	}
	if growth+private > hogMemory {
		t.Errorf("commands cost more than %d KiB", hogMemory)
	}
	if perRound := (last - first) / max(1, rounds-1); perRound > hogMemory/4 {
		t.Errorf("each round left %d KiB behind", perRound)
	}
}

// checkHogRuns reads what the ledger says of the runs that ended while the server lived.
func checkHogRuns(t *testing.T, r *rig, to time.Time) {
	t.Helper()
	s := r.open()
	for name, h := range hogs {
		runs, _, err := s.Runs(context.Background(), store.RunQuery{Schedule: schedule.DeclaredID(schedule.OriginFile, "", hogPrefix()+name), To: to})
		if err != nil || len(runs) == 0 {
			t.Fatalf("%s has %d runs: %v", name, len(runs), err)
		}
		for _, v := range runs {
			if v.Status != h.status || h.status == run.Failed && v.ErrorCode != "TIMEOUT" {
				t.Errorf("%s, due %v: %s %s (%s)", name, v.Due, v.Status, v.ErrorCode, v.Error)
			}
			if name == "flood" {
				t.Logf("flood: %d MiB of output", v.OutputBytes>>20)
				if v.OutputBytes < 64<<20 || !v.OutputTruncated {
					t.Errorf("flood has written %d bytes, truncated %v", v.OutputBytes, v.OutputTruncated)
				}
			}
		}
	}
}

// checkPunctuality compares how late the other schedules' commands were, by their own word, with and without them.
func checkPunctuality(t *testing.T, r *rig, begin, to time.Time) {
	t.Helper()
	quiet, loud := map[string]time.Duration{}, map[string]time.Duration{}
	for _, v := range r.started() {
		_, text, _ := strings.Cut(v.Key, ":")
		due, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		switch late := v.At.Sub(due); {
		case due.Before(begin), !due.Before(to):
		case due.Sub(begin)/hogRound%2 == 0:
			quiet[v.Key] = late
		default:
			loud[v.Key] = late
		}
	}
	if want := len(r.names) * int(to.Sub(begin)/time.Second) / 2; len(quiet) != want || len(loud) != want {
		t.Errorf("%d starts without and %d with them, want %d each", len(quiet), len(loud), want)
	}
	for q, floor := range lateFloors {
		a, b := quantile(quiet, q), quantile(loud, q)
		t.Logf("lateness, quantile %v: %v without them, %v with them", q, a, b)
		if b > 2*a+floor {
			t.Errorf("quantile %v of the lateness is %v with them, %v without", q, b, a)
		}
	}
}

func quantile(of map[string]time.Duration, q float64) time.Duration {
	list := slices.Sorted(maps.Values(of))
	if len(list) == 0 {
		return 0
	}
	return list[min(int(q*float64(len(list))), len(list)-1)]
}
