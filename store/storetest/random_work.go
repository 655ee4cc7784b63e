package storetest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// working are the operations of workers and sweepers.
func working() []operation {
	return []operation{
		{"beat", 6, workers, randomBeat},
		{"leave", 1, workers, randomLeave},
		{"take", 20, workers, randomTake},
		{"start", 8, workers, randomStart},
		{"output", 4, workers, randomOutput},
		{"settle", 16, workers, randomSettle},
		{"release", 3, workers, randomRelease},
		{"recover", 5, workers, randomRecover},
	}
}

func randomBeat(p *pair) (string, [2]any) {
	id := p.node()
	if len(p.nodes) == 0 || p.chance(4) {
		id = run.NodeID(p.newID())
		p.nodes = append(p.nodes, id)
	}
	n := store.Node{ID: id, Host: "host", PID: p.r.IntN(100), Roles: []string{"worker"}, StartedAt: start}
	return id.String(), p.both(func(ctx context.Context, _ int, s store.Store) (any, error) { return nil, s.Beat(ctx, n, lease) })
}

// node is one of the latest nodes, mostly.
func (p *pair) node() run.NodeID {
	if id, known := pick(p, p.nodes[max(0, len(p.nodes)-3):]); known && !p.chance(30) {
		return id
	}
	return run.NodeID(p.newID())
}

func randomLeave(p *pair) (string, [2]any) {
	id := p.node()
	return id.String(), p.both(func(ctx context.Context, _ int, s store.Store) (any, error) { return nil, s.Leave(ctx, id) })
}

func randomTake(p *pair) (string, [2]any) {
	ask := store.Take{Node: p.node(), Ahead: time.Duration(p.r.IntN(1500)) * time.Millisecond}
	for _, pool := range []string{"a", "b"} {
		if !p.chance(4) {
			ask.Pools = append(ask.Pools, store.PoolRoom{Pool: pool, Free: p.r.IntN(4)})
		}
	}
	var taken [2]store.Taken
	answers := p.both(func(ctx context.Context, i int, s store.Store) (any, error) {
		var err error
		taken[i], err = s.Take(ctx, ask)
		answer := taken[i]
		answer.Runs = nil
		for _, r := range taken[i].Runs {
			r.ScheduleName = ""
			answer.Runs = append(answer.Runs, comparable(r))
		}
		answer.Skipped = sorted(answer.Skipped)
		return answer, err
	})
	for i, r := range taken[0].Runs {
		if i < len(taken[1].Runs) {
			p.held = append(p.held, [2]store.Held{held(r), held(taken[1].Runs[i])})
		}
	}
	return fmt.Sprintf("%s %v ahead %s: %d runs, %d skipped", ask.Node, ask.Pools, ask.Ahead, len(taken[0].Runs), len(taken[0].Skipped)), answers
}

// someHeld is a run that was taken once, mostly lately.
func (p *pair) someHeld() (h [2]store.Held, ok bool) {
	recent := p.held[max(0, len(p.held)-6):]
	if p.chance(4) {
		recent = p.held
	}
	return pick(p, recent)
}

func randomStart(p *pair) (string, [2]any) {
	var asks [2][]store.Started
	for range 1 + p.r.IntN(2) {
		h, ok := p.someHeld()
		for i := range asks {
			if ok && (len(asks[i]) == 0 || asks[i][0].Run != h[i].Run) {
				asks[i] = append(asks[i], store.Started{Held: h[i], At: p.clk.Now()})
			}
		}
	}
	return fmt.Sprint(len(asks[0]), " runs"), p.both(func(ctx context.Context, i int, s store.Store) (any, error) {
		lost, err := s.Start(ctx, asks[i])
		return runsOf(lost), err
	})
}

// runsOf drops the fences, which each store counts for itself.
func runsOf(held []store.Held) (ids []run.ID) {
	for _, h := range held {
		ids = append(ids, h.Run)
	}
	return sorted(ids)
}

func randomOutput(p *pair) (string, [2]any) {
	h, _ := p.someHeld()
	chunks := p.chunks()
	return h[0].Run.String(), p.both(func(ctx context.Context, i int, s store.Store) (any, error) { return nil, s.Output(ctx, h[i], chunks) })
}

func (p *pair) chunks() (out []store.Chunk) {
	for range p.r.IntN(3) {
		seq := p.r.IntN(6) // some are sent again
		out = append(out, store.Chunk{Delivery: 1 + p.r.IntN(2), Seq: seq, Stream: store.Stdout, Data: fmt.Appendf(nil, "%d;", seq)})
	}
	return out
}

func randomSettle(p *pair) (string, [2]any) {
	h, ok := p.someHeld()
	if !ok {
		return "nothing", [2]any{}
	}
	o := store.Outcome{
		Status: []run.Status{run.Succeeded, run.Succeeded, run.Failed, run.RetryScheduled, run.Cancelled, run.DeadLetter}[p.r.IntN(6)],
		Reason: "given", StartedAt: p.clk.Now().Add(-time.Second), FinishedAt: p.clk.Now(), Output: p.chunks(), OutputBytes: int64(p.r.IntN(2)),
	}
	o.Answered = o.Status != run.Cancelled && o.Status != run.DeadLetter
	if o.Status == run.RetryScheduled {
		o.ReadyAt = p.clk.Now().Add(time.Duration(p.r.IntN(40)) * time.Second)
	}
	if o.Status != run.Succeeded {
		code := p.r.IntN(5)
		o.ErrorCode, o.Error, o.ExitCode = "EXIT_CODE", "exit code", &code
	}
	if p.chance(15) {
		h[0].Fence, h[1].Fence = h[0].Fence+1_000_000, h[1].Fence+1_000_000
	}
	return fmt.Sprintf("%s %s", h[0].Run, o.Status), p.both(func(ctx context.Context, i int, s store.Store) (any, error) {
		mine := o
		mine.Held = h[i]
		refused, err := s.Settle(ctx, run.NodeID{}, []store.Outcome{mine})
		for j := range refused {
			refused[j].Fence = 0
		}
		return refused, err
	})
}

