package run

import (
	"math"
	"testing"
	"time"
)

// backoff x 2^(n-1), capped at a day, or at the backoff where that is longer. A base of nothing stays nothing, and no
// number of attempts makes the wait overflow.
func TestBackoffDoublesUpToADay(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, c := range []struct {
		base time.Duration
		n    int
		want time.Duration
	}{
		{time.Minute, 0, time.Minute}, {time.Minute, 1, time.Minute}, {time.Minute, 2, 2 * time.Minute}, {time.Minute, 4, 8 * time.Minute},
		{time.Minute, 11, 1024 * time.Minute}, {time.Minute, 12, day}, {13 * time.Hour, 2, day}, {time.Minute, math.MaxInt, day},
		{0, 1000, 0}, {day, 3, day}, {30 * day, 1, 30 * day}, {30 * day, 5, 30 * day},
	} {
		if got := Backoff(c.base, c.n); got != c.want {
			t.Errorf("Backoff(%v, %d) = %v, want %v", c.base, c.n, got, c.want)
		}
	}
}
