package worker

import (
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/target"
)

// verdict is what becomes of a run after an execution.
type verdict struct {
	status   run.Status
	reason   string
	readyAt  time.Time // of the next attempt
	answered bool      // it counts as an attempt
	code     string    // of the error; "" for none
}

// judge decides what becomes of a run whose execution ended with res at this instant. It is pure.
func judge(r *run.Run, res *target.Result, at time.Time) verdict {
	attempt := r.Attempt + 1
	switch {
	case res.OK():
		return verdict{status: run.Succeeded, answered: true}
	case res.Code == target.CodeLost && r.OnLost != schedule.OnLostFail:
		return judgeLapsed(r, at)
	case res.Code == target.CodeCancelled:
		return verdict{status: run.Cancelled, reason: "cancelled", answered: true, code: res.Code}
	case res.Permanent || attempt >= r.MaxAttempts:
		return verdict{status: run.Failed, answered: true, code: res.Code}
	}
	wait := run.Backoff(r.Backoff, attempt)
	if res.RetryAfter > 0 {
		wait = res.RetryAfter
	}
	return verdict{status: run.RetryScheduled, readyAt: at.Add(wait), answered: true, code: res.Code}
}

// judgeLapsed is for an execution that was ended because this worker could not say in time that it lives, while nobody
// took its lease: the worker was stopped, or the machine was asleep. It gave no answer, so it costs the delivery that
// recovery would have cost it (PROTOCOL A6).
func judgeLapsed(r *run.Run, at time.Time) verdict {
	if r.Deliveries >= r.MaxDeliveries {
		return verdict{status: run.DeadLetter, reason: "max_deliveries", code: "MAX_DELIVERIES"}
	}
	return verdict{status: run.RetryScheduled, reason: "lease_lost", readyAt: at, code: target.CodeLost}
}
