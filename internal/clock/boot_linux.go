package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

// Elapsed reads CLOCK_BOOTTIME, which goes on while the machine is suspended.
func (System) Elapsed() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return sinceStart()
	}
	return time.Duration(ts.Nano())
}
