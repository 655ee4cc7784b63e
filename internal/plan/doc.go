// Package plan decides what becomes of the occurrences of a schedule that no commit has settled yet: which of them
// run, which become a gap and why, and what is left for a later commit. It is the heart of Belfry, and it is pure: the
// same input gives the same plan, and time is an argument.
//
// The input is one schedule with every revision that was in force during its unsettled stretch, the stretch [From, To),
// the instant of the decision, and what already disposes of parts of the stretch. The decision is taken once for the
// whole stretch, never per window (PROTOCOL A4), in this order:
//
//  1. What a run or a gap already disposes of is left alone (A10).
//  2. What is older than max_catchup_age becomes a gap too_old.
//  3. What is late by its grace (A5) follows the misfire policy of the newest revision: once collapses it into the
//     newest occurrence that is due, skip makes a gap, all runs it within a limit.
//  4. What is on time runs.
//
// A removed schedule owes nothing any more: its unsettled occurrences become a gap removed. A definition that cannot
// be read is left where it stands, quarantined.
package plan
