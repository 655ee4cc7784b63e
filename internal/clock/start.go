package clock

import "time"

var start = time.Now()

// sinceStart is the fallback where the system has no clock that counts sleep.
func sinceStart() time.Duration { return time.Since(start) }
