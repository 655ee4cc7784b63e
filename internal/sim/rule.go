package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"
)

// Rule says when something is due. Exactly one of Cron, Every and At is set.
type Rule struct {
	Cron       []string // any of them
	Seconds    bool     // the expressions begin with a field of seconds
	Zone       string   // "": UTC
	SkipGaps   bool     // a time that the clocks jump over is not due at all, rather than late
	Repeats    string   // of a time that comes twice: "" (by the kind of expression), "first", "last", "both"
	Every      time.Duration
	Anchor     time.Time // zero: the Unix epoch
	At         []time.Time
	Shift      time.Duration // moves everything that is due
	Starts     time.Time     // zero: no bound
	Ends       time.Time     // not included; zero: no bound
	Max        int           // how many at most, counted from Starts; zero: no bound
	Spread     time.Duration // moves by a fixed part of it, drawn from the schedule's identity
	SpreadName string        // that identity
}

// Due lists what is due in [from, to), ascending. It walks through the time, and is slow.
func (r Rule) Due(from, to time.Time) []time.Time {
	begin := from
	if r.Max > 0 {
		begin = r.Starts
	}
	move := r.Shift + spreadOf(r.SpreadName, r.Spread)
	var all []time.Time
	for _, t := range r.bare(begin.Add(-move), to.Add(-move)) {
		t = t.Add(move)
		if (r.Starts.IsZero() || !t.Before(r.Starts)) && (r.Ends.IsZero() || t.Before(r.Ends)) {
			all = append(all, t)
		}
	}
	if r.Max > 0 && len(all) > r.Max {
		all = all[:r.Max]
	}
	return slices.DeleteFunc(all, func(t time.Time) bool { return t.Before(from) || !t.Before(to) })
}

// bare lists what is due before it is moved and bounded.
func (r Rule) bare(from, to time.Time) []time.Time {
	var all []time.Time
	switch {
	case r.Every > 0:
		all = grid(r.Every, r.Anchor, from, to)
	case r.At != nil:
		all = slices.Clone(r.At)
	default:
		for _, text := range r.Cron {
			all = append(all, walk(readExpression(text, r.Seconds), r, from, to)...)
		}
	}
	all = slices.DeleteFunc(all, func(t time.Time) bool { return t.Before(from) || !t.Before(to) })
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}

// grid finds the points anchor + k x every by looking at each second.
func grid(every time.Duration, anchor, from, to time.Time) (all []time.Time) {
	if anchor.IsZero() {
		anchor = time.Unix(0, 0)
	}
	for t := from.Truncate(time.Second); t.Before(to); t = t.Add(time.Second) {
		if t.Sub(anchor)%every == 0 {
			all = append(all, t)
		}
	}
	return all
}

// lookBack is how far before a window its walk begins, so that no change of the clocks is missed that reaches into it.
const lookBack = 26 * time.Hour

// walk goes through a stretch of time in the zone, minute by minute or second by second, and reads the clock at each.
func walk(e expression, r Rule, from, to time.Time) (all []time.Time) {
	zone := zoneOf(r.Zone)
	step := time.Minute
	if e.seconds || offset(from.In(zone))%time.Minute != 0 {
		step = time.Second
	}
	readings := map[int64][]time.Time{} // instants by what the clock showed at them
	first := from.Add(-lookBack).Truncate(step)
	before := offset(first.In(zone))
	for t := first; t.Before(to.Add(3 * time.Hour)); t = t.Add(step) {
		now := offset(t.In(zone))
		if now > before && !r.SkipGaps {
			for w := t.Add(before); w.Before(t.Add(now)); w = w.Add(step) { // what the clocks jump over
				if e.matches(w.UTC()) {
					all = append(all, w.Add(-before))
				}
			}
		}
		before = now
		if shown := t.UTC().Add(now); e.matches(shown) {
			readings[shown.Unix()] = append(readings[shown.Unix()], t)
		}
	}
	for _, at := range readings {
		switch {
		case r.Repeats == "last":
			all = append(all, at[len(at)-1])
		case r.Repeats == "first" || r.Repeats == "" && e.fixed:
			all = append(all, at[0])
		default:
			all = append(all, at...)
		}
	}
	return all
}

func zoneOf(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err) // the tests name the zones
	}
	return zone
}

func offset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// spreadOf is the fixed offset of a schedule: the first eight bytes of SHA-256 of its identity, big-endian, modulo the
// whole seconds of the spread.
func spreadOf(name string, within time.Duration) time.Duration {
	if within < 2*time.Second {
		return 0
	}
	sum := sha256.Sum256([]byte(name))
	return time.Duration(binary.BigEndian.Uint64(sum[:8])%uint64(within/time.Second)) * time.Second
}

// jitterOf is the delay of one occurrence: the same of its key, modulo the microseconds of the jitter.
func jitterOf(key string, within time.Duration) time.Duration {
	if within < 2*time.Microsecond {
		return 0
	}
	sum := sha256.Sum256([]byte(key))
	return time.Duration(binary.BigEndian.Uint64(sum[:8])%uint64(within/time.Microsecond)) * time.Microsecond
}
