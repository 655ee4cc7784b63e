package crash

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// hogWatch looks at all processes again and again, and remembers those that belong to runs of certain schedules: what a
// command starts inherits its environment, and a guard says in its arguments whose it is.
type hogWatch struct {
	prefix string
	end    chan struct{}
	ended  sync.WaitGroup

	mu     sync.Mutex // guards the rest until stop returns
	lives  map[string]*hogLife
	server []memory
	rounds int
	now    []int // process ids that the last round has found
}

// hogLife is one run's processes.
type hogLife struct {
	name                    string
	first, last             time.Time
	peak                    int // processes at once, the guard not counted
	guardPeak, guardPrivate int // KiB
}

type memory struct {
	at  time.Time
	rss int // KiB
}

func watchHogs(server int, prefix string) *hogWatch {
	w := &hogWatch{prefix: prefix, end: make(chan struct{}), lives: map[string]*hogLife{}}
	w.ended.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			w.look(server)
			select {
			case <-w.end:
				return
			case <-tick.C:
			}
		}
	})
	return w
}

func (w *hogWatch) stop() {
	close(w.end)
	w.ended.Wait()
}

func (w *hogWatch) look(server int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	counts := map[string]int{}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = nil
	for _, dir := range dirs {
		id, name, guard := w.identify(dir)
		if id == "" {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			w.now = append(w.now, pid)
		}
		l := w.lives[id]
		if l == nil {
			l = &hogLife{name: name, first: time.Now()}
			w.lives[id] = l
		}
		l.last = time.Now()
		if guard {
			l.guardPeak = max(l.guardPeak, status(dir, "VmHWM"))
			l.guardPrivate = max(l.guardPrivate, status(dir, "RssAnon"))
			continue
		}
		counts[id]++
		l.peak = max(l.peak, counts[id])
	}
	if rss := status("/proc/"+strconv.Itoa(server), "VmRSS"); rss > 0 {
		w.server = append(w.server, memory{time.Now(), rss})
	}
	w.rounds++
}

// identify tells which run a process belongs to, and whether it is the run's guard. What is gone meanwhile, or another
// user's, is nobody's.
func (w *hogWatch) identify(dir string) (id, name string, guard bool) {
	environ, err := os.ReadFile(dir + "/environ")
	if err != nil {
		return "", "", false
	}
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if rest, ok := strings.CutPrefix(string(v), "BELFRY_RUN_ID="); ok {
			id = rest
		}
		if rest, ok := strings.CutPrefix(string(v), "BELFRY_SCHEDULE="+w.prefix); ok {
			name = rest
		}
	}
	if name != "" {
		return id, name, false
	}
	args, err := os.ReadFile(dir + "/cmdline")
	if err != nil {
		return "", "", false
	}
	list := strings.Split(string(args), "\x00")
	if len(list) < 3 || !strings.HasPrefix(list[2], w.prefix) {
		return "", "", false
	}
	return list[1], strings.TrimPrefix(list[2], w.prefix), true
}

// status reads a size in KiB from a process's status; 0 if it is gone.
func status(dir, field string) int {
	text, err := os.ReadFile(dir + "/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\n"+field+":")
	line, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(line, "kB"))) // 0 as well
	return n
}

// killLeft ends what should have been gone, so that a test that failed leaves nothing running.
func (w *hogWatch) killLeft() {
	for _, pid := range w.now {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone by now
	}
}

// awaitNone waits until a round that began after the call has found nothing, and returns how long that took.
func (w *hogWatch) awaitNone(t *testing.T, limit time.Duration) time.Duration {
	t.Helper()
	begin := time.Now()
	w.mu.Lock()
	first := w.rounds
	w.mu.Unlock()
	for {
		w.mu.Lock()
		rounds, now := w.rounds, len(w.now)
		w.mu.Unlock()
		if rounds > first+1 && now == 0 {
			return time.Since(begin)
		}
		if time.Since(begin) > limit {
			t.Errorf("%d processes live %v after the server was killed", now, limit)
			return time.Since(begin)
		}
		time.Sleep(10 * time.Millisecond) // processes can only be looked at
	}
}
