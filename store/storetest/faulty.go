package storetest

import (
	"context"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// ErrFault is what a call answers that fails on purpose.
var ErrFault = errors.New("storetest: this call was to fail")

// Fault is what goes wrong with one call.
type Fault uint8

// The faults. Whether the call took effect is what its caller cannot know; here it can be chosen.
const (
	NoFault   Fault = iota
	Fail            // ErrFault, and nothing was done
	LostReply       // done, and ErrFault (PROTOCOL B2)
	Hang            // nothing is done; returns when the context ends
	Late            // hangs until the context ends, and is done after that (PROTOCOL B2, B22)
	Busy            // store.ErrBusy, and nothing was done
)

// Script decides what goes wrong. It is given the method's name (of a claim store: Load and Swap) and how many times
// that method was called, this time included. It is called under a lock, one call at a time.
type Script func(call string, n int) Fault

// Each is a script that lists, method by method, the faults of the first calls.
func Each(faults map[string][]Fault) Script {
	return func(call string, n int) Fault {
		if list := faults[call]; n <= len(list) {
			return list[n-1]
		}
		return NoFault
	}
}

// Always is a script in which every call of the methods has the fault.
func Always(fault Fault, calls ...string) Script {
	return func(call string, _ int) Fault {
		for _, c := range calls {
			if c == call {
				return fault
			}
		}
		return NoFault
	}
}

// Randomly is a script in which one call in oneIn has one of the faults. The same seed gives the same faults to the
// same order of calls.
func Randomly(seed uint64, oneIn int, faults ...Fault) Script {
	r := rand.New(rand.NewPCG(seed, 0))
	return func(string, int) Fault {
		if r.IntN(oneIn) > 0 {
			return NoFault
		}
		return faults[r.IntN(len(faults))]
	}
}

// Faulty is a store around another one that goes wrong as its script says. Wake and Close never do. It may be used from
// any goroutine.
type Faulty struct {
	store.Store
	mu     sync.Mutex
	script Script
	calls  map[string]int
}

// NewFaulty wraps a store. A nil script lets every call through.
func NewFaulty(s store.Store, script Script) *Faulty {
	return &Faulty{Store: s, script: script, calls: map[string]int{}}
}

// Follow gives the store another script; the counts of calls go on.
func (f *Faulty) Follow(script Script) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = script
}

// Calls tells how many times a method was called.
func (f *Faulty) Calls(call string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[call]
}

func (f *Faulty) next(call string) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[call]++
	if f.script == nil {
		return NoFault
	}
	return f.script(call, f.calls[call])
}

