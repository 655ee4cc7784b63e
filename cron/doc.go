// Package cron reads cron expressions and says at which instants they are due.
//
// It is pure: it reads no clock, does no I/O, starts no goroutine and depends on
// nothing but the standard library. An [Expr] is immutable and every function may
// be called concurrently.
//
// # How an answer is found
//
// An expression is parsed once into bit masks, one for each field. A date is a
// count of days, and a month's matching days are one 32-bit word, so that "the
// next one" is a shift and a count of trailing zeros, not a walk through
// [time.Time].
//
// A zone is seen as segments, stretches between two changes of its offset. Within
// a segment local time is the instant plus a constant. Everything that is special
// about daylight saving happens at a segment's borders:
//
//   - Clocks forward (a gap): a local time that the clocks skip is due late by the
//     length of the gap, which is the same as reading it with the offset of the
//     segment before. Where it meets another occurrence, they are one. [GapSkip]
//     drops it.
//   - Clocks back (a repeat): with a star or a step in its minute or hour field an
//     expression is due at both readings, otherwise at the first. [Repeat] overrides.
//
// No two changes in the IANA database are nearer to each other than three days and
// none moves the clocks by more than 24 hours; the search relies on both (see
// reach), so a late occurrence never reaches past the segment that follows its gap.
//
// # Bounds
//
// Only local dates of the years 1 to 9999 are considered, because later instants
// have no RFC 3339 text. An expression no longer than [MaxLength] bytes is read in
// one pass. Next gives up after one whole Gregorian cycle of 400 years, Prev at the
// year 1; both skip from month to month, never from minute to minute.
package cron
