package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/belfryhq/belfry/run"
	"github.com/belfryhq/belfry/store"
)

// The answer to the first heartbeat is lost, the store is silent for longer than the lease, and another worker takes the
// lease of a node that never knew it was registered. Its name is spent: the worker goes on under another, instead of
// asking under the old one for ever. PROTOCOL B2.
func TestANodeThatIsLostBeforeItIsRegisteredBeginsAnew(t *testing.T) {
	inBubble(t, func(w *world) {
		tries := 0
		w.beat = func(ctx context.Context, n store.Node, lease time.Duration) error {
			ctx = context.WithoutCancel(ctx)
			tries++
			switch tries {
			case 1:
				w.must(w.Store.Beat(ctx, n, lease))
				time.Sleep(lease + time.Second)
				silent, err := w.Store.Silent(ctx)
				w.must(err)
				for _, s := range silent {
					_, err := w.Store.Recover(ctx, s.ID, s.SeenAt, 100)
					w.must(err)
				}
				return errors.New("the answer is lost")
			default:
				return w.Store.Beat(ctx, n, lease)
			}
		}
		ids := w.plan([]time.Duration{time.Minute})
		_, stop := w.work()
		defer stop()
		time.Sleep(2 * time.Minute)
		w.expect(run.Succeeded, ids...)
	})
}
