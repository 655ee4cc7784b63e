package storetest

import (
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

var claimTests = []test{
	{"keeps all six fields", testClaimKeepsAllFields},
	{"is swapped only from what it is", testSwapComparesTokenEpochNonce},
	{"is made once", testFirstClaimIsMadeOnce},
	{"of each shard is its own", testShardsHaveTheirOwnClaims},
	{"can be given up and taken with its watermark", testReleasedClaimKeepsItsWatermark},
	{"never moves the watermark back", testSwapNeverRewinds},
	{"is set back by Correct alone", testCorrectSetsTheWatermarkBack},
	{"is corrected together with its backlogs", testCorrectCutsBacklogs},
	{"is not corrected by a stranger", testCorrectIsFenced},
}

func someClaim() timeline.Claim {
	return timeline.Claim{
		Token: "node-a", Epoch: 7, Nonce: "nonce", ExpiresAt: at(5.000001), CoveredUntil: at(-1.25), SyncedUntil: at(-2.000003),
	}
}

// R-LEAD-4, R-LEAD-5: a field that is dropped on the way fails silently otherwise. Microseconds count.
func testClaimKeepsAllFields(w *world) {
	store := w.For(0)
	if _, exists, err := store.Load(w.Context()); err != nil || exists {
		w.Fatalf("a new store has a claim: %v, %v", exists, err)
	}
	for _, want := range []timeline.Claim{someClaim(), {Token: "b", Epoch: 1 << 40, Nonce: "x", CoveredUntil: at(9), SyncedUntil: at(9)}} {
		old, exists, err := store.Load(w.Context())
		w.must(err)
		previous := &old
		if !exists {
			previous = nil
		}
		swapped, err := store.Swap(w.Context(), previous, want)
		w.must(err)
		if !swapped {
			w.Fatal("the claim was not swapped")
		}
		got, exists, err := store.Load(w.Context())
		w.must(err)
		w.same("there is a claim", true, exists)
		w.same("claim", want, got)
		got, exists, err = w.Planner(w.Context(), 0)
		w.must(err)
		w.same("there is a planner", true, exists)
		w.same("claim as readers see it", want, got)
	}
}

// R-LEAD-10, S-021, P4: who was replaced writes nothing, also when the same node has led again since (another epoch) or
// has written again since (another nonce).
func testSwapComparesTokenEpochNonce(w *world) {
	store, stored := w.For(0), someClaim()
	swapped, err := store.Swap(w.Context(), nil, stored)
	w.must(err)
	w.same("first swap", true, swapped)
	for name, edit := range map[string]func(*timeline.Claim){
		"token": func(c *timeline.Claim) { c.Token = "NODE-A" },
		"epoch": func(c *timeline.Claim) { c.Epoch-- },
		"nonce": func(c *timeline.Claim) { c.Nonce = "nonce " },
	} {
		old, next := stored, stored
		edit(&old)
		next.Token, next.Nonce, next.CoveredUntil = "thief", "thief", at(100)
		swapped, err := store.Swap(w.Context(), &old, next)
		w.must(err)
		w.same("swapped from another "+name, false, swapped)
	}
	// The instants are no part of the comparison: who reads them back may have rounded them.
	old, next := stored, stored
	old.ExpiresAt, old.CoveredUntil, old.SyncedUntil = time.Time{}, time.Time{}, time.Time{}
	next.Nonce = "second"
	swapped, err = store.Swap(w.Context(), &old, next)
	w.must(err)
	w.same("swapped with other instants", true, swapped)
	got, _, err := store.Load(w.Context())
	w.must(err)
	w.same("claim", next, got)
}

func testFirstClaimIsMadeOnce(w *world) {
	store, first := w.For(0), someClaim()
	swapped, err := store.Swap(w.Context(), &first, first)
	w.must(err)
	w.same("swapped what did not exist", false, swapped)
	swapped, err = store.Swap(w.Context(), nil, first)
	w.must(err)
	w.same("made", true, swapped)
	second := first
	second.Token, second.Nonce = "node-b", "other"
	swapped, err = store.Swap(w.Context(), nil, second)
	w.must(err)
	w.same("made again", false, swapped)
	got, _, err := store.Load(w.Context())
	w.must(err)
	w.same("claim", first, got)
}

func testShardsHaveTheirOwnClaims(w *world) {
	for shard, token := range []string{"a", "b"} {
		swapped, err := w.For(shard).Swap(w.Context(), nil, timeline.Claim{Token: token, Epoch: 1, Nonce: token, CoveredUntil: start})
		w.must(err)
		w.same("swapped", true, swapped)
	}
	for shard, token := range []string{"a", "b"} {
		got, _, err := w.For(shard).Load(w.Context())
		w.must(err)
		w.same("token", token, got.Token)
	}
}

// R-LEAD-8, R-LEAD-9: the successor starts from the watermark that it inherits.
func testReleasedClaimKeepsItsWatermark(w *world) {
	w.lead()
	w.commit(w.window(at(60)))
	released := w.next()
	released.ExpiresAt = time.Time{}
	swapped, err := w.For(0).Swap(w.Context(), &w.claim, released)
	w.must(err)
	w.same("released", true, swapped)
	got, _, err := w.For(0).Load(w.Context())
	w.must(err)
	w.same("expiry", time.Time{}, got.ExpiresAt)
	w.same("watermark", at(60), got.CoveredUntil)
	successor := got
	successor.Token, successor.Epoch, successor.Nonce, successor.ExpiresAt = "next", 2, "s", at(65)
	swapped, err = w.For(0).Swap(w.Context(), &got, successor)
	w.must(err)
	w.same("taken over", true, swapped)
	_, err = w.Commit(w.Context(), w.window(at(61)))
	w.mustBe(store.ErrFenced, err)
}

// P3. The store is the last one who can prevent it: a planner with a wrong clock believes what it writes.
func testSwapNeverRewinds(w *world) {
	w.lead()
	w.commit(w.window(at(60)))
	back := w.next()
	back.CoveredUntil = at(59.999999)
	swapped, err := w.For(0).Swap(w.Context(), &w.claim, back)
	if swapped || err == nil {
		w.Errorf("swapped: %v, error: %v; want a refusal that is not mistaken for a lost race", swapped, err)
	}
	got, _, err := w.For(0).Load(w.Context())
	w.must(err)
	w.same("claim", w.claim, got)
}

// PROTOCOL A9: a clock that ran eight hours ahead settled eight hours that had not happened. Runs stay: the unique
// index keeps them from being made again.
func testCorrectSetsTheWatermarkBack(w *world) {
	id := w.declare("minutely")
	ahead := w.due(id, at(3600))
	p := w.plan(id, ahead)
	for _, g := range []struct{ first, last float64 }{{60, 120}, {180, 360}, {420, 480}} {
		p.Gaps = append(p.Gaps, w.gap(id, run.Superseded, at(g.first), at(g.last), int(g.last-g.first)/60+1))
	}
	w.commit(w.window(at(8*3600), p))
	next := w.next()
	next.Epoch, next.CoveredUntil = 2, at(240)
	w.must(w.Correct(w.Context(), 0, w.claim, next, at(240)))
	got, _, err := w.For(0).Load(w.Context())
	w.must(err)
	w.same("claim", next, got)
	w.is(ahead.ID, run.Pending)
	// The second gap reached past the corrected clock: of it only 10:03 is left, as 10:04 is not before the clock.
	gaps := w.allGaps(store.GapQuery{Schedule: id})
	if len(gaps) != 2 {
		w.Fatalf("%d gaps are left, want 2: %v", len(gaps), gaps)
	}
	w.sameGap(at(180), at(180), 1, gaps[0])
	w.sameGap(at(60), at(120), 2, gaps[1])
	w.same("settled until", at(240), w.unsettled(id))
}

// PROTOCOL A9, P1, P2: what follows the corrected watermark is settled by windows again, so no backlog may reach there;
// and nothing is judged late by the clock that was wrong.
func testCorrectCutsBacklogs(w *world) {
	id := w.declare("minutely")
	p := w.plan(id)
	p.Pin, p.OpenedAt = at(-60), at(8*3600)
	c := w.window(at(8*3600), p)
	c.Arrears = []store.Arrears{
		{From: at(-300), To: at(-200), OpenedAt: at(0)}, {From: at(-100), To: at(3600), OpenedAt: at(3600)}, {From: at(240), To: at(360), OpenedAt: at(360)},
	}
	w.commit(c)
	next := w.next()
	next.Epoch, next.CoveredUntil = 2, at(240)
	w.must(w.Correct(w.Context(), 0, w.claim, next, at(240)))
	got, err := w.Arrears(w.Context(), 0)
	w.must(err)
	w.same("arrears", []store.Arrears{
		{From: at(-300), To: at(-200), OpenedAt: at(0)}, {From: at(-100), To: at(240), OpenedAt: at(240)},
	}, got)
	w.same("pin", at(-60), w.row(id).Pin)
	w.same("backlog found at", at(240), w.row(id).OpenedAt)
}

func testCorrectIsFenced(w *world) {
	id := w.declare("minutely")
	p := w.plan(id)
	p.Gaps = []run.Gap{w.gap(id, run.Missed, at(60), at(60), 1)}
	w.commit(w.window(at(120), p))
	stale, next := w.claim, w.next()
	stale.Nonce = "another"
	w.mustBe(store.ErrFenced, w.Correct(w.Context(), 0, stale, next, start))
	got, _, err := w.For(0).Load(w.Context())
	w.must(err)
	w.same("claim", w.claim, got)
	w.same("gaps", 1, len(w.allGaps(store.GapQuery{})))
}