func randomRelease(p *pair) (string, [2]any) {
	h, _ := p.someHeld()
	return h[0].Run.String(), p.both(func(ctx context.Context, i int, s store.Store) (any, error) {
		return nil, s.Release(ctx, []store.Held{h[i]})
	})
}

func randomRecover(p *pair) (string, [2]any) {
	silent, err := p.stores[0].Silent(p.Context())
	if err != nil {
		p.Fatal(err)
	}
	n, ok := pick(p, silent)
	if !ok || p.chance(6) {
		n.ID, n.SeenAt = p.node(), p.clk.Now().Add(-time.Minute)
	}
	return n.ID.String(), p.both(func(ctx context.Context, _ int, s store.Store) (any, error) {
		recovered, err := s.Recover(ctx, n.ID, n.SeenAt, 1000)
		return sortedRecovered(recovered), err
	})
}

// defining are the operations of people and files.
func defining() []operation {
	return []operation{
		{"apply", 5, people, randomApply},
		{"pause", 4, people, randomPause},
		{"resume", 4, people, randomResume},
	}
}

func randomApply(p *pair) (string, [2]any) {
	a := store.Apply{Origin: schedule.OriginFile, By: "tester", Keep: !p.chance(4)}
	for _, name := range []string{"a", "b", "c"} {
		for _, tenant := range []string{"", "acme", "ACME"} {
			if p.chance(3) {
				continue
			}
			if p.chance(25) {
				a.Origin = schedule.OriginCode // whose names are taken, mostly
			}
			a.Items = append(a.Items, p.randomItem(tenant, name))
		}
	}
	answers := p.both(func(ctx context.Context, _ int, s store.Store) (any, error) {
		done, err := s.Apply(ctx, a)
		done.Created, done.Updated, done.Removed = sorted(done.Created), sorted(done.Updated), sorted(done.Removed)
		if len(done.Created)+len(done.Updated)+len(done.Removed) == 0 {
			done.At = time.Time{} // nothing took effect
		}
		done.Change = sortedChange(done.Change)
		return done, err
	})
	if done, ok := answers[0].(store.Applied); ok {
		for _, id := range done.Created {
			if !slices.Contains(p.schedules, id) { // or it was revived
				p.schedules = append(p.schedules, id)
			}
		}
	}
	return fmt.Sprintf("%s, %d items, keep %v: %v", a.Origin, len(a.Items), a.Keep, answers[0]), answers
}

func sortedChange(c store.Change) store.Change {
	c.Cancelled, c.NotRevoked = sorted(c.Cancelled), sorted(c.NotRevoked)
	return c
}

// randomItem differs in what it says from time to time, so that most definitions are equal to the stored one.
func (p *pair) randomItem(tenant, name string) schedule.Schedule {
	spec := schedule.Spec{
		Trigger: schedule.Trigger{Every: schedule.Duration(time.Minute)}, Target: schedule.Target{Command: &schedule.Command{Argv: []string{"true"}}},
	}
	if p.chance(6) {
		spec.Trigger.Every = schedule.Duration(2 * time.Minute)
	}
	spec, err := spec.Complete(schedule.Defaults{})
	if err != nil {
		p.Fatal(err)
	}
	item := schedule.Schedule{Tenant: tenant, Name: name, Spec: spec}
	if p.chance(6) {
		item.Labels = map[string]string{"n": fmt.Sprint(p.r.IntN(2))}
	}
	return item
}

func (p *pair) someSchedule() schedule.ID {
	if id, ok := pick(p, p.schedules); ok {
		return id
	}
	return schedule.ID(p.newID())
}

func randomPause(p *pair) (string, [2]any) {
	id := p.someSchedule()
	return id.String(), p.both(func(ctx context.Context, _ int, s store.Store) (any, error) {
		c, err := s.Pause(ctx, id, schedule.Pause{By: "tester", Reason: "because"})
		return sortedChange(c), err
	})
}

func randomResume(p *pair) (string, [2]any) {
	id, catchUp := p.someSchedule(), p.chance(2)
	return fmt.Sprintf("%s, catch up %v", id, catchUp), p.both(func(ctx context.Context, _ int, s store.Store) (any, error) {
		c, err := s.Resume(ctx, id, "tester", catchUp)
		return sortedChange(c), err
	})
}

// outputText reads all output of a run, delivery by delivery.
func outputText(ctx context.Context, s store.Store, id run.ID, deliveries int) (string, error) {
	var b bytes.Buffer
	for d := 1; d <= max(deliveries, 2); d++ {
		next, err := s.ReadOutput(ctx, id, d, 0, &b)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "[%d]", next)
	}
	return b.String(), nil
}
