package sim

import (
	"context"
	"iter"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/internal/plan"
	"github.com/belfryhq/belfry/internal/planner"
	"github.com/belfryhq/belfry/internal/worker"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/store/sqlite"
	"github.com/belfryhq/belfry/store/storetest"
	"github.com/belfryhq/belfry/target"
)

// settings are those of the engine's processes in one simulation.
type settings struct {
	planner planner.Options
	worker  worker.Options
	poll    time.Duration // of the stores
	faults  int           // one store call in so many goes wrong; 0: none does
}

// world is one machine in virtual time: a clock that can be stepped, one SQLite file, two handles on it as two
// processes would have them, and the planners and workers that come and go.
type world struct {
	*testing.T
	settings
	seed    uint64
	begin   time.Time
	step    atomic.Int64 // by how much the machine's clock is ahead of the true time
	clk     clock.Clock
	handles [2]*sqlite.Store
	calm    atomic.Bool // nothing goes wrong while it is set
	rec     recorder
	lives   sync.WaitGroup
	born    atomic.Uint64
}

func newWorld(t *testing.T, seed uint64, s settings) *world {
	t.Helper()
	w := &world{T: t, seed: seed, settings: s, begin: time.Now().UTC()}
	w.clk = clock.Skewed{Clock: clock.Bubble{}, Offset: func() time.Duration { return time.Duration(w.step.Load()) }}
	path := filepath.Join(directory(t), "belfry.db")
	for i := range w.handles {
		h, err := sqlite.Open(t.Context(), path, sqlite.Options{Clock: w.clk, Count: plan.Count, Poll: s.poll})
		w.must(err)
		w.handles[i] = h
	}
	w.rec.w = w
	return w
}

// directory is where the file lies: in memory if the machine has a place for that, since a day syncs some fifty thousand
// times, and what a sync is worth is the crash test's to show.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "belfry-sim-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func (w *world) close() {
	w.Helper()
	for _, h := range w.handles {
		w.must(h.Close())
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// since is the true time since the simulation began.
func (w *world) since() time.Duration { return time.Since(w.begin) }

// sleepUntil waits until so long after the beginning.
func (w *world) sleepUntil(at time.Duration) { time.Sleep(at - w.since()) }

// process is one life of a planner or a worker.
type process struct {
	dead   chan struct{} // closed when it is killed: from then on it can do nothing
	cancel context.CancelFunc
	kill   func()
}

// stop ends it as a signal would, and does not wait for that.
func (p *process) stop() { p.cancel() }

// abandon ends it as SIGKILL would: no call of its store does anything any more, its code stops where it is, and nothing
// is given back. What is left of its goroutines runs into errors and ends.
func (p *process) abandon() {
	close(p.dead)
	p.kill()
	p.cancel()
}

func (p *process) killed() bool {
	select {
	case <-p.dead:
		return true
	default:
		return false
	}
}

func (w *world) startPlanner(handle int, stalls ...stretch) *process {
	w.Helper()
	p, s := w.process(handle, stalls)
	o := w.planner
	o.Clock, o.ZoneRelease = w.clk, "test"
	x, err := planner.New(s, o)
	w.must(err)
	p.kill = func() {}
	w.live(p, x.Run)
	return p
}

func (w *world) startWorker(handle int, stalls ...stretch) *process {
	w.Helper()
	p, s := w.process(handle, stalls)
	o := w.worker
	o.Clock = w.clk
	o.Logger = slog.New(slog.DiscardHandler)
	var jobs target.Jobs
	for name, job := range w.rec.jobs(p) {
		w.must(jobs.Register(name, job))
	}
	var registry target.Registry
	w.must(registry.Register(target.KindJob, &jobs))
	x, err := worker.New(s, &registry, o)
	w.must(err)
	p.kill = x.Kill
	w.live(p, x.Run)
	return p
}

func (w *world) live(p *process, work func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	w.lives.Go(func() {
		defer cancel()
		if err := work(ctx); err != nil {
			w.Error(err)
		}
	})
}

// process makes a process's own view of a store: it goes wrong now and then, by the seed, answers nothing while it is
// stalled, and does nothing once the process is dead.
func (w *world) process(handle int, stalls []stretch) (*process, store.Store) {
	p := &process{dead: make(chan struct{})}
	random := rand.New(rand.NewPCG(w.seed, w.born.Add(1)))
	faults := []storetest.Fault{storetest.Fail, storetest.Fail, storetest.LostReply, storetest.LostReply, storetest.Busy, storetest.Hang, storetest.Late}
	script := func(string, int) storetest.Fault {
		switch {
		case p.killed():
			return storetest.Fail
		case slices.ContainsFunc(stalls, func(s stretch) bool { return w.since() >= s.from && w.since() < s.to }):
			return []storetest.Fault{storetest.Hang, storetest.Late}[random.IntN(2)]
		case w.calm.Load() || w.faults == 0 || random.IntN(w.faults) > 0:
			return storetest.NoFault
		}
		return faults[random.IntN(len(faults))]
	}
	return p, &view{Faulty: storetest.NewFaulty(w.handles[handle], script)}
}

// view bounds the reads that a planner leaves to the store to bound, so that a call that hangs does so as long as one
// of the SQL stores would.
type view struct{ *storetest.Faulty }

const readBound = 30 * time.Second

// Snapshot returns after the bound at the latest.
func (v *view) Snapshot(ctx context.Context, shard int) iter.Seq2[schedule.Row, error] {
	return boundedRows(ctx, func(ctx context.Context) iter.Seq2[schedule.Row, error] { return v.Faulty.Snapshot(ctx, shard) })
}

// Dirty returns after the bound at the latest.
func (v *view) Dirty(ctx context.Context, shard int) iter.Seq2[schedule.Row, error] {
	return boundedRows(ctx, func(ctx context.Context) iter.Seq2[schedule.Row, error] { return v.Faulty.Dirty(ctx, shard) })
}

func boundedRows(ctx context.Context, rows func(context.Context) iter.Seq2[schedule.Row, error]) iter.Seq2[schedule.Row, error] {
	return func(yield func(schedule.Row, error) bool) {
		ctx, cancel := context.WithTimeout(ctx, readBound)
		defer cancel()
		for row, err := range rows(ctx) {
			if !yield(row, err) {
				return
			}
		}
	}
}

// Settled returns after the bound at the latest.
func (v *view) Settled(ctx context.Context, id schedule.ID, from, to time.Time) (store.Settled, error) {
	ctx, cancel := context.WithTimeout(ctx, readBound)
	defer cancel()
	return v.Faulty.Settled(ctx, id, from, to)
}

// Arrears returns after the bound at the latest.
func (v *view) Arrears(ctx context.Context, shard int) ([]store.Arrears, error) {
	ctx, cancel := context.WithTimeout(ctx, readBound)
	defer cancel()
	return v.Faulty.Arrears(ctx, shard)
}
