package planner

import (
	"time"

	"github.com/belfryhq/belfry/internal/fault"
)

// guard watches the wall clock against a clock that never steps (PROTOCOL A9). A step of more than five seconds stops
// planning until it is undone, or until it has stood for two minutes and is taken for the truth. Slow corrections by a
// time server pass: the base follows them.
type guard struct {
	base    time.Duration // wall minus elapsed, when all was well
	known   bool
	stepped time.Duration // elapsed when a step was first seen
	since   bool
}

const (
	stepBound  = 5 * time.Second
	stepStands = 2 * time.Minute
	// longAbsence is the time since the last heartbeat after which a start waits as a step does: the clock may have
	// been set wrong before the process began to watch it. A heartbeat that lies as far ahead says so, too: of a
	// machine that boots in 1970 until it has heard the time.
	longAbsence = 30 * 24 * time.Hour
)

// verdict is what a reading of the clocks means.
type verdict uint8

const (
	clockFine     verdict = iota
	clockStepped          // wait
	clockAccepted         // the step has stood long enough; said once
)

func newGuard() guard { return guard{} }

// observe takes a reading. It returns by how much the wall clock has stepped when it has.
func (g *guard) observe(wall time.Time, elapsed time.Duration) (verdict, time.Duration) {
	now := time.Duration(wall.UnixNano()) - elapsed
	if !g.known {
		g.base, g.known = now, true
	}
	step := now - g.base
	if step.Abs() <= stepBound || fault.Without("step-guard") {
		g.base, g.since = now, false
		return clockFine, 0
	}
	if !g.since {
		g.since, g.stepped = true, elapsed
	}
	if elapsed-g.stepped < stepStands {
		return clockStepped, step
	}
	g.base, g.since = now, false
	return clockAccepted, step
}

// distrust makes the present reading count as a step that was just seen, for a start after a long absence.
func (g *guard) distrust(by time.Duration) { g.base -= by }
