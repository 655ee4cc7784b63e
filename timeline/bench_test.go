package timeline_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/timeline/memory"
)

// What the loop may cost: a tick costs what is due, a warm diff a comparison a row, an entry a hundred bytes.

type benchSource struct {
	rows    []timeline.Row
	changed []timeline.Row
}

func (s *benchSource) list(rows []timeline.Row) iter.Seq2[timeline.Row, error] {
	return func(yield func(timeline.Row, error) bool) {
		for i := range rows {
			if !yield(rows[i], nil) {
				return
			}
		}
	}
}

func (s *benchSource) Snapshot(context.Context) iter.Seq2[timeline.Row, error] { return s.list(s.rows) }

func (s *benchSource) Since(context.Context, time.Time) iter.Seq2[timeline.Row, error] {
	return s.list(s.changed)
}

func (s *benchSource) Make(_ context.Context, r timeline.Row) (timeline.Entry, error) {
	return timeline.Entry{Trigger: r.Data.(*grid)}, nil
}

// benchRows has n rows with IDs as long as a tenant and a name; step says how often each is due.
func benchRows(n int, step func(i int) *grid) []timeline.Row {
	rows := make([]timeline.Row, n)
	for i := range rows {
		rows[i] = timeline.Row{ID: fmt.Sprintf("acme/schedule-%07d", i), Version: "17", Data: step(i)}
	}
	return rows
}

type bench struct {
	*timeline.Loop
	clock *clock
	src   *benchSource
}

func newBench(b *testing.B, rows []timeline.Row) bench {
	b.Helper()
	c := newClock(noon.Add(time.Microsecond))
	src := &benchSource{rows: rows}
	l, err := timeline.New(src, &memory.Claims{}, timeline.Options{
		Clock: c, Elapsed: c.Elapsed, Recover: -1, Lease: time.Hour, Sync: time.Microsecond, Snapshot: 1000 * time.Hour,
	})
	if err != nil {
		b.Fatal(err)
	}
	x := bench{l, c, src}
	x.tick(b)
	x.commit(b)
	return x
}

func (x bench) tick(b *testing.B) timeline.Window {
	b.Helper()
	w, ok, err := x.Tick(b.Context())
	if err != nil || !ok {
		b.Fatal(ok, err)
	}
	return w
}

func (x bench) commit(b *testing.B) {
	b.Helper()
	if ok, err := x.Commit(b.Context()); err != nil || !ok {
		b.Fatal(ok, err)
	}
}

// some makes the first due of n rows due each minute, spread over 30 of its seconds, and the others once in a thousand
// hours.
func some(due int) func(int) *grid {
	quick := make([]*grid, 30)
	for i := range quick {
		quick[i] = &grid{step: time.Minute, phase: time.Duration(i) * time.Second}
	}
	slow := make([]*grid, 1000)
	for i := range slow {
		slow[i] = &grid{step: 1000 * time.Hour, phase: 500*time.Hour + time.Duration(i)*time.Minute}
	}
	return func(i int) *grid {
		if i < due {
			return quick[i%len(quick)]
		}
		return slow[i%len(slow)]
	}
}

func benchTick(b *testing.B, n, due int) {
	x := newBench(b, benchRows(n, some(due)))
	x.clock.pass(time.Minute)
	b.ReportAllocs()
	for b.Loop() {
		if w := x.tick(b); len(w.Stretches) != due {
			b.Fatal(len(w.Stretches))
		}
	}
}

func BenchmarkTick10kDue3856(b *testing.B) { benchTick(b, 10_000, 3856) }
func BenchmarkTick10kDue0(b *testing.B)    { benchTick(b, 10_000, 0) }
func BenchmarkTick1MDue0(b *testing.B)     { benchTick(b, 1_000_000, 0) }
func BenchmarkTick1MDue1000(b *testing.B)  { benchTick(b, 1_000_000, 1000) }

func BenchmarkTickAndCommit10kDue3856(b *testing.B) {
	x := newBench(b, benchRows(10_000, some(3856)))
	b.ReportAllocs()
	for b.Loop() {
		x.clock.pass(time.Minute)
		x.tick(b)
		x.commit(b)
	}
}

func BenchmarkOccurrences3856(b *testing.B) {
	x := newBench(b, benchRows(10_000, some(3856)))
	x.clock.pass(time.Minute)
	w := x.tick(b)
	for b.Loop() {
		if n := len(w.Occurrences()); n != 3856 {
			b.Fatal(n)
		}
	}
}

func BenchmarkWarmDiff10k(b *testing.B) {
	x := newBench(b, benchRows(10_000, some(0)))
	b.ReportAllocs()
	for b.Loop() {
		if err := x.ReconcileFull(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkColdLoad10k(b *testing.B) {
	rows := benchRows(10_000, some(3856))
	for b.Loop() {
		newBench(b, rows)
	}
}

func BenchmarkAddAt1M(b *testing.B) {
	step := some(0)
	x := newBench(b, benchRows(1_000_000, step))
	x.src.changed = make([]timeline.Row, 1)
	n := 0
	for b.Loop() {
		n++
		x.src.changed[0] = timeline.Row{ID: fmt.Sprintf("acme/more-%08d", n), Version: "17", Data: step(n)}
		x.clock.pass(time.Microsecond)
		if err := x.Reconcile(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	if x.Count() != 1_000_000+n {
		b.Fatal(x.Count())
	}
}

// BenchmarkBytes1M reports what an entry costs with its ID and version; its trigger, as here, is shared by many.
func BenchmarkBytes1M(b *testing.B) {
	step := some(0)
	for b.Loop() {
		before := heap()
		x := newBench(b, benchRows(1_000_000, step))
		x.src.rows = nil
		b.ReportMetric(float64(heap()-before)/1e6, "B/schedule")
		runtime.KeepAlive(x)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
