// Package sim runs the engine for a virtual day and counts what it should have done. The tests drive real planners,
// real workers and real SQLite files in a bubble of virtual time, through restarts, faults, edits and clocks that jump,
// all drawn from a seed. What this package holds outside of them is the counting: when a schedule is due, by walking
// through the day second by second, and what the ledger must therefore say.
//
// The count shares no code with cron, trigger, schedule or plan. It knows the rules of cases/README.md and of
// PROTOCOL.md, and arithmetic. From the engine it takes the evidence alone: the rows of the ledger, what the jobs
// wrote down themselves, and at which instant each change of a definition took effect.
package sim
