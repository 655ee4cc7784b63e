package target

import (
	"fmt"
	"maps"
	"slices"

	"github.com/belfryhq/belfry/schedule"
)

// The kinds of target: the key under "target" in a manifest.
const (
	KindCommand = "command"
	KindJob     = "job"
)

// Kind names the kind of a schedule's target; "" when none is set.
func Kind(t schedule.Target) string {
	switch {
	case t.Command != nil:
		return KindCommand
	case t.Job != nil:
		return KindJob
	default:
		return ""
	}
}

// Registry holds the targets of this process by kind. It is filled before it is used and not changed afterwards; then
// it may be read concurrently. The zero value is empty and ready.
type Registry struct {
	targets map[string]Target
}

// Register adds the target of a kind. A kind is registered once.
func (r *Registry) Register(kind string, t Target) error {
	if kind == "" || t == nil {
		return fmt.Errorf("register target %q: a kind and a target are needed", kind)
	}
	if _, taken := r.targets[kind]; taken {
		return fmt.Errorf("register target %q: the kind is registered already", kind)
	}
	if r.targets == nil {
		r.targets = map[string]Target{}
	}
	r.targets[kind] = t
	return nil
}

// For returns the target that can execute t. The error says what is missing.
func (r *Registry) For(t schedule.Target) (Target, error) {
	kind := Kind(t)
	if kind == "" {
		return nil, fmt.Errorf("the schedule has no target")
	}
	found, ok := r.targets[kind]
	if !ok {
		return nil, fmt.Errorf("this node cannot execute targets of kind %q; it can: %v", kind, r.Kinds())
	}
	return found, nil
}

// Kinds lists the registered kinds in order.
func (r *Registry) Kinds() []string { return slices.Sorted(maps.Keys(r.targets)) }
