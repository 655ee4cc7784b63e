//go:build !linux

package clock

import "time"

// Elapsed uses the monotonic clock: this system has no portable clock that counts sleep.
func (System) Elapsed() time.Duration { return sinceStart() }
