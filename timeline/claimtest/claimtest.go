// Package claimtest says what every timeline.ClaimStore must hold, as tests that each store's own tests call.
package claimtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/belfryhq/belfry/timeline"
)

// Run tests a store. Each call of newStore must return one that holds no record; what it needs to be closed is the
// caller's to register on t. The store is called from several goroutines at once.
func Run(t *testing.T, newStore func() timeline.ClaimStore) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, s timeline.ClaimStore)
	}{
		{"NoRecordIsNotAnEmptyToken", noRecordIsNotAnEmptyToken},
		{"EveryFieldComesBack", everyFieldComesBack},
		{"ZeroTimesComeBack", zeroTimesComeBack},
		{"AnExpiredRecordStays", anExpiredRecordStays},
		{"OnlyTheRecordThatIsThereIsReplaced", onlyTheRecordThatIsThereIsReplaced},
		{"TheFirstRecordHasOneWriter", theFirstRecordHasOneWriter},
		{"ConcurrentSwapsHaveOneWinner", concurrentSwapsHaveOneWinner},
		{"AnEndedContextWritesNothing", anEndedContextWritesNothing},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, newStore()) })
	}
}

// sample returns a record whose fields all differ, with times that only microseconds tell apart.
func sample(n int) timeline.Claim {
	base := time.Date(2026, 3, 29, 0, 59, 59, 0, time.UTC)
	return timeline.Claim{
		Token:        fmt.Sprintf("token-%d ü", n),
		Epoch:        uint64(n),
		Nonce:        fmt.Sprintf("nonce-%d", n),
		ExpiresAt:    base.Add(123456 * time.Microsecond),
		CoveredUntil: base.Add(-time.Hour + time.Duration(n)*time.Microsecond),
		SyncedUntil:  base.Add(-time.Minute + 999999*time.Microsecond),
	}
}

// A released claim with an empty token, or a store that keeps no record, must not be taken for one another: the first
// has a watermark.
func noRecordIsNotAnEmptyToken(t *testing.T, s timeline.ClaimStore) {
	if c, found := load(t, s); found || c != (timeline.Claim{}) {
		t.Fatalf("an empty store has %+v, %v", c, found)
	}
	if swap(t, s, &timeline.Claim{}, sample(1)) {
		t.Fatal("a swap of the zero record wrote where there is none")
	}
	if _, found := load(t, s); found {
		t.Fatal("a refused swap left a record")
	}
	empty := timeline.Claim{CoveredUntil: sample(1).CoveredUntil}
	if !swap(t, s, nil, empty) {
		t.Fatal("the first record was refused")
	}
	if c, found := load(t, s); !found || !c.CoveredUntil.Equal(empty.CoveredUntil) {
		t.Fatalf("a record without a token came back as %+v, %v", c, found)
	}
	if swap(t, s, nil, sample(1)) {
		t.Fatal("a first record replaced one without a token")
	}
}

// R-LEAD-5: a store that drops a field fails silently.
func everyFieldComesBack(t *testing.T, s timeline.ClaimStore) {
	first, second := sample(1), sample(2)
	second.Epoch = 1<<63 - 1 // the largest that every database can keep
	second.ExpiresAt = second.ExpiresAt.In(time.FixedZone("two hours ahead", 7200))
	for _, step := range []struct {
		old  *timeline.Claim
		next timeline.Claim
	}{{nil, first}, {&first, second}} {
		if !swap(t, s, step.old, step.next) {
			t.Fatal("the swap was refused")
		}
		c, found := load(t, s)
		if !found || !same(c, step.next) {
			t.Fatalf("wrote %+v, read %+v, %v", step.next, c, found)
		}
	}
}

// A release is a record whose ExpiresAt is zero (R-LEAD-8).
func zeroTimesComeBack(t *testing.T, s timeline.ClaimStore) {
	released := sample(1)
	released.ExpiresAt, released.SyncedUntil = time.Time{}, time.Time{}
	if !swap(t, s, nil, released) {
		t.Fatal("the swap was refused")
	}
	if c, _ := load(t, s); !c.ExpiresAt.IsZero() || !c.SyncedUntil.IsZero() || !same(c, released) {
		t.Fatalf("wrote %+v, read %+v", released, c)
	}
}