// try makes one call, or does to it what the script says.
func (f *Faulty) try(ctx context.Context, call string, do func(context.Context) error) error {
	switch f.next(call) {
	case Fail:
		return ErrFault
	case Busy:
		return store.ErrBusy
	case LostReply:
		if err := do(ctx); err != nil {
			return err
		}
		return ErrFault
	case Hang:
		<-ctx.Done()
		return context.Cause(ctx)
	case Late:
		<-ctx.Done()
		if err := do(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		return context.Cause(ctx)
	default:
		return do(ctx)
	}
}

// one and two make a call with as many results; on an error there are none.
func one[A any](ctx context.Context, f *Faulty, call string, do func(context.Context) (A, error)) (A, error) {
	var a, none A
	err := f.try(ctx, call, func(ctx context.Context) (err error) { a, err = do(ctx); return err })
	if err != nil {
		return none, err
	}
	return a, nil
}

func two[A, B any](ctx context.Context, f *Faulty, call string, do func(context.Context) (A, B, error)) (A, B, error) {
	type pair struct {
		a A
		b B
	}
	p, err := one(ctx, f, call, func(ctx context.Context) (p pair, err error) { p.a, p.b, err = do(ctx); return p, err })
	return p.a, p.b, err
}

// For wraps the claim store of a shard.
func (f *Faulty) For(shard int) timeline.ClaimStore { return faultyClaim{f.Store.For(shard), f} }

type faultyClaim struct {
	claims timeline.ClaimStore
	f      *Faulty
}

func (c faultyClaim) Load(ctx context.Context) (timeline.Claim, bool, error) {
	return two(ctx, c.f, "Load", c.claims.Load)
}

func (c faultyClaim) Swap(ctx context.Context, old *timeline.Claim, next timeline.Claim) (bool, error) {
	return one(ctx, c.f, "Swap", func(ctx context.Context) (bool, error) { return c.claims.Swap(ctx, old, next) })
}

// Now may go wrong.
func (f *Faulty) Now(ctx context.Context) (time.Time, error) { return one(ctx, f, "Now", f.Store.Now) }

// Commit may go wrong.
func (f *Faulty) Commit(ctx context.Context, c store.Commit) (store.Committed, error) {
	return one(ctx, f, "Commit", func(ctx context.Context) (store.Committed, error) { return f.Store.Commit(ctx, c) })
}

// Settled may go wrong.
func (f *Faulty) Settled(ctx context.Context, id schedule.ID, from, to time.Time) (store.Settled, error) {
	return one(ctx, f, "Settled", func(ctx context.Context) (store.Settled, error) { return f.Store.Settled(ctx, id, from, to) })
}

// Arrears may go wrong.
func (f *Faulty) Arrears(ctx context.Context, shard int) ([]store.Arrears, error) {
	return one(ctx, f, "Arrears", func(ctx context.Context) ([]store.Arrears, error) { return f.Store.Arrears(ctx, shard) })
}

// Correct may go wrong.
func (f *Faulty) Correct(ctx context.Context, shard int, old, next timeline.Claim, at time.Time) error {
	return f.try(ctx, "Correct", func(ctx context.Context) error { return f.Store.Correct(ctx, shard, old, next, at) })
}

// Take may go wrong.
func (f *Faulty) Take(ctx context.Context, t store.Take) (store.Taken, error) {
	return one(ctx, f, "Take", func(ctx context.Context) (store.Taken, error) { return f.Store.Take(ctx, t) })
}

// Start may go wrong.
func (f *Faulty) Start(ctx context.Context, started []store.Started) ([]store.Held, error) {
	return one(ctx, f, "Start", func(ctx context.Context) ([]store.Held, error) { return f.Store.Start(ctx, started) })
}

// Settle may go wrong.
func (f *Faulty) Settle(ctx context.Context, node run.NodeID, outcomes []store.Outcome) ([]store.Refused, error) {
	return one(ctx, f, "Settle", func(ctx context.Context) ([]store.Refused, error) { return f.Store.Settle(ctx, node, outcomes) })
}

// Release may go wrong.
func (f *Faulty) Release(ctx context.Context, held []store.Held) error {
	return f.try(ctx, "Release", func(ctx context.Context) error { return f.Store.Release(ctx, held) })
}

// Output may go wrong.
func (f *Faulty) Output(ctx context.Context, h store.Held, chunks []store.Chunk) error {
	return f.try(ctx, "Output", func(ctx context.Context) error { return f.Store.Output(ctx, h, chunks) })
}

// Lost may go wrong.
func (f *Faulty) Lost(ctx context.Context, held []store.Held) ([]store.Held, error) {
	return one(ctx, f, "Lost", func(ctx context.Context) ([]store.Held, error) { return f.Store.Lost(ctx, held) })
}

// Recover may go wrong.
func (f *Faulty) Recover(ctx context.Context, node run.NodeID, seenAt time.Time, limit int) ([]store.Recovered, error) {
	return one(ctx, f, "Recover", func(ctx context.Context) ([]store.Recovered, error) {
		return f.Store.Recover(ctx, node, seenAt, limit)
	})
}

// Apply may go wrong.
func (f *Faulty) Apply(ctx context.Context, a store.Apply) (store.Applied, error) {
	return one(ctx, f, "Apply", func(ctx context.Context) (store.Applied, error) { return f.Store.Apply(ctx, a) })
}

// Pause may go wrong.
func (f *Faulty) Pause(ctx context.Context, id schedule.ID, p schedule.Pause) (store.Change, error) {
	return one(ctx, f, "Pause", func(ctx context.Context) (store.Change, error) { return f.Store.Pause(ctx, id, p) })
}

// Resume may go wrong.
func (f *Faulty) Resume(ctx context.Context, id schedule.ID, by string, catchUp bool) (store.Change, error) {
	return one(ctx, f, "Resume", func(ctx context.Context) (store.Change, error) { return f.Store.Resume(ctx, id, by, catchUp) })
}

// Snapshot may go wrong; with a lost reply it does so after its last row.
func (f *Faulty) Snapshot(ctx context.Context, shard int) iter.Seq2[schedule.Row, error] {
	return f.rows(ctx, "Snapshot", f.Store.Snapshot(ctx, shard))
}

// Dirty may go wrong as Snapshot does.
func (f *Faulty) Dirty(ctx context.Context, shard int) iter.Seq2[schedule.Row, error] {
	return f.rows(ctx, "Dirty", f.Store.Dirty(ctx, shard))
}

func (f *Faulty) rows(ctx context.Context, call string, rows iter.Seq2[schedule.Row, error]) iter.Seq2[schedule.Row, error] {
	return func(yield func(schedule.Row, error) bool) {
		left := false
		err := f.try(ctx, call, func(context.Context) error {
			for row, err := range rows {
				if left = !yield(row, err); left {
					return nil
				}
			}
			return nil
		})
		if err != nil && !left {
			yield(schedule.Row{}, err)
		}
	}
}

// Schedules may go wrong.
func (f *Faulty) Schedules(ctx context.Context, q store.ScheduleQuery) ([]schedule.Schedule, string, error) {
	return two(ctx, f, "Schedules", func(ctx context.Context) ([]schedule.Schedule, string, error) { return f.Store.Schedules(ctx, q) })
}

// Revision may go wrong.
func (f *Faulty) Revision(ctx context.Context, id schedule.ID, revision uint64) ([]byte, error) {
	return one(ctx, f, "Revision", func(ctx context.Context) ([]byte, error) { return f.Store.Revision(ctx, id, revision) })
}

// Runs may go wrong.
func (f *Faulty) Runs(ctx context.Context, q store.RunQuery) ([]run.Run, string, error) {
	return two(ctx, f, "Runs", func(ctx context.Context) ([]run.Run, string, error) { return f.Store.Runs(ctx, q) })
}

// Run may go wrong.
func (f *Faulty) Run(ctx context.Context, id run.ID) (run.Run, error) {
	return one(ctx, f, "Run", func(ctx context.Context) (run.Run, error) { return f.Store.Run(ctx, id) })
}

// LastRuns may go wrong.
func (f *Faulty) LastRuns(ctx context.Context, ids []schedule.ID) (map[schedule.ID]run.Run, error) {
	return one(ctx, f, "LastRuns", func(ctx context.Context) (map[schedule.ID]run.Run, error) { return f.Store.LastRuns(ctx, ids) })
}

// Attempts may go wrong.
func (f *Faulty) Attempts(ctx context.Context, id run.ID) ([]run.Attempt, error) {
	return one(ctx, f, "Attempts", func(ctx context.Context) ([]run.Attempt, error) { return f.Store.Attempts(ctx, id) })
}

// History may go wrong.
func (f *Faulty) History(ctx context.Context, id run.ID) ([]run.Event, error) {
	return one(ctx, f, "History", func(ctx context.Context) ([]run.Event, error) { return f.Store.History(ctx, id) })
}

// Gaps may go wrong.
func (f *Faulty) Gaps(ctx context.Context, q store.GapQuery) ([]run.Gap, string, error) {
	return two(ctx, f, "Gaps", func(ctx context.Context) ([]run.Gap, string, error) { return f.Store.Gaps(ctx, q) })
}

// ReadOutput may go wrong.
func (f *Faulty) ReadOutput(ctx context.Context, id run.ID, delivery, from int, w io.Writer) (int, error) {
	return one(ctx, f, "ReadOutput", func(ctx context.Context) (int, error) { return f.Store.ReadOutput(ctx, id, delivery, from, w) })
}

// Unsettled may go wrong.
func (f *Faulty) Unsettled(ctx context.Context, id schedule.ID) (time.Time, error) {
	return one(ctx, f, "Unsettled", func(ctx context.Context) (time.Time, error) { return f.Store.Unsettled(ctx, id) })
}

// Planner may go wrong.
func (f *Faulty) Planner(ctx context.Context, shard int) (timeline.Claim, bool, error) {
	return two(ctx, f, "Planner", func(ctx context.Context) (timeline.Claim, bool, error) { return f.Store.Planner(ctx, shard) })
}

// Beat may go wrong.
func (f *Faulty) Beat(ctx context.Context, n store.Node, lease time.Duration) error {
	return f.try(ctx, "Beat", func(ctx context.Context) error { return f.Store.Beat(ctx, n, lease) })
}

// Leave may go wrong.
func (f *Faulty) Leave(ctx context.Context, id run.NodeID) error {
	return f.try(ctx, "Leave", func(ctx context.Context) error { return f.Store.Leave(ctx, id) })
}

// Living may go wrong.
func (f *Faulty) Living(ctx context.Context) ([]store.Node, error) {
	return one(ctx, f, "Living", f.Store.Living)
}

// Silent may go wrong.
func (f *Faulty) Silent(ctx context.Context) ([]store.Node, error) {
	return one(ctx, f, "Silent", f.Store.Silent)
}
