// Package memory keeps a loop's claim in the memory of one process: for programs with a single replica that accept to
// start afresh, and for tests.
package memory

import (
	"context"
	"sync"

	"github.com/belfryhq/belfry/timeline"
)

// Claims is a timeline.ClaimStore. The zero value holds no record. It may be used by any number of loops at once, and
// must not be copied.
type Claims struct {
	mu    sync.Mutex
	claim timeline.Claim
	found bool
}

// Load returns the record; false when there is none. It fails only when ctx has ended.
func (c *Claims) Load(ctx context.Context) (timeline.Claim, bool, error) {
	if err := context.Cause(ctx); err != nil {
		return timeline.Claim{}, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claim, c.found, nil
}

// Swap writes next if the record has old's token, epoch and nonce, or, with old nil, if there is none, and reports
// whether it did. It fails only when ctx has ended, and has not written then.
func (c *Claims) Swap(ctx context.Context, old *timeline.Claim, next timeline.Claim) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found != (old != nil) {
		return false, nil
	}
	if old != nil && (c.claim.Token != old.Token || c.claim.Epoch != old.Epoch || c.claim.Nonce != old.Nonce) {
		return false, nil
	}
	c.claim, c.found = next, true
	return true, nil
}
