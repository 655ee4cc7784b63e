package storetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/timeline"
)

// world is one test's store, with what planners, workers and people do to it in one line each. Whatever goes wrong in
// such a line ends the test; a test that expects an error calls the store itself.
type world struct {
	*testing.T
	store.Store // the one under test, behind the watcher
	watcher     *watched
	h           Harness
	bare        store.Store // the same, unwatched
	other       store.Store // a second handle, once a test asked for one
	clk         *Clock
	claim       timeline.Claim // as this test last wrote it
	made        uint64         // identifiers so far
}

// start is when every test begins: a round instant, so that arithmetic is easy to check.
var start = time.Date(2026, 7, 1, 10, 0, 0, 0, time.UTC)

// at is an instant so many seconds after the start.
func at(seconds float64) time.Time {
	return start.Add(time.Duration(math.Round(seconds*1e6)) * time.Microsecond)
}

const never = 365 * 24 * time.Hour

func newWorld(t *testing.T, h Harness) *world {
	t.Helper()
	clk := NewClock(start)
	w := &world{T: t, h: h, clk: clk, bare: h.Open(t, clk, countEvery)}
	w.watcher = watch(t, w.bare)
	w.Store = w.watcher
	return w
}

// second is another handle on the same data, or the same handle where there is no other.
func (w *world) second() store.Store {
	w.Helper()
	if w.other == nil {
		w.other = w.bare
		if w.h.Reopen != nil {
			w.other = w.h.Reopen(w.T, w.bare, w.clk, countEvery)
		}
	}
	return w.other
}

// countEvery is the store.Counter of the suite: it counts the grid of an interval by arithmetic.
func countEvery(_ schedule.ID, spec []byte, from, to time.Time) (n int, first, last time.Time) {
	s, err := schedule.DecodeSpec(spec)
	if err != nil || s.Trigger.Every <= 0 || !from.Before(to) {
		return 0, first, last
	}
	step := int64(time.Duration(s.Trigger.Every) / time.Microsecond)
	ceil := func(t time.Time) int64 { return (t.UnixMicro() + step - 1) / step }
	a, b := ceil(from), ceil(to) // grid points a, a+1 … b-1 lie in [from, to)
	if a == b {
		return 0, first, last
	}
	return int(b - a), time.UnixMicro(a * step).UTC(), time.UnixMicro((b - 1) * step).UTC()
}

