// Package clock holds the two clocks that the loops read. Wall time says what is due; elapsed time says how long a
// lease has been held. They are apart because either can lie: wall time is stepped by people and by time servers, and
// Go's monotonic reading stands still while a machine sleeps (PROTOCOL A9).
package clock

import "time"

// Clock is read by loops and stores, never by nouns. Implementations may be called from any goroutine.
type Clock interface {
	// Now is the wall clock.
	Now() time.Time
	// Elapsed is the time since an arbitrary fixed moment of this machine's uptime, sleep included. It never steps.
	Elapsed() time.Duration
}

// System is the machine's own clock.
type System struct{}

// Now returns the wall clock in UTC, without the monotonic reading: instants are compared across processes.
func (System) Now() time.Time { return time.Now().UTC().Round(0) }

// Bubble is for tests inside testing/synctest: both readings follow the bubble's time.
type Bubble struct{}

// Now returns the bubble's wall clock in UTC.
func (Bubble) Now() time.Time { return time.Now().UTC().Round(0) }

// Elapsed counts from the bubble's fixed start.
func (Bubble) Elapsed() time.Duration { return time.Duration(time.Now().UnixNano()) }

// Skewed shows a wall clock that is Offset ahead of another clock; elapsed time is untouched. The function is read on
// every call, so that a test can step the clock while a process runs.
type Skewed struct {
	Clock  Clock
	Offset func() time.Duration
}

// Now returns the wall clock moved by the offset.
func (s Skewed) Now() time.Time { return s.Clock.Now().Add(s.Offset()) }

// Elapsed returns the other clock's elapsed time.
func (s Skewed) Elapsed() time.Duration { return s.Clock.Elapsed() }
