// Package control holds the verbs: what people and programs ask of a Belfry, whichever door they come through. Every
// rule about who may do what lives here, so that no two doors can differ.
package control

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/belfryhq/belfry/internal/clock"
	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
	"github.com/belfryhq/belfry/target"
)

// Options says how verbs behave. The zero value works.
type Options struct {
	Consent target.Consent // whose schedules may run commands; default only those of the server's own file
	Clock   clock.Clock    // default the machine's
	Logger  *slog.Logger   // default discards
}

// Control carries out verbs. It may be used from any goroutine.
type Control struct {
	store store.Store
	o     Options
	kinds kinds
}

// New makes a Control over a store.
func New(s store.Store, o Options) *Control {
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Control{store: s, o: o}
}

// ApplyFile makes the schedules of origin file equal to what a file declares, in one transaction: nothing is half
// applied. An equal set writes nothing. It returns store.ErrExists when a name belongs to another origin, and an error
// when a command is declared that this server may not run.
func (c *Control) ApplyFile(ctx context.Context, items []schedule.Schedule, why string) (store.Applied, error) {
	for _, s := range items {
		if err := c.o.Consent.Permits(schedule.OriginFile, s.Spec.Target); err != nil {
			return store.Applied{}, fmt.Errorf("schedule %s: %w: %w", s.Name, ErrRefused, err)
		}
	}
	done, err := c.store.Apply(ctx, store.Apply{Origin: schedule.OriginFile, Items: items, By: "file", Why: why})
	if err != nil {
		return store.Applied{}, fmt.Errorf("apply file: %w", err)
	}
	for _, id := range done.NotRevoked {
		c.o.Logger.Warn("a run had begun before its schedule changed and goes on", "run_id", id.String())
	}
	return done, nil
}
