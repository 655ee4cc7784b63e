package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/target"
)

// Options says how commands are run. The zero value works.
type Options struct {
	// Environ is the environment of the server, of which PATH, HOME, LANG and TZ are passed on; nil: os.Environ().
	Environ []string
	// Abandon is how long past its last SIGKILL a run's process may refuse to die (it hangs in the kernel, or belongs
	// to another user) before the run is given up as INTERNAL; its guard keeps trying. 0: ten seconds.
	Abandon time.Duration
}

// Target runs commands. It may be used concurrently.
type Target struct {
	o Options
}

// New returns the target of kind "command". The program must call GuardMain first thing in main. On Linux this process
// becomes the one that adopts orphans of its descendants, so that a killed guard's commands can be found and killed.
func New(o Options) (*Target, error) {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Abandon == 0 {
		o.Abandon = 10 * time.Second
	}
	if o.Abandon < 0 {
		return nil, fmt.Errorf("command target: abandon is %v; a time of zero or more is needed", o.Abandon)
	}
	if err := adoptOrphans(); err != nil {
		return nil, fmt.Errorf("command target: adopt orphans: %w", err)
	}
	return &Target{o: o}, nil
}

// Run starts the command, captures what it writes, and returns when it and everything it started is gone.
func (t *Target) Run(ctx context.Context, d target.Delivery) target.Result {
	if d.Spec.Command == nil {
		return target.Failed("the target is not a command")
	}
	if ctx.Err() != nil {
		return target.Interrupted(context.Cause(ctx))
	}
	c := t.build(d)
	if c.unfit != nil {
		return result(end{startup: c.unfit}, nil, d.Spec.Command)
	}
	if d.Lease != nil && !fault.Without("command-lease") {
		c.Lease = d.Lease()
	}
	out := newCapture(int64(d.Spec.Command.OutputLimit), d.Stdout, d.Stderr)
	p, err := start(c, out)
	if err != nil {
		out.close()
		return target.Failed("start a process: " + err.Error())
	}
	r := t.supervise(ctx, d, p)
	out.close()
	r.OutputBytes, r.Truncated = out.total()
	return r
}

// process is a started command with everything below it.
type process interface {
	// stop sends SIGTERM to everything and, after the grace, SIGKILL until nothing is left. A later call with a
	// shorter grace shortens it.
	stop(grace time.Duration)
	// renew says until when (by the boot clock) the command may live even if this process says nothing more.
	renew(until time.Duration)
	// exited is closed when the command itself ended, gone when nothing of it is left. After gone, end may be read.
	exited() <-chan struct{}
	gone() <-chan struct{}
	end() end
	// abandon gives the process up.
	abandon()
}

// end is how a command ended.
type end struct {
	status  syscall.WaitStatus
	ended   bool  // status is valid
	startup error // the command could not be started
	lapsed  bool  // its guard killed it, because nobody said that the lease holds
	broken  error // it was lost sight of
}

// leaseInterval is how often the guard is told how long the run's lease holds.
const leaseInterval = time.Second

// supervise follows a command until nothing of it is left. The guard is told the lease all along: a grace may be longer
// than a lease.
func (t *Target) supervise(ctx context.Context, d target.Delivery, p process) target.Result {
	renewal, stopRenewal := renewals(d.Lease, p)
	defer stopRenewal()
	limit := time.NewTimer(forever)
	defer limit.Stop()
	grace := time.Duration(d.Spec.Command.KillGrace)
	var cause error
	exited, done := p.exited(), ctx.Done()
	for {
		select {
		case <-exited: // its guard is ending what it left behind
			exited = nil
			limit.Reset(grace + t.o.Abandon)
		case <-done:
			done = nil
			why := context.Cause(ctx)
			if exited != nil {
				cause = why // otherwise its own end came first and counts
			}
			if errors.Is(why, target.ErrLeaseLost) {
				grace = min(grace, d.LostGrace)
			}
			p.stop(grace)
			limit.Reset(grace + t.o.Abandon)
		case <-renewal:
			p.renew(d.Lease())
		case <-p.gone():
			return result(p.end(), cause, d.Spec.Command)
		case <-limit.C:
			p.abandon()
			return target.Failed("a process of the run could not be killed; it hangs in the kernel or belongs to another user, see ps")
		}
	}
}

// forever is longer than any command may run.
const forever = 10 * 365 * 24 * time.Hour

// renewals tells the guard the lease and returns the ticks at which to tell it again; nil without a lease.
func renewals(lease func() time.Duration, p process) (<-chan time.Time, func()) {
	if lease == nil {
		return nil, func() {}
	}
	p.renew(lease())
	ticker := time.NewTicker(leaseInterval)
	return ticker.C, ticker.Stop
}

// Exit codes of a command that could not be started, as shells give them.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// result judges how a command ended. cause is why it was told to, if it was.
func result(e end, cause error, c *schedule.Command) target.Result {
	switch {
	case cause != nil:
		r := target.Interrupted(cause)
		if e.ended {
			code := exitCode(e.status)
			r.ExitCode = &code
		}
		return r
	case e.lapsed:
		return target.Interrupted(target.ErrLeaseLost)
	case e.startup != nil:
		code := exitNotExecutable
		if errors.Is(e.startup, os.ErrNotExist) {
			code = exitNotFound
		}
		return target.Result{Code: target.CodeExit, ExitCode: &code, Message: "the command could not be started: " + e.startup.Error()}
	case !e.ended:
		return target.Failed(fmt.Sprintf("lost sight of the command: %v", e.broken))
	}
	code := exitCode(e.status)
	r := target.Result{ExitCode: &code}
	if e.status.Exited() && slices.Contains(c.SuccessCodes, code) {
		return r
	}
	r.Code = target.CodeExit
	r.Message = fmt.Sprintf("exit code %d", code)
	if e.status.Signaled() {
		r.Message = fmt.Sprintf("killed by signal %d (%v), exit code %d", int(e.status.Signal()), e.status.Signal(), code)
	}
	return r
}

// exitCode is the code that a shell would show: 128 and the signal's number for a command that a signal ended.
func exitCode(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}
