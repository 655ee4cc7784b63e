// Package timeline runs things when they are due, without a database: it keeps definitions in memory, ordered by their
// next due instant, calls back once per due instant with everything due then, and remembers in one small record up to
// where that was done. It needs a source of definitions and a place for that record.
//
//	loop, err := timeline.New(source, &memory.Claims{}, timeline.Options{})
//	if err != nil {
//		return err
//	}
//	return loop.Run(ctx, func(ctx context.Context, due time.Time, batch []timeline.Occurrence) error {
//		for _, o := range batch {
//			start(o.ID, o.Key())
//		}
//		return nil
//	})
//
// # Coming from cron or gocron
//
// There a job is added by a call and lives in the process. Here the source says what there is, and memory follows it: a map
// of jobs is one (see the examples Crontab and JobsThatComeAndGo), rows of a table or files are another. What that buys:
//
//   - A restart loses nothing, if the record is kept outside of the process. It says where the process before stopped, and
//     the next one goes on from there, oldest first, no further back than Options.Recover (5 minutes) and never without
//     telling Options.Dropped. Package memory keeps it inside: that is what a cron library does.
//   - Several replicas run it. One holds the claim, the others take over when it ends or falls silent; with the record in
//     Redis (timeline/redis) or in any store with a compare-and-swap (ClaimStore, claimtest).
//   - Every occurrence has a stable key, ID and due instant. It is handed over at least once: once, unless something went
//     wrong between the callback and the commit. Whoever must not do the work twice writes the key down with it.
//   - An edit takes effect when it says so, and skips nothing around it.
//   - Triggers are values of package trigger: cron expressions in any zone, intervals that restarts do not move, single
//     instants, and their unions, exceptions and bounds. trigger.Spread takes schedules apart that share an expression.
//
// A job that overlaps itself, a limit, a retry: the callback's choice. It must return only when the work is safe, so either
// it does the work, or writes it down where it will be done. To let a long job go on beside the loop, start a goroutine and
// return; a crash loses that work then, as it does there.
//
// # Running
//
// Run ticks when something is due and on whole multiples of Options.Tick on the clock. Without a lead an occurrence is
// handed over a moment after its instant; with Options.Lead it is selected before, held, and handed over on the instant.
// Holding costs a standby nothing: what it selects again has the same keys. A definition that appears while others are held
// is handed over when the tick is done, late by the lead at most.
//
// Stop ends Run after the current tick, and the end of its context before. Either gives the claim up. Run returns the
// callback's error before anything of the tick is committed; calling Run again, or the standby, hands the tick over again.
// Without Options.OnError it also returns when definitions cannot be read or built; with one it lives on with what it knew.
//
// By hand the same loop is Reconcile, Tick, hand over, Commit, and sleep until NextWake: for tests, and for a program with
// a transaction of its own, in which CommitIn makes "at least once" an "exactly once".
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
// whoever committed could not know it: it is covered from then on, once, no further back than Options.Recover.
//
// An edit replaces the definition from Row.ActiveFrom on. What the old one owed from before and nobody settled is handed
// over under its old version; without an ActiveFrom the new one counts as always having been, and what the old one owed is
// dropped, as it is by pausing and deleting. A loop that has just taken over, or starts, knows the new definition alone:
// between the watermark and the edit the old one is lost to it, some seconds as a rule. A source that must not lose them
// lists the old definition under an ID of its own, bounded by trigger.Bounded, next to the new one.
//
// Under Options.Pinned the caller keeps each definition's own coverage, next to its revisions: the loop selects a pinned
// entry in every window until a commit unpins it.
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
//
// A store that lost its record while a loop lives gets it back: the loop goes on from the watermark it knew, under a new
// epoch. Where no loop remembers, no record means a first start, which owes nothing from before now.
package timeline