// The watermark outlives the lease.
func anExpiredRecordStays(t *testing.T, s timeline.ClaimStore) {
	old := sample(1)
	old.ExpiresAt = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	if !swap(t, s, nil, old) {
		t.Fatal("the swap was refused")
	}
	if c, found := load(t, s); !found || !same(c, old) {
		t.Fatalf("an expired record came back as %+v, %v", c, found)
	}
	if swap(t, s, nil, sample(2)) {
		t.Fatal("a first record replaced an expired one")
	}
}

func onlyTheRecordThatIsThereIsReplaced(t *testing.T, s timeline.ClaimStore) {
	have := sample(1)
	if !swap(t, s, nil, have) {
		t.Fatal("the swap was refused")
	}
	token, epoch, nonce := have, have, have
	token.Token, epoch.Epoch, nonce.Nonce = "other", have.Epoch+1, "other"
	for _, old := range []*timeline.Claim{nil, {}, &token, &epoch, &nonce} {
		if swap(t, s, old, sample(2)) {
			t.Errorf("a swap of %+v replaced %+v", old, have)
		}
	}
	if c, _ := load(t, s); !same(c, have) {
		t.Fatalf("refused swaps changed the record to %+v", c)
	}
	// The other fields are not compared: they follow from the nonce.
	bare := timeline.Claim{Token: have.Token, Epoch: have.Epoch, Nonce: have.Nonce}
	if !swap(t, s, &bare, have) {
		t.Error("a swap was refused over a field that is not compared")
	}
	// Writing what is there already is still a write (PROTOCOL B3).
	if !swap(t, s, &have, have) {
		t.Error("a swap that changes nothing was reported as refused")
	}
}

func theFirstRecordHasOneWriter(t *testing.T, s timeline.ClaimStore) {
	winner := race(t, s, nil, 0)
	if c, found := load(t, s); !found || !same(c, winner) {
		t.Fatalf("%+v won, %+v is there", winner, c)
	}
}

// R-LEAD-7: many replicas, one holder, again and again.
func concurrentSwapsHaveOneWinner(t *testing.T, s timeline.ClaimStore) {
	have := sample(0)
	if !swap(t, s, nil, have) {
		t.Fatal("the first record was refused")
	}
	for round := range 10 {
		old := have
		have = race(t, s, &old, 100*(round+1))
		if c, _ := load(t, s); !same(c, have) {
			t.Fatalf("round %d: %+v won, %+v is there", round, have, c)
		}
	}
}

// race lets eight writers replace the same record and returns what the only winner wrote.
func race(t *testing.T, s timeline.ClaimStore, old *timeline.Claim, first int) timeline.Claim {
	t.Helper()
	var won sync.Map
	var wins atomic.Int64
	var wg sync.WaitGroup
	for n := first + 1; n <= first+8; n++ {
		wg.Go(func() {
			swapped, err := s.Swap(t.Context(), old, sample(n))
			if err != nil {
				t.Errorf("swap: %v", err)
			}
			if swapped {
				wins.Add(1)
				won.Store("winner", sample(n))
			}
		})
	}
	wg.Wait()
	if wins.Load() != 1 {
		t.Fatalf("%d of 8 swaps of one record won", wins.Load())
	}
	winner, _ := won.Load("winner")
	return winner.(timeline.Claim)
}

func anEndedContextWritesNothing(t *testing.T, s timeline.ClaimStore) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if swapped, err := s.Swap(ended, nil, sample(1)); err == nil || swapped {
		t.Errorf("a swap under an ended context: %v, %v", swapped, err)
	}
	if _, _, err := s.Load(ended); err == nil {
		t.Error("a load under an ended context succeeded")
	}
	if c, found := load(t, s); found {
		t.Errorf("it left %+v", c)
	}
}

func load(t *testing.T, s timeline.ClaimStore) (timeline.Claim, bool) {
	t.Helper()
	c, found, err := s.Load(t.Context())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return c, found
}

func swap(t *testing.T, s timeline.ClaimStore, old *timeline.Claim, next timeline.Claim) bool {
	t.Helper()
	swapped, err := s.Swap(t.Context(), old, next)
	if err != nil {
		t.Fatalf("swap: %v", err)
	}
	return swapped
}

// same compares instants as instants: a store may give them back in another location.
func same(a, b timeline.Claim) bool {
	return a.Token == b.Token && a.Epoch == b.Epoch && a.Nonce == b.Nonce &&
		a.ExpiresAt.Equal(b.ExpiresAt) && a.CoveredUntil.Equal(b.CoveredUntil) && a.SyncedUntil.Equal(b.SyncedUntil)
}
