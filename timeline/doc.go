// Package timeline is the loop that finds what is due: it keeps definitions in memory, ordered by their next due
// instant, hands over everything due in a window of time, and moves on to the next window when that is settled.
// It needs nothing but a source of definitions and a place for one small record.
//
//	loop, err := timeline.New(source, &memory.Claims{}, timeline.Options{})
//	for err == nil {
//		err = loop.Reconcile(ctx)              // read definitions, when that is due
//		window, leads, _ := loop.Tick(ctx)     // elect, and select; nothing moves
//		if leads && handOver(window) == nil {
//			_, err = loop.Commit(ctx)          // now it is settled
//		}
//		wait(loop.NextWake())
//	}
//
// # Who is authoritative for what
//
// The source says what is defined, and is read again and again: memory converges to it, whatever was missed. The claim
// says who leads, until when, and up to where occurrences are settled: the watermark. One swap of it renews the lease
// and moves the watermark, so that no two loops settle the same window, and none does after it was replaced. Memory is
// authoritative for nothing: a new leader reads the claim, then the full set, and only then selects.
//
// # Windows
//
// A window is half open, from the watermark to the horizon: now + Options.Lead, cut down to the microsecond. It is
// fixed when it is selected and never compared with the clock again. The next window opens where the last committed one
// closed, so that every occurrence is in exactly one committed window, however late or early the loop wakes and
// wherever the clock is set to. A window that is not committed is selected again, with what has come due meanwhile.
//
// A definition whose coverage differs from the watermark has its own. In pure mode that is one that took effect when
// whoever committed could not know it: it is covered from then on, once, no further back than Options.Recover. An edit
// replaces the definition from its own start; what the old one still owed is not handed over. Under Options.Pinned the
// caller keeps each definition's own coverage, next to its revisions: the loop selects a pinned entry in every window
// until a commit unpins it.
//
// # Failure windows
//
// A swap is written or not, and its answer can be lost, or come after the deadline. Every write carries a nonce of its
// own; after an unknown result the record is read before anything else, and the nonce in it tells. Until then a window
// may be handed over twice (Commit), or its transaction be refused (CommitIn): never is one lost. A write that lands
// later still is recognised by its nonce as well, when the next swap is refused.
//
// A leader trusts its lease for 90 % of it, counted from before the renewal was sent, by the clock that says more has
// gone by. After that nothing is selected until a renewal succeeds, and Leading is false for whoever is about to hand
// over. A claim that expired and that nobody took may still be renewed and committed: the record did not change.
//
// A crash between hand-over and Commit hands the window over again, in another process. Occurrence.Key is the same
// then.
package timeline
