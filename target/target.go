// Package target is the contract between the worker and what a run does: deliver one run, say how it ended, and stop
// when told to. It also keeps the registry of targets, the jobs of this process, and the rule of who may run commands.
package target

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
)

// Target executes runs of one kind.
type Target interface {
	// Run executes one run to its end and says how it ended; it is called concurrently, for different runs. When ctx is
	// cancelled it ends the work and then returns; context.Cause tells why: ErrTimeout, ErrLeaseLost, ErrCancelled or
	// ErrStop. It must not return while anything that it started for the run still lives, because the next delivery
	// may begin as soon as it has returned.
	Run(ctx context.Context, d Delivery) Result
}

// Causes of a cancelled context.
var (
	ErrTimeout   = errors.New("the run's timeout passed")
	ErrLeaseLost = errors.New("the run is no longer this worker's: its lease was taken, or it was revoked")
	ErrCancelled = errors.New("the run was cancelled")
	ErrStop      = errors.New("the worker stops and its grace is over")
)

// Delivery is one execution to perform. The target owns none of it and keeps nothing after Run returned.
type Delivery struct {
	Run          run.Run // with its fence and the count of deliveries; Attempt counts the executions before this one
	Key          run.Key // the idempotency key: the same on every delivery
	ScheduleName string
	Spec         schedule.Target
	// Stdout and Stderr take the output that is kept, in pieces, as it comes. Either may be nil: not kept. They are
	// called from at most one goroutine each, may block for a while, and their errors stop the keeping, not the run.
	Stdout, Stderr io.Writer
	// LostGrace bounds how long the work may take to end by itself after ErrLeaseLost; whatever grace the run's own
	// definition gives is cut to it. Zero: it is killed at once.
	LostGrace time.Duration
	// Lease tells until when the run is certainly this worker's, as a reading of the boot clock; it moves on with every
	// renewal. A target that has a process beside this one gives it the reading, so that the work ends even when this
	// process is stopped and can do nothing. nil: not known.
	Lease func() time.Duration
}

// Attempt is the number of this execution: 1 for the first that gives an answer.
func (d *Delivery) Attempt() int { return d.Run.Attempt + 1 }

// Result is how one execution ended.
type Result struct {
	Code       string // "" for success, else one of the codes
	Message    string // for people; says what to do where that is known
	ExitCode   *int
	Permanent  bool          // another attempt would fail alike
	RetryAfter time.Duration // wait this long instead of the schedule's backoff; 0: the backoff
	// OutputBytes is how much the work wrote, kept or dropped; Truncated tells that some was dropped.
	OutputBytes int64
	Truncated   bool
}

// OK reports whether the execution succeeded.
func (r *Result) OK() bool { return r.Code == "" }

// The error codes that a target may answer. They are part of the API.
const (
	CodeExit      = "EXIT_CODE"
	CodeTimeout   = "TIMEOUT"
	CodeLost      = "LOST_WORKER"
	CodePermanent = "PERMANENT"
	CodeCancelled = "CANCELLED"
	CodeInternal  = "INTERNAL"
)

// Interrupted is the result of work that was ended because its context was cancelled for this cause.
func Interrupted(cause error) Result {
	switch {
	case errors.Is(cause, ErrTimeout), errors.Is(cause, context.DeadlineExceeded):
		return Result{Code: CodeTimeout, Message: ErrTimeout.Error()}
	case errors.Is(cause, ErrLeaseLost):
		return Result{Code: CodeLost, Message: ErrLeaseLost.Error()}
	case cause == nil:
		return Result{Code: CodeCancelled, Message: ErrCancelled.Error()}
	default:
		return Result{Code: CodeCancelled, Message: cause.Error()}
	}
}

// Failed is the result of an execution that failed for a reason of Belfry's own, or for a plain error of a job.
func Failed(message string) Result { return Result{Code: CodeInternal, Message: message} }
