//go:build !belfry_fault

// Package fault lets the crash harness and the mutation runs break a build on purpose. In an ordinary build every
// function here is an empty one that the compiler removes; with the build tag belfry_fault the environment says what
// to break. Product code names a point or a guard, and nothing more.
package fault

// Enabled tells whether this build can be broken on purpose.
const Enabled = false

// Point marks a place between two steps where the crash harness may kill the process.
func Point(string) {}

// Without reports whether the named guard is to be left out. Product code writes
//
//	if fault.Without("outcome-fence") { ... the unguarded form ... }
//
// and an ordinary build never enters the branch.
func Without(string) bool { return false }

// Every reports whether this call is the one in n that the environment asks to go wrong.
func Every(string) bool { return false }
