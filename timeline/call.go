package timeline

import (
	"context"
	"errors"
	"fmt"
)

// maxPending bounds the store calls left behind: a store that never answers would otherwise cost a goroutine a call.
const maxPending = 8

// bounded makes one call to the store and waits for it no longer than StoreTimeout. A call that does not heed its
// context is left behind, and its answer is not read: whether it wrote is then unknown, and it may still write later
// (PROTOCOL B22).
func bounded[T any](ctx context.Context, l *Loop, call func(context.Context) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if l.pending.Add(1) > maxPending {
		l.pending.Add(-1)
		return none, fmt.Errorf("%w: %d calls are still waiting", ErrStoreTimeout, maxPending)
	}
	limited, cancel := context.WithTimeoutCause(ctx, l.o.StoreTimeout, ErrStoreTimeout)
	answers := make(chan answer, 1)
	go func() {
		defer l.pending.Add(-1)
		defer cancel()
		value, err := call(limited)
		answers <- answer{value, err}
	}()
	var a answer
	select {
	case a = <-answers:
	case <-limited.Done():
		select {
		case a = <-answers: // both were ready
		default:
			return none, context.Cause(limited)
		}
	}
	if a.err != nil && errors.Is(context.Cause(limited), ErrStoreTimeout) {
		return none, fmt.Errorf("%w: %w", ErrStoreTimeout, a.err)
	}
	return a.value, a.err
}

func (l *Loop) load(ctx context.Context) (Claim, bool, error) {
	type record struct {
		claim Claim
		found bool
	}
	r, err := bounded(ctx, l, func(ctx context.Context) (record, error) {
		c, found, err := l.claims.Load(ctx)
		return record{c, found}, err
	})
	if err != nil {
		return Claim{}, false, fmt.Errorf("load the claim: %w", err)
	}
	if r.found {
		l.recall(r.claim)
	}
	return r.claim, r.found, nil
}

func (l *Loop) swap(ctx context.Context, old *Claim, next Claim) (bool, error) {
	swapped, err := bounded(ctx, l, func(ctx context.Context) (bool, error) { return l.claims.Swap(ctx, old, next) })
	if err != nil {
		return false, fmt.Errorf("swap the claim: %w", err)
	}
	return swapped, nil
}
