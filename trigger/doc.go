// Package trigger says which instants are due. It is calendar arithmetic and nothing else: it reads no clock, does
// no I/O and starts no goroutine, so the same question has the same answer on every node and after every restart.
//
// A [Trigger] answers two questions. Between(start, end) lists the occurrences of the half-open window [start, end)
// in ascending order; Next(after) gives the first one strictly after an instant, or says that none will ever come.
// Adjacent windows select each occurrence exactly once, wherever they are split, down to the nanosecond. Whoever
// keeps a watermark and asks for [watermark, now) therefore loses nothing and repeats nothing.
//
// The leaves are [Cron], [Interval], [At] and [After]. The combinators are [Shifted], [Union], [Except] and
// [Bounded]; they nest freely, and each again keeps the contract. [Count] counts a window without listing it where
// that is possible. A schedule nests them as Bounded(Shifted(Except(Union(Cron...)))): a calendar means the date in the
// rule and not the one after a shift, and bounds mean the instants that are due in the end. [Spread] and [Jitter] derive stable offsets from a schedule's id.
//
// # Instants
//
// Every instant that comes out is in UTC and a whole number of microseconds. Bounds that come in may have any
// location and any fraction; they are compared exactly and never rounded. Anything given as part of a trigger (an
// anchor, the instants of At, a shift) is cut down to the microsecond when the trigger is built.
//
// The calendar reaches from the year 1 to the year 9999. Bounds outside it act as if they stood at its edge, and an
// occurrence that would lie outside it does not exist. No argument makes the arithmetic overflow.
//
// # Time that the clocks skip
//
// A cron time that the clocks jump over is due late, by the length of the jump (02:30 runs at 03:30). A window that
// opens after the jump finds such an occurrence, since cron looks back by the length of every jump that reaches into
// it. The instant when it runs is its due instant for every purpose but one: a [Calendar] is asked about the time that
// the rule named. See [Nominal].
//
// # Concurrency
//
// Every Trigger of this package is immutable and may be used from any number of goroutines, provided that the
// triggers and calendars it was built from may.
package trigger
