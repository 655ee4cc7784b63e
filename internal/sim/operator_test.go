package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// operator changes definitions, and keeps the history that the count is based on: what was declared, and the instants
// that the store named.
type operator struct {
	w          *world
	random     *rand.Rand
	set        []*managed
	notRevoked map[run.ID]bool
}

// managed is one schedule in the operator's books.
type managed struct {
	*declared
	history      Schedule
	live, paused bool
	revision     uint64
}

func (w *world) operator(set []*declared) *operator {
	o := &operator{w: w, random: rand.New(rand.NewPCG(w.seed, 1<<32)), notRevoked: map[run.ID]bool{}}
	for _, d := range set {
		id := schedule.DeclaredID(schedule.OriginFile, "", d.name)
		o.set = append(o.set, &managed{declared: d, live: true, history: Schedule{ID: id, Name: d.name, Revisions: map[uint64]Revision{}}})
	}
	return o
}

// declare hands the whole set over, as a file that has changed, and takes note of what that did to the given ones.
func (o *operator) declare(changed ...*managed) {
	o.w.Helper()
	a := store.Apply{Origin: schedule.OriginFile, By: "simulation"}
	for _, m := range o.set {
		if m.live {
			spec, err := m.spec()
			o.w.must(err)
			a.Items = append(a.Items, schedule.Schedule{Name: m.name, Spec: spec})
		}
	}
	done, err := o.w.handles[0].Apply(o.w.Context(), a)
	o.w.must(err)
	if n := len(done.Created) + len(done.Updated) + len(done.Removed); n != len(changed) {
		o.w.Errorf("%d schedules were to change, and %d did: %+v", len(changed), n, done)
	}
	for _, m := range changed {
		m.endSpan(done.At)
		if !m.live {
			m.paused = false
			m.history.Removals = append(m.history.Removals, done.At)
			continue
		}
		m.revision++
		m.history.Revisions[m.revision] = m.Revision
		m.beginSpan(done.At)
	}
	o.note(done.Change)
}

func (o *operator) note(c store.Change) {
	for _, id := range c.NotRevoked {
		o.notRevoked[id] = true
	}
}

func (m *managed) endSpan(at time.Time) {
	m.history.Changes = append(m.history.Changes, at)
	if n := len(m.history.Spans); n > 0 && m.history.Spans[n-1].To.IsZero() {
		m.history.Spans[n-1].To = at
	}
}

func (m *managed) beginSpan(at time.Time) {
	m.history.Spans = append(m.history.Spans, Span{Revision: m.revision, From: at, Paused: m.paused})
}

// meddle does something to one of the schedules.
func (o *operator) meddle() {
	o.w.Helper()
	m := o.set[o.random.IntN(len(o.set))]
	if o.random.IntN(3) > 0 {
		m = o.aim()
	}
	switch n := o.random.IntN(10); {
	case !m.live:
		m.live = true
		o.declare(m)
	case m.paused && n < 7:
		o.resume(m, o.random.IntN(2) == 0)
	case n < 4:
		o.edit(m)
	case n < 8 && !m.paused:
		o.pause(m)
	default:
		m.live = false
		o.declare(m)
	}
}

// aim waits until just before, or just after, one of the schedules is due: where a change and a start are close.
func (o *operator) aim() *managed {
	for tries := 1; ; tries++ {
		m := o.set[o.random.IntN(len(o.set))]
		now := o.w.clk.Now()
		due := m.Rule.Due(now.Add(3*time.Second), now.Add(6*time.Minute))
		if len(due) == 0 && tries < 100 {
			continue
		}
		if len(due) == 0 {
			return m
		}
		before := []time.Duration{1900, 1300, 900, 400, 200, 100, 3, -3, -60}[o.random.IntN(9)] * time.Millisecond
		time.Sleep(due[0].Sub(now) - before)
		return m
	}
}

// edit changes when it is due, or its policies, or both.
func (o *operator) edit(m *managed) {
	d := drawer{o.random, o.w.begin}
	was := *m.declared
	rule := was.Rule
	if o.random.IntN(2) == 0 && rule.Max == 0 && len(rule.Cron) > 0 && !rule.Seconds {
		rule.Cron = []string{[]string{"*/5 * * * *", "7 * * * *", "*/12 * * * *", "0,30 * * * *"}[o.random.IntN(4)]}
		rule.Zone = d.zone()
	}
	jitter := was.Jitter
	m.Revision = d.policies(rule, m.job)
	m.Jitter = jitter
	if jitter > 0 {
		m.Overlap, m.LockKey = schedule.OverlapAllow, ""
	}
	before, err := was.spec()
	o.w.must(err)
	after, err := m.spec()
	o.w.must(err)
	a, err := schedule.EncodeSpec(before)
	o.w.must(err)
	b, err := schedule.EncodeSpec(after)
	o.w.must(err)
	if slices.Equal(a, b) {
		return
	}
	o.declare(m)
}

func (o *operator) pause(m *managed) {
	done, err := o.w.handles[1].Pause(o.w.Context(), m.history.ID, schedule.Pause{By: "simulation", Reason: "a test"})
	o.w.must(err)
	m.endSpan(done.At)
	m.paused = true
	m.beginSpan(done.At)
	o.note(done)
}

// resume ends a pause. With catchUp the schedule owes what the pause held back, as if there had been none.
func (o *operator) resume(m *managed, catchUp bool) {
	done, err := o.w.handles[0].Resume(o.w.Context(), m.history.ID, "simulation", catchUp)
	o.w.must(err)
	m.paused = false
	if catchUp {
		m.history.Changes = append(m.history.Changes, done.At)
		last := &m.history.Spans[len(m.history.Spans)-1]
		last.Paused, last.CaughtUp = false, true
	} else {
		m.endSpan(done.At)
		m.beginSpan(done.At)
	}
	o.note(done)
}

// histories are what the count is based on.
func (o *operator) histories() (all []Schedule) {
	for _, m := range o.set {
		all = append(all, m.history)
	}
	return all
}
