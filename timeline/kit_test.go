package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/timeline/memory"
)

// noon is where most tests begin: a whole minute.
var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// A grid is due at every multiple of its step since the Unix epoch, plus its phase: what is due can be told by
// division alone.
type grid struct{ step, phase time.Duration }

func every(step time.Duration) grid { return grid{step: step} }

func (g grid) Next(after time.Time) (time.Time, bool) {
	n := floorDiv(after.UnixNano()-int64(g.phase), int64(g.step)) + 1
	return time.Unix(0, n*int64(g.step)+int64(g.phase)).UTC(), true
}

func (g grid) Between(start, end time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		at, _ := g.Next(start.Add(-1))
		for ; at.Before(end); at = at.Add(g.step) {
			if !yield(at) {
				return
			}
		}
	}
}

// count is how many multiples lie in [start, end).
func (g grid) count(start, end time.Time) int {
	below := func(t time.Time) int64 { return floorDiv(t.UnixNano()-int64(g.phase)-1, int64(g.step)) }
	return int(below(end) - below(start))
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// A clock is set by hand. Elapsed time follows it unless a test moves one of them alone.
type clock struct {
	mu      sync.Mutex
	now     time.Time
	elapsed time.Duration
}

func newClock(at time.Time) *clock { return &clock{now: at} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.elapsed
}

// pass lets time go by.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.elapsed = c.now.Add(d), c.elapsed+d
}

// step sets the wall clock, by d.
func (c *clock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// A source lists rows whose Data is the trigger.
type source struct {
	mu     sync.Mutex // held by change, and while a loop looks at what that may have changed
	rows   []timeline.Row
	broken map[string]error // by ID: what Make says
	failAt int              // a snapshot ends with an error after so many rows; 0: never
	makes  []string         // what Make was called for
	reads  []string         // "snapshot" or "since"
	onRow  func()           // called before each row of a snapshot
	quiet  bool             // a snapshot whose context has ended just stops
}

var errSource = errors.New("the source is broken")

func row(id, version string, trigger any) timeline.Row {
	return timeline.Row{ID: id, Version: version, Data: trigger}
}

func (s *source) Snapshot(ctx context.Context) iter.Seq2[timeline.Row, error] {
	s.reads = append(s.reads, "snapshot")
	return func(yield func(timeline.Row, error) bool) {
		s.mu.Lock()
		rows, failAt := slices.Clone(s.rows), s.failAt
		s.mu.Unlock()
		for i, r := range rows {
			if s.onRow != nil {
				s.onRow()
			}
			if s.quiet && ctx.Err() != nil {
				return
			}
			if failAt > 0 && i == failAt {
				yield(timeline.Row{}, errSource)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (s *source) Make(_ context.Context, r timeline.Row) (timeline.Entry, error) {
	s.makes = append(s.makes, r.ID+" "+r.Version)
	s.mu.Lock()
	err := s.broken[r.ID]
	s.mu.Unlock()
	if err != nil {
		return timeline.Entry{}, err
	}
	t, _ := r.Data.(interface {
		Between(start, end time.Time) iter.Seq[time.Time]
		Next(after time.Time) (time.Time, bool)
	})
	return timeline.Entry{Trigger: t, Payload: r.Version}, nil
}

// change lets f change the source while a loop in another goroutine reads it.
func (s *source) change(f func(*source)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

func (s *source) set(r timeline.Row) {
	for i := range s.rows {
		if s.rows[i].ID == r.ID {
			s.rows[i] = r
			return
		}
	}
	s.rows = append(s.rows, r)
}

func (s *source) delete(id string) {
	s.rows = slices.DeleteFunc(s.rows, func(r timeline.Row) bool { return r.ID == id })
}

// A feed is a source that lists changes, too.
type feed struct {
	source
	changed []timeline.Row
	since   []time.Time
}

func (f *feed) Since(_ context.Context, t time.Time) iter.Seq2[timeline.Row, error] {
	f.reads = append(f.reads, "since")
	f.since = append(f.since, t)
	return func(yield func(timeline.Row, error) bool) {
		for _, r := range slices.Clone(f.changed) {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// A store is the claim in memory with faults: each call takes the first fault of its list, if there is one.
type store struct {
	memory.Claims
	mu            sync.Mutex
	loads, swaps  []fault
	loaded, tried int
}

type fault int

const (
	works       fault = iota
	fails             // an error, nothing written
	loses             // written, but the answer is an error
	hangs             // waits until its context ends; nothing written
	writesLate        // writes a second after its context ended; for bubbles only
	everFailing       // like fails, and stays in the list
)

type ctx = context.Context

var errStore = errors.New("the store is broken")

func (s *store) fault(list *[]fault, calls *int) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	*calls++
	if len(*list) == 0 {
		return works
	}
	f := (*list)[0]
	if f != everFailing {
		*list = (*list)[1:]
	}
	return f
}

func (s *store) plan(loads, swaps []fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads, s.swaps = loads, swaps
}

func (s *store) Load(ctx context.Context) (timeline.Claim, bool, error) {
	switch s.fault(&s.loads, &s.loaded) {
	case works:
		return s.Claims.Load(ctx)
	case hangs:
		<-ctx.Done()
		return timeline.Claim{}, false, ctx.Err()
	}
	return timeline.Claim{}, false, errStore
}

func (s *store) Swap(ctx context.Context, old *timeline.Claim, next timeline.Claim) (bool, error) {
	switch s.fault(&s.swaps, &s.tried) {
	case works:
		return s.Claims.Swap(ctx, old, next)
	case loses:
		if _, err := s.Claims.Swap(ctx, old, next); err != nil {
			return false, err
		}
	case hangs:
		<-ctx.Done()
		return false, ctx.Err()
	case writesLate:
		<-ctx.Done()
		time.Sleep(time.Second) // of the bubble
		return s.Claims.Swap(context.WithoutCancel(ctx), old, next)
	}
	return false, errStore
}

func (s *store) record(t *testing.T) timeline.Claim {
	t.Helper()
	c, found, err := s.Claims.Load(t.Context())
	if err != nil || !found {
		t.Fatalf("the store has %v, %v", found, err)
	}
	return c
}

// A rig is a loop with everything around it in the test's hands.
type rig struct {
	*timeline.Loop
	t      *testing.T
	clock  *clock
	store  *store
	src    *source
	errors []string // "stage id: error"
}

func newRig(t *testing.T, o timeline.Options, rows ...timeline.Row) *rig {
	t.Helper()
	r := &rig{t: t, clock: newClock(noon), store: &store{}, src: &source{rows: rows}}
	r.join(r.src, o)
	return r
}

// beside is another loop on the same store, clock and source content.
func (r *rig) beside(o timeline.Options) *rig {
	r.t.Helper()
	other := &rig{t: r.t, clock: r.clock, store: r.store, src: &source{rows: slices.Clone(r.src.rows)}}
	other.join(other.src, o)
	return other
}

func (r *rig) join(src timeline.Source, o timeline.Options) {
	r.t.Helper()
	o.Clock, o.Elapsed = r.clock, r.clock.Elapsed
	o.OnError = func(stage timeline.Stage, id string, err error) {
		r.errors = append(r.errors, fmt.Sprintf("%s %s: %v", stage, id, err))
	}
	l, err := timeline.New(src, r.store, o)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Loop = l
}

func (r *rig) reconcile() {
	r.t.Helper()
	if err := r.Reconcile(r.t.Context()); err != nil {
		r.t.Fatalf("reconcile: %v", err)
	}
}

// tick expects to lead.
func (r *rig) tick() timeline.Window {
	r.t.Helper()
	w, ok, err := r.Tick(r.t.Context())
	if err != nil || !ok {
		r.t.Fatalf("tick at %v: leads %v, %v", r.clock.Now(), ok, err)
	}
	return w
}

// follows expects not to lead, without an error.
func (r *rig) follows() {
	r.t.Helper()
	if _, ok, err := r.Tick(r.t.Context()); err != nil || ok {
		r.t.Fatalf("tick at %v: leads %v, %v", r.clock.Now(), ok, err)
	}
}

func (r *rig) commit() {
	r.t.Helper()
	if ok, err := r.Commit(r.t.Context()); err != nil || !ok {
		r.t.Fatalf("commit: %v, %v", ok, err)
	}
}

// turn is one tick with its commit.
func (r *rig) turn() timeline.Window {
	r.t.Helper()
	w := r.tick()
	r.commit()
	return w
}

// keys lists a window's occurrences.
func keys(w timeline.Window) []string {
	var all []string
	for _, o := range w.Occurrences() {
		all = append(all, o.ID+" "+o.Due.Format("15:04:05"))
	}
	return all
}

func want(t *testing.T, w timeline.Window, keysWanted ...string) {
	t.Helper()
	if got := keys(w); !slices.Equal(got, keysWanted) {
		t.Fatalf("window [%v, %v) has %q, want %q", w.Start, w.End, got, keysWanted)
	}
}

// forget loses the record. Nobody else may use the store meanwhile.
func (s *store) forget() { s.Claims = memory.Claims{} }
