package timeline_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/timeline/memory"
)

// R-SHARD-3: every definition is in exactly one shard, with every kind of read, and the shares are even.
func TestShardsPartitionTheSource(t *testing.T) {
	t.Parallel()
	src := &feed{}
	for i := range 3000 {
		src.rows = append(src.rows, row(fmt.Sprintf("schedule-%d", i), "1", every(time.Minute)))
	}
	src.changed = src.rows[:600]
	seen := map[string]int{}
	for n := range 3 {
		s, err := timeline.Shard(src, n, 3)
		if err != nil {
			t.Fatal(err)
		}
		all, changed := 0, 0
		for r, err := range s.Snapshot(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			all++
			seen[r.ID]++
		}
		for r, err := range s.(timeline.Changes).Since(t.Context(), noon) {
			if err != nil {
				t.Fatal(err)
			}
			changed++
			seen[r.ID] += 10
		}
		if all < 900 || all > 1100 || changed < 150 || changed > 250 {
			t.Errorf("shard %d has %d of 3000 and %d of 600 changes", n, all, changed)
		}
	}
	for i, r := range src.rows {
		wanted := 1
		if i < 600 {
			wanted = 11
		}
		if seen[r.ID] != wanted {
			t.Fatalf("%s was seen %d times", r.ID, seen[r.ID])
		}
	}
}

// The hash is frozen. These are test vectors of FNV-1a, 64 bit: 0xcbf29ce484222325 of nothing, 0xaf63dc4c8601ec8c of "a"
// and 0x85944171f73967e8 of "foobar".
func TestShardOfAnIDIsFrozen(t *testing.T) {
	t.Parallel()
	for id, hash := range map[string]uint64{"a": 0xaf63dc4c8601ec8c, "foobar": 0x85944171f73967e8} {
		const of = 1000
		s, err := timeline.Shard(&source{rows: []timeline.Row{row(id, "1", nil)}}, int(hash%of), of)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, err := range s.Snapshot(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			found++
		}
		if found != 1 {
			t.Errorf("%s is not in shard %d of %d", id, hash%of, of)
		}
	}
}

// A read that fails fails in every shard, a shard has changes only if its source has, and what is no shard is refused.
func TestShardsPassOnWhatTheSourceIs(t *testing.T) {
	t.Parallel()
	src := &source{rows: []timeline.Row{row("a", "1", every(time.Minute)), row("b", "1", every(time.Minute))}, failAt: 1}
	for n := range 2 {
		s, err := timeline.Shard(src, n, 2)
		if err != nil {
			t.Fatal(err)
		}
		if _, has := s.(timeline.Changes); has {
			t.Error("a shard of a source without changes has some")
		}
		var last error
		for _, err := range s.Snapshot(t.Context()) {
			last = err
		}
		if !errors.Is(last, errSource) {
			t.Errorf("shard %d: %v", n, last)
		}
	}
	for _, c := range [][2]int{{0, 0}, {2, 2}, {-1, 2}} {
		if _, err := timeline.Shard(src, c[0], c[1]); !errors.Is(err, timeline.ErrOptions) {
			t.Errorf("shard %d of %d: %v", c[0], c[1], err)
		}
	}
}

// R-SHARD-4, R-LEAD-8: each shard has its own claim and its own standby, and one that ends is taken over at once while
// the other goes on.
func TestShardsFailOverAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		src := &source{}
		for i := range 20 {
			src.rows = append(src.rows, row(fmt.Sprintf("s%d", i), "1", every(time.Second)))
		}
		claims := []*memory.Claims{{}, {}}
		var calls ledger
		start := func(n int) *timeline.Loop {
			s, err := timeline.Shard(&source{rows: src.rows}, n, 2)
			if err != nil {
				t.Fatal(err)
			}
			l, err := timeline.New(s, claims[n], timeline.Options{})
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				if err := l.Run(t.Context(), calls.deliver); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
			return l
		}
		first := []*timeline.Loop{start(0), start(1)}
		standby := []*timeline.Loop{start(0), start(1)}
		time.Sleep(5500 * time.Millisecond) // of the bubble
		first[1].Stop()
		time.Sleep(5 * time.Second) // of the bubble
		if !first[0].Leading() || !standby[1].Leading() || standby[0].Leading() {
			t.Error("the standby of the shard that ended does not lead, or another one does")
		}
		first[0].Stop()
		standby[0].Stop()
		standby[1].Stop()
		synctest.Wait()
		for _, r := range src.rows {
			calls.wantOnce(t, r.ID, r.Data.(grid), began, began.Add(10*time.Second))
		}
	})
}
