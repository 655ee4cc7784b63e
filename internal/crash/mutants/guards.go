package main

// guard is something in the product that keeps a promise, and that a broken build can leave out by its name.
type guard struct {
	name string   // what BELFRY_FAULT_WITHOUT calls it
	what string   // what it does, for people
	pkg  string   // whose tests show it, below the module's root
	show []string // the tests, each of which must fail without it
}

// guards are all that the product's sources name, as TestEveryGuardIsListed sees to.
var guards = []guard{
	{"fence-commit", "a planner writes only while it holds the claim", "store/sqlite", conformance(
		"claims/is swapped only from what it is", "commit/is fenced by token, epoch and nonce", "claims/is not corrected by a stranger")},
	{"nonce", "of two planners with one epoch, one holds the claim", "store/sqlite", conformance(
		"claims/is swapped only from what it is", "commit/is fenced by token, epoch and nonce")},
	{"watermark", "no commit moves the watermark back", "store/sqlite", conformance(
		"claims/never moves the watermark back", "commit/never moves the watermark back")},
	{"fence-outcome", "an outcome counts under its own fence alone", "store/sqlite", conformance(
		"settle/is refused under another fence", "settle/of a stale holder changes nothing")},
	{"unique-index", "an occurrence has one run", "store/sqlite", conformance(
		"commit/counts an occurrence that exists and does nothing", "commit/counts an occurrence that has ended")},
	{"lock-index", "a lock has one owner", "store/sqlite", conformance(
		"locks/skip what is ready while the lock is owned", "locks/skip within one answer", "locks/last through recovery")},
	{"delivery-bound", "a run that kills its workers is not delivered for ever", "store/sqlite", conformance(
		"recover/ends deliveries at their bound")},
	{"unplan", "an edit takes back what was planned ahead", "store/sqlite", conformance(
		"unplan/edit takes back what is planned ahead", "unplan/revokes a claimed run", "unplan/pause and removal take back, too")},
	{"pin", "an edited schedule stays selected until it is planned again", "store/sqlite", conformance(
		"plans/of a changed schedule is left out and pins it", "apply/edits by a new revision and span")},
	{"heartbeat", "a planner that could not renew stops before its lease ends", "timeline", []string{
		"TestHeartbeatGuardStopsAnUnrenewedLeader", "TestHeartbeatGuardBelievesTheLargerClock"}},
	{"step-guard", "a stepped clock stops planning", "internal/planner", []string{
		"TestAClockFarAheadSettlesNoFuture", "TestAStartAfterALongAbsenceWaits"}},
	{"heartbeat-guard", "a worker that cannot renew ends its work before its lease ends", "internal/worker", []string{
		"TestUnrenewedLeaseEndsTheWork"}},
	{"old-lease", "a worker starts nothing under a lease that has grown old", "internal/worker", []string{
		"TestNothingStartsUnderAnOldLease"}},
	{"confirm", "a held run starts when the store has said that it may", "internal/worker", []string{
		"TestUnconfirmedRunsWait"}},
	{"instant", "a run does not start before its instant", "internal/worker", []string{
		"TestRunsStartAtTheirInstant", "TestNothingStartsBeforeItsInstant"}},
	{"guard-process", "a command outlives neither its time nor its server", "target/command", []string{
		"TestNothingIsLeftAfterTheTimeout", "TestNothingIsLeftAfterTheServerIsKilled"}},
	{"group-kill", "what a command started ends with it", "target/command", []string{
		"TestNothingIsLeftAfterTheTimeout", "TestNothingIsLeftAfterTheCommandEnded"}},
	{"command-lease", "a command is not started under a lease that has passed", "target/command", []string{
		"TestAPassedLeaseStartsNothing"}},
}

// conformance names tests of the suite that every store is held to.
func conformance(names ...string) []string {
	tests := make([]string, len(names))
	for i, name := range names {
		tests[i] = "TestConformance/" + name
	}
	return tests
}
