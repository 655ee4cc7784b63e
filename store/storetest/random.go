package storetest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// seedVariable repeats one series: BELFRY_STORETEST_SEED=n. Without it there are a few fixed ones, the same every time,
// and one that is new.
const seedVariable = "BELFRY_STORETEST_SEED"

// RunRandom does the same random operations to the store under test and to an oracle, and compares every answer, what
// the operation may have changed after each of them, and everything that can be seen after every tenth. The oracle is
// store/memory, which the caller hands in because the suite knows no store. Every series is a subtest named after its
// seed.
func RunRandom(t *testing.T, h, oracle Harness) {
	seeds := []uint64{uint64(time.Now().UnixNano()) % 1_000_000_000}
	for seed := range uint64(fixedSeeds) {
		seeds = append(seeds, seed+1)
	}
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
		seeds = []uint64{seed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			t.Logf("repeat with %s=%d", seedVariable, seed)
			newPair(t, h, oracle, seed).play()
		})
	}
}

// pair is the store under test, the oracle, and a caller who does everything to both. What a store makes up itself,
// fences, is kept for each of them.
type pair struct {
	*testing.T
	r      *rand.Rand
	clk    *Clock
	stores [2]store.Store // the oracle behind a watcher, and the store under test
	log    []string       // operations so far
	made   uint64
	all    bool // compare everything after this operation

	claim     timeline.Claim
	schedules []schedule.ID // each that was ever declared
	nodes     []run.NodeID
	held      [][2]store.Held // everything that was ever taken, by the oracle and the store
	occupied  map[gapKey]bool // gaps committed so far
	arrears   []store.Arrears
}

type gapKey struct {
	schedule schedule.ID
	first    int64
	reason   run.Reason
}

func newPair(t *testing.T, h, oracle Harness, seed uint64) *pair {
	clk := NewClock(start)
	p := &pair{T: t, r: rand.New(rand.NewPCG(seed, 1)), clk: clk, occupied: map[gapKey]bool{}}
	p.stores = [2]store.Store{watch(t, oracle.Open(t, clk, countEvery)), h.Open(t, clk, countEvery)}
	return p
}

// operation is one thing to do to both stores. It returns what each of them answered, normalised so that equal means
// equal.
type operation struct {
	name    string
	weight  int
	changes concern
	do      func(p *pair) (what string, answers [2]any)
}

// concern is whose business something is.
type concern uint8

const (
	planners concern = 1 << iota
	workers
	people
)

func (p *pair) play() {
	randomSwap(p) // somebody leads from the beginning
	ops := append(append(planning(), working()...), defining()...)
	total := 0
	for _, op := range ops {
		total += op.weight
	}
	for done := range operations {
		p.all = done%10 == 9 || done == operations-1
		p.clk.Advance(p.pause())
		n := p.r.IntN(total)
		for _, op := range ops {
			if n -= op.weight; n < 0 {
				what, answers := op.do(p)
				p.log = append(p.log, fmt.Sprintf("%s %s: %s", p.clk.Now().Format("15:04:05.000000"), op.name, what))
				p.compare("answer of "+op.name, answers)
				p.compareViews(op.changes)
				break
			}
		}
		if p.Failed() {
			p.explain()
			return
		}
	}
}

// pause is the time between two operations: never none, so that no two changes take effect at one instant, mostly
// short, sometimes longer than a lease.
func (p *pair) pause() time.Duration {
	switch n := p.r.IntN(60); {
	case n == 0:
		return time.Duration(1+p.r.IntN(30)) * time.Minute
	case n < 6:
		return time.Duration(1+p.r.IntN(20)) * time.Second
	default:
		return time.Duration(1+p.r.IntN(900_000)) * time.Microsecond
	}
}

func (p *pair) explain() {
	from := max(0, len(p.log)-40)
	for i, line := range p.log[from:] {
		p.Logf("%d %s", from+i+1, line)
	}
}

// both makes a call to each store and normalises the answers.
func (p *pair) both(call func(ctx context.Context, i int, s store.Store) (any, error)) (answers [2]any) {
	for i, s := range p.stores {
		value, err := call(p.Context(), i, s)
		if err != nil {
			value = failure(err)
		}
		answers[i] = value
	}
	return answers
}

// failed reports whether both answers are failures.
func failed(answers [2]any) bool {
	_, a := answers[0].(failureWord)
	_, b := answers[1].(failureWord)
	return a && b
}

// failureWord names an error of the contract. The text is each store's own.
type failureWord string

func failure(err error) failureWord {
	for _, known := range []error{
		store.ErrFenced, store.ErrHorizon, store.ErrLost, store.ErrNotFound, store.ErrExists, store.ErrStale, store.ErrBusy, store.ErrPoison,
	} {
		if errors.Is(err, known) {
			return failureWord(known.Error())
		}
	}
	return "another error"
}

func (p *pair) compare(what string, answers [2]any) {
	p.Helper()
	if !equal(answers[0], answers[1]) {
		p.Errorf("%s (-oracle +store):\n%s", what, cmp.Diff(answers[0], answers[1], cmpopts.EquateEmpty()))
	}
}

// chance is true once in n times.
func (p *pair) chance(n int) bool { return p.r.IntN(n) == 0 }

func pick[T any](p *pair, list []T) (v T, ok bool) {
	if len(list) == 0 {
		return v, false
	}
	return list[p.r.IntN(len(list))], true
}

func (p *pair) newID() (id [16]byte) {
	p.made++
	id[0] = 0x01
	binary.BigEndian.PutUint32(id[4:], p.r.Uint32()) // the order of IDs must not be the order of their making
	binary.BigEndian.PutUint64(id[8:], p.made)
	return id
}

// instant is a point of the minutes' grid near now.
func (p *pair) instant() time.Time {
	return p.clk.Now().Truncate(time.Minute).Add(time.Duration(p.r.IntN(12)-8) * time.Minute)
}
