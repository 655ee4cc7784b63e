package target

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Handler is a job: a Go function that executes runs in this process. A nil error is success. It should return soon
// after its context is cancelled; it cannot be killed.
type Handler func(ctx context.Context, d Delivery) error

// Jobs is the target of kind "job": handlers by name. It is filled before it is used; then it may be used
// concurrently. The zero value is empty and ready.
type Jobs struct {
	handlers map[string]Handler
}

// Register adds a handler. A name is registered once.
func (j *Jobs) Register(name string, h Handler) error {
	if name == "" || h == nil {
		return fmt.Errorf("register job %q: a name and a handler are needed", name)
	}
	if _, taken := j.handlers[name]; taken {
		return fmt.Errorf("register job %q: the name is registered already", name)
	}
	if j.handlers == nil {
		j.handlers = map[string]Handler{}
	}
	j.handlers[name] = h
	return nil
}

// Run executes the handler that the spec names. A handler that panics fails its run with code INTERNAL, and nothing
// else.
func (j *Jobs) Run(ctx context.Context, d Delivery) Result {
	if d.Spec.Job == nil {
		return Failed("the target is not a job")
	}
	h, ok := j.handlers[d.Spec.Job.Name]
	if !ok {
		return Failed(fmt.Sprintf("no job %q is registered in this process", d.Spec.Job.Name))
	}
	return answer(ctx, call(ctx, h, d))
}

// maxStack bounds the part of a panic's stack that is kept with the run.
const maxStack = 4 << 10

func call(ctx context.Context, h Handler, d Delivery) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			err = fmt.Errorf("the job panicked: %v\n%s", p, stack[:min(len(stack), maxStack)])
		}
	}()
	return h(ctx, d)
}

// answer translates what a handler returned. An error after the context was cancelled is the cancellation's; a
// success is a success, however late.
func answer(ctx context.Context, err error) Result {
	if err == nil {
		return Result{}
	}
	if ctx.Err() != nil {
		r := Interrupted(context.Cause(ctx))
		r.Message += ": " + err.Error()
		return r
	}
	if _, ok := errors.AsType[*permanent](err); ok {
		return Result{Code: CodePermanent, Message: err.Error(), Permanent: true}
	}
	r := Failed(err.Error())
	if later, ok := errors.AsType[*retryAfter](err); ok {
		r.RetryAfter = later.wait
	}
	return r
}

type permanent struct{ err error }

func (p *permanent) Error() string { return p.err.Error() }
func (p *permanent) Unwrap() error { return p.err }

// Permanent marks an error of a job that another attempt would meet again: the run fails without further attempts.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanent{err}
}

type retryAfter struct {
	err  error
	wait time.Duration
}

func (r *retryAfter) Error() string { return r.err.Error() }
func (r *retryAfter) Unwrap() error { return r.err }

// RetryAfter marks an error of a job that knows when another attempt has a chance. It changes the wait, not the number
// of attempts.
func RetryAfter(err error, wait time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryAfter{err, wait}
}