// newID returns the next identifier of the test, ascending.
func (w *world) newID() (id [16]byte) {
	w.made++
	id[0] = 0x01
	binary.BigEndian.PutUint64(id[8:], w.made)
	return id
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// mustBe ends the test unless err is what the contract says.
func (w *world) mustBe(want, err error) {
	w.Helper()
	if !errors.Is(err, want) {
		w.Fatalf("error is %v, want %v", err, want)
	}
}

// same compares two values; nil and empty slices and maps are the same.
func (w *world) same(what string, want, got any) {
	w.Helper()
	if !equal(want, got) {
		w.Errorf("%s (-want +got):\n%s", what, cmp.Diff(want, got, cmpopts.EquateEmpty()))
	}
}

// item is a schedule to declare: every d on the grid of the epoch. Edits change the spec.
func (w *world) item(name string, every time.Duration, edits ...func(*schedule.Spec)) schedule.Schedule {
	w.Helper()
	spec := schedule.Spec{
		Trigger: schedule.Trigger{Every: schedule.Duration(every)},
		Target:  schedule.Target{Command: &schedule.Command{Argv: []string{"true"}}},
	}
	for _, edit := range edits {
		edit(&spec)
	}
	spec, err := spec.Complete(schedule.Defaults{})
	w.must(err)
	return schedule.Schedule{Name: name, Spec: spec}
}

// file declares the whole set of origin file.
func (w *world) file(items ...schedule.Schedule) store.Applied {
	w.Helper()
	return w.apply(store.Apply{Origin: schedule.OriginFile, Items: items, By: "tester"})
}

func (w *world) apply(a store.Apply) store.Applied {
	w.Helper()
	done, err := w.Apply(w.Context(), a)
	w.must(err)
	return done
}

// declare adds one schedule of origin file that is due every minute, lets a planner cover it, and returns its ID.
func (w *world) declare(name string, edits ...func(*schedule.Spec)) schedule.ID {
	w.Helper()
	done := w.apply(store.Apply{
		Origin: schedule.OriginFile, Keep: true, Items: []schedule.Schedule{w.item(name, time.Minute, edits...)}, By: "tester",
	})
	if len(done.Created) != 1 {
		w.Fatalf("created %d schedules, want 1", len(done.Created))
	}
	w.cover(done.Created[0])
	return done.Created[0]
}

// lead takes the claim of shard 0 with the watermark at the store's clock, unless the test has it already.
func (w *world) lead() {
	w.Helper()
	if w.claim.Token != "" {
		return
	}
	next := timeline.Claim{
		Token: "planner", Epoch: 1, Nonce: "n0", ExpiresAt: w.clk.Now().Add(never), CoveredUntil: w.clk.Now(), SyncedUntil: w.clk.Now(),
	}
	swapped, err := w.For(0).Swap(w.Context(), nil, next)
	w.must(err)
	if !swapped {
		w.Fatal("a shard without a claim could not be claimed")
	}
	w.claim = next
}

// next is the claim that follows the test's own: a new nonce, the watermark where it is.
func (w *world) next() timeline.Claim {
	next := w.claim
	w.made++
	next.Nonce = fmt.Sprintf("n%d", w.made)
	return next
}

// window is a commit that moves the watermark to until, or leaves it where it is when it is there already.
func (w *world) window(until time.Time, plans ...store.Plan) store.Commit {
	w.Helper()
	w.lead()
	next := w.next()
	if until.After(next.CoveredUntil) {
		next.CoveredUntil = until
	}
	return store.Commit{Old: w.claim, Next: next, Lead: never, Plans: plans}
}

func (w *world) commit(c store.Commit) store.Committed {
	w.Helper()
	done, err := w.Commit(w.Context(), c)
	w.must(err)
	w.claim = c.Next
	return done
}

// cover lets a planner settle schedules up to the watermark: their pins and dirty marks go.
func (w *world) cover(ids ...schedule.ID) {
	w.Helper()
	var plans []store.Plan
	for _, id := range ids {
		p := w.plan(id)
		p.Unpin = true
		plans = append(plans, p)
	}
	w.commit(w.window(w.clk.Now(), plans...))
}

// plan plans runs of kind scheduled from the schedule's row as it is.
func (w *world) plan(id schedule.ID, runs ...run.Run) store.Plan {
	w.Helper()
	row := w.row(id)
	return store.Plan{Schedule: id, Tenant: row.Tenant, Change: row.Change, From: w.clk.Now(), Runs: runs}
}

// due is a run of kind scheduled as a planner makes it.
func (w *world) due(id schedule.ID, due time.Time, edits ...func(*run.Run)) run.Run {
	r := run.Run{
		ID: w.newID(), Schedule: id, Revision: 1, Kind: run.Scheduled, Status: run.Pending, Due: due, ReadyAt: due, Pool: "default",
		Overlap: schedule.OverlapAllow, MaxAttempts: 1, MaxDeliveries: 5, OnLost: schedule.OnLostRedeliver, Epoch: 1,
	}
	for _, edit := range edits {
		edit(&r)
	}
	return r
}

// insert commits runs of one schedule without moving the watermark.
func (w *world) insert(id schedule.ID, runs ...run.Run) []run.ID {
	w.Helper()
	done := w.commit(w.window(time.Time{}, w.plan(id, runs...)))
	if done.Inserted != len(runs) {
		w.Fatalf("inserted %d runs of %d", done.Inserted, len(runs))
	}
	ids := make([]run.ID, len(runs))
	for i, r := range runs {
		ids[i] = r.ID
	}
	return ids
}

// rows is the snapshot by schedule.
func (w *world) rows() map[schedule.ID]schedule.Row {
	w.Helper()
	out := map[schedule.ID]schedule.Row{}
	for row, err := range w.Snapshot(w.Context(), 0) {
		w.must(err)
		if _, twice := out[row.ID]; twice {
			w.Fatalf("the snapshot lists %s twice", row.ID)
		}
		out[row.ID] = row
	}
	return out
}

func (w *world) row(id schedule.ID) schedule.Row {
	w.Helper()
	row, listed := w.rows()[id]
	if !listed {
		w.Fatalf("the snapshot does not list %s", id)
	}
	return row
}

// dirty lists the marked schedules.
func (w *world) dirty() []schedule.ID {
	w.Helper()
	var ids []schedule.ID
	for row, err := range w.Dirty(w.Context(), 0) {
		w.must(err)
		ids = append(ids, row.ID)
	}
	return sorted(ids)
}

func sorted[T ~[16]byte](ids []T) []T {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b T) int { return slices.Compare(a[:], b[:]) })
	return ids
}

// equal compares two values; nil and empty slices and maps are the same. Most pairs are equal in every bit, which is
// found out sooner.
func equal(a, b any) bool { return reflect.DeepEqual(a, b) || cmp.Equal(a, b, cmpopts.EquateEmpty()) }
