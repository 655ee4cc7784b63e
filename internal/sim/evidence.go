package sim

import (
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

// Revision is what one revision of a schedule says, as the simulation wrote it.
type Revision struct {
	Rule        Rule
	Misfire     schedule.Misfire
	Keep        schedule.Keep
	Limit       int
	Grace       time.Duration // zero: by PROTOCOL A5
	Age         time.Duration // what is older is given up
	Overlap     schedule.Overlap
	LockKey     string // "": the schedule's own
	Jitter      time.Duration
	MaxAttempts int
	Backoff     time.Duration
}

// Span is a stretch in which one revision was in force, or was paused: [From, To). Both are instants that the store
// named when it was told of the change. A zero To is open.
type Span struct {
	Revision uint64
	From, To time.Time
	Paused   bool
	CaughtUp bool // it was paused, and the pause was ended by owing what it had held back
}

// Schedule is the history of one schedule.
type Schedule struct {
	ID        schedule.ID
	Name      string
	Revisions map[uint64]Revision
	Spans     []Span      // ascending, not overlapping
	Removals  []time.Time // when it was removed; it may have come back since
	Changes   []time.Time // of every kind
}

// Said is how an execution ended, by its own word.
type Said string

// What executions say.
const (
	SaidOK     Said = "ok"     // it returned without an error
	SaidError  Said = "error"  // it returned an error or panicked
	SaidEnded  Said = "ended"  // its context ended before its work did
	SaidKilled Said = "killed" // its process ended before it did
	SaidNone   Said = ""       // it never came to an end
)

// Start is one execution, as the job wrote it down outside of the engine.
type Start struct {
	Run   run.ID
	Key   run.Key
	Fence uint64
	Clock time.Time // what the machine's clock showed
	At    time.Time // the true time
	End   time.Time // the true time; zero: it never came to an end
	Said  Said
}

// Outage is a stretch in which no planner lived, with nothing else going wrong around it.
type Outage struct{ Down, Up time.Time }

// Evidence is everything that the count is compared with. All instants but Start.At, Start.End and Handed are readings
// of the machine's clock, which may have been stepped.
type Evidence struct {
	Schedules []Schedule
	Runs      []run.Run
	Gaps      []run.Gap
	Attempts  map[run.ID][]run.Attempt
	History   map[run.ID][]run.Event
	Starts    []Start
	// NotRevoked are the runs that a change of definition was told to have come too late for.
	NotRevoked map[run.ID]bool
	Outages    []Outage
	Until      time.Time     // everything due before it must be accounted for, and have ended
	Lease      time.Duration // of the planners
	Lead       time.Duration // of the planners
	Prompt     time.Duration // within which a run begins that is due and planned, whatever befalls the workers; zero: any
}
