package timeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// handOver gives the callback a window, one due instant after the other. It reports whether that was all of it, so that
// it can be committed; an error ends Run.
//
// A tick takes no longer than Tick and Lead (R-DEL-7): what is left of a long backlog belongs to the next one, so that a
// failure repeats little of it. A context that ends leaves the rest to whoever comes next.
func (l *Loop) handOver(ctx context.Context, w Window, deliver Callback) (bool, error) {
	instants := l.instantsOf(w)
	for first := true; instants.more(); first = false {
		due, batch := instants.take()
		if !first && l.o.Elapsed()-l.began >= l.o.delivery() && !due.After(l.now()) && l.cut(due) {
			return true, nil
		}
		batch, ok, err := l.await(ctx, due, batch)
		if err == nil && ended(ctx) {
			return l.cut(due), nil
		}
		if err != nil || !ok {
			return false, err
		}
		if len(batch) == 0 {
			continue
		}
		l.o.Metrics.Observe(SignalDelay, max(0, l.o.Clock.Now().Sub(due).Seconds()), len(batch))
		l.o.Metrics.Add(SignalDispatched, "", len(batch))
		if err := deliver(ctx, due, batch); err != nil {
			l.o.Metrics.Add(SignalErrors, StageDispatch, 1)
			return false, fmt.Errorf("timeline: hand over what was due at %s: %w", due.Format(time.RFC3339Nano), err)
		}
	}
	return true, nil
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

// cut ends the open window before an instant, and reports whether there is anything left of it to be committed.
func (l *Loop) cut(due time.Time) bool {
	if end := whole(due); l.open && end.After(l.window.Start) {
		l.window.End = end
		return true
	}
	return false
}

// await holds a batch until its instant has come, with both duties of the loop going on. It returns what of it still
// holds then, or as soon as nothing does, and whether that may be handed over: not when ctx ended or the claim was lost.
func (l *Loop) await(ctx context.Context, due time.Time, batch []Occurrence) ([]Occurrence, bool, error) {
	fresh := l.o.Renew // how old a confirmed lease may be
	for {
		if err := l.refresh(ctx); err != nil || ended(ctx) {
			return nil, false, err
		}
		if ok, err := l.mayHandOver(ctx, fresh); err != nil || !ok {
			return nil, false, err
		}
		batch = slices.DeleteFunc(batch, func(o Occurrence) bool { return !l.IsCurrent(o) })
		now := l.now()
		if len(batch) == 0 || !due.After(now) {
			return batch, true, nil
		}
		// A renewal that fails is tried again after a pause; nothing makes the instant itself late.
		until := earlier(due, later(earlier(l.nextRead, now.Add(l.o.Renew-l.age())), now.Add(pause)))
		// Leadership is confirmed once more shortly before the instant, so that the store's answer costs no lateness.
		if ahead := due.Add(-pause); now.Before(ahead) {
			until = earlier(until, ahead)
		}
		if !l.wait(ctx, until, nil) {
			return nil, false, nil
		}
		if !l.now().Before(due.Add(-pause)) {
			fresh = min(l.o.Renew, l.o.Tick)
		}
	}
}

// mayHandOver confirms that this loop leads still, and that the window it selected is the one to go on with (R-DEL-5).
func (l *Loop) mayHandOver(ctx context.Context, fresh time.Duration) (bool, error) {
	if l.open && (l.leading || l.unsure) {
		_, err := l.leadFresh(ctx, fresh)
		if l.failed = err != nil; l.failed && !ended(ctx) {
			return false, l.fail(StageLease, err)
		}
	}
	return !ended(ctx) && l.open && l.leading && l.Leading(), nil
}

// An instants goes through the due instants of a window without listing them: a backlog may be long.
type instants struct {
	l         *Loop
	stretches []Stretch
	queue     queue // of indexes into stretches, by next occurrence
	size      int   // of the last batch
}

func (l *Loop) instantsOf(w Window) *instants {
	in := &instants{l: l, stretches: w.Stretches}
	for i := range w.Stretches {
		in.queue.set(uint32(i), nanos(w.Stretches[i].Next))
	}
	return in
}

func (in *instants) more() bool { return in.queue.len() > 0 }

// take goes past the first instant and returns it with everything due then, by ID.
func (in *instants) take() (time.Time, []Occurrence) {
	due := in.queue.min()
	batch := make([]Occurrence, 0, in.size)
	for in.more() && in.queue.min() == due {
		i := in.queue.slots[0]
		s := &in.stretches[i]
		batch = append(batch, Occurrence{ID: s.ID, Version: s.Version, Due: instant(due), Payload: s.Payload})
		if next := in.l.nextOf(s.ID, s.Trigger, due+1); next < nanos(s.To) {
			in.queue.set(i, next)
		} else {
			in.queue.drop(i)
		}
	}
	in.size = len(batch)
	slices.SortFunc(batch, func(a, b Occurrence) int { return strings.Compare(a.ID, b.ID) })
	return instant(due), batch
}
