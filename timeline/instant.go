package timeline

import (
	"math"
	"time"
)

// Inside the loop an instant is a count of nanoseconds since the Unix epoch: a million of them are compared and kept
// in memory, where a time.Time would take three times the room. What lies beyond the range, in 1677 or 2262, is as
// good as its edge: no loop lives to see it.
const (
	never    = math.MaxInt64     // no instant at all
	farPast  = math.MinInt64 + 1 // one nanosecond before it exists as well
	farAhead = math.MaxInt64 - 1
)

func nanos(t time.Time) int64 {
	switch sec := t.Unix(); {
	case sec <= farPast/int64(time.Second):
		return farPast
	case sec >= farAhead/int64(time.Second):
		return farAhead
	default:
		return sec*int64(time.Second) + int64(t.Nanosecond())
	}
}

func instant(n int64) time.Time { return time.Unix(0, n).UTC() }

// whole cuts an instant down to the microsecond, which is what every claim store keeps. It rounds towards the past, so
// that a horizon never reaches ahead of the clock, and drops the monotonic reading.
func whole(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// justAfter is the first whole microsecond after n: the earliest horizon of a window that has n in it.
func justAfter(n int64) time.Time { return whole(instant(n)).Add(time.Microsecond) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
