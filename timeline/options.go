package timeline

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"time"
)

// Options configure a Loop. The zero value is complete.
type Options struct {
	// Sync is how often definitions are read: Changes, or Snapshot if the source has none. Default 10 s.
	Sync time.Duration
	// Snapshot is how often the full set is read, since a feed of changes cannot show what is gone. Default 30 x Sync.
	Snapshot time.Duration
	// Lead is how far a window reaches ahead of now. Default 0: only what is past is selected.
	Lead time.Duration
	// Recover is how far back coverage may reach: what an older watermark owes is given up and told to Dropped.
	// Default 300 s; negative: without limit.
	Recover time.Duration
	// Lease is how long a claim lasts without a renewal, and so how long a takeover from a dead leader takes. Default
	// 3 x (Tick + Lead); shorter than 2 x is refused, since one slow delivery would cost the claim. Under Pinned,
	// where nothing is held between a tick and its commit, Lead does not count here.
	Lease time.Duration
	// Tick is the cadence at which a follower looks at the claim. Default 1 s.
	Tick time.Duration
	// MaxIdle is the longest time that NextWake lies ahead. Default 60 s.
	MaxIdle time.Duration
	// StoreTimeout bounds each call to the claim store and each commit; a call that takes longer counts as a lost
	// claim, and its result as unknown. Default Lease / 3.
	StoreTimeout time.Duration
	// Renew is how much of the lease is spent before a tick renews it. Default Lease / 2; at most 80 % of it.
	Renew time.Duration
	// Token is the identity of this loop among all that share the claim. A loop takes over at once from its own
	// earlier self, so two that live at the same time must not share it. Default random.
	Token string
	// Clock is the wall clock that says what is due. Default the machine's. It is read from any goroutine.
	Clock Clock
	// Elapsed is a clock that nobody sets, from any fixed start; it should go on while the machine sleeps. The lease
	// is judged by the larger of its reading and the wall clock's. Default Go's monotonic clock, which does not go on.
	// It is read from any goroutine.
	Elapsed func() time.Duration
	// Pinned is for a caller that keeps each definition's own coverage itself: it comes from Row.Pin and goes by
	// Verdict.Pinned, and Row.ActiveFrom says nothing.
	Pinned bool
	// MaxPinned bounds the pinned entries of one window; the rest is counted in Window.Deferred and comes later, what
	// is due soonest first. Default 5000.
	MaxPinned int
	// OnError is told what does not end a call: a row that could not be built, a renewal that failed while the lease
	// still holds, and every loss of the claim (StageLease, ErrFenced); in Run, everything but the callback's own error. It
	// is called from the loop's goroutine. Default: to slog.Default, except that in Run what fails in StageReconcile or
	// StageMake is returned by Run. A program that is to live on with its last good definitions sets it.
	OnError func(stage Stage, id string, err error)
	// Dropped is told which occurrences were given up because of Recover: how many, the first and the last of them.
	// Occurrences of a trigger that cannot be counted by arithmetic are counted up to 10,000 at most. Default: OnError
	// with StageDispatch.
	Dropped func(id string, first, last time.Time, count int)
	// Metrics receives measurements. Default: nobody.
	Metrics Metrics
}

// complete fills in defaults and names the field that cannot be used.
func (o Options) complete() (Options, error) {
	fill(&o.Sync, 10*time.Second)
	fill(&o.Snapshot, 30*o.Sync)
	fill(&o.Recover, 300*time.Second)
	fill(&o.Tick, time.Second)
	fill(&o.MaxIdle, time.Minute)
	fill(&o.Lease, 3*o.delivery())
	fill(&o.StoreTimeout, o.Lease/3)
	fill(&o.Renew, o.Lease/2)
	fill(&o.MaxPinned, 5000)
	if o.Token == "" {
		o.Token = rand.Text()
	}
	if o.Clock == nil {
		o.Clock = wallClock{}
	}
	if o.Elapsed == nil {
		start := time.Now()
		o.Elapsed = func() time.Duration { return time.Since(start) }
	}
	if o.Metrics == nil {
		o.Metrics = unmeasured{}
	}
	return o, o.validate()
}

func (o Options) validate() error {
	for _, f := range []struct {
		name    string
		value   time.Duration
		atLeast time.Duration
	}{
		{"Sync", o.Sync, time.Microsecond},
		{"Snapshot", o.Snapshot, o.Sync},
		{"Lead", o.Lead, 0},
		{"Tick", o.Tick, time.Microsecond},
		{"MaxIdle", o.MaxIdle, time.Microsecond},
		{"Lease", o.Lease, 2 * o.delivery()},
		{"StoreTimeout", o.StoreTimeout, time.Microsecond},
		{"Renew", o.Renew, time.Microsecond},
		{"MaxPinned", time.Duration(o.MaxPinned), 1},
	} {
		if f.value < f.atLeast {
			return fmt.Errorf("%w: %s is %v, less than %v", ErrOptions, f.name, f.value, f.atLeast)
		}
	}
	if o.StoreTimeout >= o.Lease {
		return fmt.Errorf("%w: StoreTimeout is %v, not less than Lease (%v)", ErrOptions, o.StoreTimeout, o.Lease)
	}
	if o.Renew > o.Lease/10*8 {
		return fmt.Errorf("%w: Renew is %v, more than 80 %% of Lease (%v)", ErrOptions, o.Renew, o.Lease)
	}
	return nil
}

// delivery is how long one tick's work may take as planned.
func (o Options) delivery() time.Duration {
	if o.Pinned {
		return o.Tick
	}
	return o.Tick + o.Lead
}

// guard is the age of the last confirmed renewal at which a leader stops trusting its lease.
func (o Options) guard() time.Duration { return o.Lease / 10 * 9 }

func (o Options) reportDropped(id string, first, last time.Time, count int) {
	o.OnError(StageDispatch, id, fmt.Errorf("timeline: %d occurrences from %s to %s are older than Recover (%v) and were given up",
		count, first.Format(time.RFC3339Nano), last.Format(time.RFC3339Nano), o.Recover))
}

func logError(stage Stage, id string, err error) {
	slog.Default().Error("timeline", "stage", string(stage), "schedule_id", id, "reason", err)
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }
