package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// script is what happens in a simulation, drawn from its seed before it begins. Times count from the beginning.
type script struct {
	length   time.Duration
	outages  []stretch // no planner lives
	wrong    stretch   // the machine's clock is wrong by hours
	wrongBy  time.Duration
	planners [2][]processLife
	workers  [2][]processLife
	steps    []stepAt
	stalls   [4][]stretch // of the planners, then of the workers: no call of their store returns
	meddling []time.Duration

	seen []Outage // the outages by the machine's clock, once they were played
}

type stretch struct{ from, to time.Duration }

// processLife is one life of a process in a script.
type processLife struct {
	stretch
	killed bool
}

type stepAt struct {
	at time.Duration
	by time.Duration
}

// margin is how long around an outage, and around the clock being wrong, nothing else goes wrong.
const margin = 3 * time.Minute

func drawScript(seed uint64, length time.Duration) *script {
	random := rand.New(rand.NewPCG(seed, 2<<32))
	between := func(a, b time.Duration) time.Duration { return a + time.Duration(random.Int64N(max(int64(b-a), 1))) }
	part := func(n, of int) time.Duration { return length * time.Duration(n) / time.Duration(of) }
	s := &script{length: length}
	for _, at := range []time.Duration{between(part(4, 24), part(9, 24)), between(part(15, 24), part(20, 24))} {
		s.outages = append(s.outages, stretch{at, at + between(part(15, 1440), part(70, 1440))})
	}
	if at := between(part(11, 24), part(13, 24)); length >= time.Hour { // else there is no time for it between the outages
		s.wrong = stretch{at, at + between(20*time.Second, 110*time.Second)}
		s.wrongBy = []time.Duration{time.Hour, -time.Hour, 8 * time.Hour, -20 * time.Second}[random.IntN(4)]
	}
	s.planners[0] = s.lives(random, true, stretch{}, [4]time.Duration{10 * time.Minute, 90 * time.Minute, time.Second, 45 * time.Second})
	s.planners[1] = s.lives(random, true, stretch{from: 20 * time.Minute}, [4]time.Duration{2 * time.Minute, 8 * time.Minute, 40 * time.Minute, 90 * time.Minute})
	s.workers[0] = s.lives(random, false, stretch{}, [4]time.Duration{10 * time.Minute, 2 * time.Hour, time.Second, 3 * time.Minute})
	s.workers[1] = s.lives(random, false, stretch{}, [4]time.Duration{10 * time.Minute, 2 * time.Hour, time.Second, 8 * time.Minute})
	for at := between(time.Minute, part(1, 8)); at < length; at += between(part(1, 16), part(1, 6)) {
		by := between(-4800*time.Millisecond, 4800*time.Millisecond)
		if !s.quiet(at) {
			s.steps = append(s.steps, stepAt{at + 123457*time.Microsecond, by})
		}
	}
	for i := range s.stalls {
		for at := between(time.Minute, part(1, 4)); at < length; at += between(part(1, 16), part(1, 4)) {
			if end := at + between(10*time.Second, 200*time.Second); !s.quiet(at) && !s.quiet(end) {
				s.stalls[i] = append(s.stalls[i], stretch{at, end})
			}
		}
	}
	for at := between(time.Minute, part(1, 24)); at < length-10*time.Minute; at += between(0, part(1, 24)) {
		s.meddling = append(s.meddling, at)
	}
	return s
}

// lives draws when a process lives: for between the first two of the bounds at a time, and dead for between the others.
func (s *script) lives(random *rand.Rand, planner bool, first stretch, bounds [4]time.Duration) (all []processLife) {
	between := func(a, b time.Duration) time.Duration { return a + time.Duration(random.Int64N(int64(b-a))) }
	for at := first.from; at < s.length; {
		end := at + between(bounds[0], bounds[1])
		for s.quiet(end) {
			end += margin
		}
		all = append(all, processLife{stretch{at, end}, random.IntN(2) == 0})
		at = end + between(bounds[2], bounds[3])
		for s.quiet(at) {
			at += margin
		}
	}
	if !planner {
		return all
	}
	for _, o := range s.outages {
		all = cut(all, o)
		if first.from == 0 {
			all = begin(all, o.to, s.length)
		}
	}
	return all
}

// begin makes sure that a life begins at the end of an outage, or else the outage would last until the next one does.
func begin(all []processLife, at, length time.Duration) []processLife {
	next := length
	for _, l := range all {
		if l.from == at {
			return all
		}
		if l.from > at {
			next = min(next, l.from)
		}
	}
	return append(all, processLife{stretch{at, next - time.Second}, false})
}

// cut takes an outage out of lives.
func cut(all []processLife, o stretch) (out []processLife) {
	for _, l := range all {
		if l.to <= o.from || l.from >= o.to {
			out = append(out, l)
			continue
		}
		if l.from < o.from {
			out = append(out, processLife{stretch{l.from, o.from}, l.killed})
		}
		if l.to > o.to {
			out = append(out, processLife{stretch{o.to, l.to}, l.killed})
		}
	}
	return out
}

// quiet tells whether nothing is to go wrong at a time but what goes wrong in large.
func (s *script) quiet(at time.Duration) bool {
	near := func(t stretch, before time.Duration) bool { return at >= t.from-before && at <= t.to+margin }
	return s.wrongBy != 0 && near(s.wrong, margin) || slices.ContainsFunc(s.outages, func(o stretch) bool { return near(o, time.Minute) })
}

// action is one thing to do at one time.
type action struct {
	at time.Duration
	do func()
}

// play does everything in the script, and returns at its end. Changes of definitions are made beside the rest, because
// some of them wait for their moment.
func (s *script) play(w *world, o *operator) {
	var actions []action
	for i := range 2 {
		for _, l := range s.planners[i] {
			actions = append(actions, w.lifeOf(l, s.length, func() *process { return w.startPlanner(i, s.stalls[i]...) })...)
		}
		for _, l := range s.workers[i] {
			actions = append(actions, w.lifeOf(l, s.length, func() *process { return w.startWorker(i, s.stalls[2+i]...) })...)
		}
	}
	for _, step := range s.steps {
		actions = append(actions, action{step.at, func() { w.step.Add(int64(step.by)) }})
	}
	if s.wrongBy != 0 {
		actions = append(actions, action{s.wrong.from, func() { w.step.Add(int64(s.wrongBy)) }}, action{s.wrong.to, func() { w.step.Add(-int64(s.wrongBy)) }})
	}
	for _, q := range append([]stretch{s.wrong}, s.outages...) {
		if q.to == 0 {
			continue
		}
		actions = append(actions, action{q.from - time.Minute, func() { w.calm.Store(true) }}, action{q.to + margin, func() { w.calm.Store(false) }})
	}
	for i, o := range s.outages {
		s.seen = append(s.seen, Outage{})
		actions = append(actions, action{o.from, func() { s.seen[i].Down = w.clk.Now() }}, action{o.to, func() { s.seen[i].Up = w.clk.Now() }})
	}
	slices.SortStableFunc(actions, func(a, b action) int { return cmp.Compare(a.at, b.at) })
	var beside sync.WaitGroup
	beside.Go(func() { s.meddle(w, o) })
	for _, a := range actions {
		w.sleepUntil(a.at)
		a.do()
	}
	w.sleepUntil(s.length)
	beside.Wait()
}

// lifeOf are the two ends of a process's life within the simulation; what lives at its end is stopped then.
func (w *world) lifeOf(l processLife, length time.Duration, start func() *process) []action {
	if l.from >= length {
		return nil
	}
	var p *process
	end := action{min(l.to, length), func() { p.stop() }}
	if l.killed && l.to < length {
		end.do = func() { p.abandon() }
	}
	return []action{{l.from, func() { p = start() }}, end}
}

// meddle changes definitions, but not while the clock is wrong: what takes effect then would take effect hours off.
func (s *script) meddle(w *world, o *operator) {
	for _, at := range s.meddling {
		if at < w.since() {
			continue
		}
		w.sleepUntil(at)
		near := false
		for ahead := time.Duration(0); ahead <= 10*time.Minute; ahead += time.Minute { // it may wait for its moment
			near = near || s.quiet(w.since()+ahead)
		}
		if !near {
			o.meddle()
		}
	}
}
