package run

import "time"

// LongestBackoff is where the doubling of a backoff stops, unless the backoff itself is longer.
const LongestBackoff = 24 * time.Hour

// Backoff is the wait after the n-th counted attempt, from 1: base, doubled for each attempt after the first.
func Backoff(base time.Duration, n int) time.Duration {
	limit := max(base, LongestBackoff)
	wait := base
	for i := 1; i < n && 0 < wait && wait < limit; i++ {
		wait = min(2*wait, limit)
	}
	return wait
}
