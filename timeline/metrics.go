package timeline

import "time"

// Metrics receives what a loop measures. It is called from the loop's goroutine, and must not block.
type Metrics interface {
	// Observe takes a duration in seconds into a histogram, n times.
	Observe(s Signal, seconds float64, n int)
	// Add raises a counter. The stage is empty for all but [SignalErrors].
	Add(s Signal, stage Stage, n int)
	// Set sets a gauge.
	Set(s Signal, value float64)
}

// Signal is the name of something measured.
type Signal string

// The signals, by the four questions that one asks of a service.
const (
	// Latency, as histograms in seconds: how late an occurrence was handed over; how long a tick took from its selection
	// to its commit, holding included; how long reading definitions took.
	SignalDelay     Signal = "schedule.dispatch.delay"
	SignalTick      Signal = "schedule.tick.duration"
	SignalReconcile Signal = "schedule.reconcile.duration"
	// Traffic: a counter of occurrences handed over, and a gauge of definitions that may be due again.
	SignalDispatched Signal = "schedule.dispatch.total"
	SignalEntries    Signal = "schedule.entries"
	// Errors: a counter by stage. A commit that was fenced counts under [StageLease].
	SignalErrors Signal = "schedule.error.total"
	// Saturation: a gauge of the seconds by which the start of a window trails the clock, about a tick when all is well.
	SignalLag Signal = "schedule.lag"
)

// unmeasured is what a loop reports to unless told otherwise.
type unmeasured struct{}

func (unmeasured) Observe(Signal, float64, int) {}
func (unmeasured) Add(Signal, Stage, int)       {}
func (unmeasured) Set(Signal, float64)          {}

// measure observes how long something took that began at the given reading of Options.Elapsed.
func (l *Loop) measure(s Signal, began time.Duration) {
	l.o.Metrics.Observe(s, (l.o.Elapsed() - began).Seconds(), 1)
}
