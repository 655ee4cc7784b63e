package command

import "strconv"

// The words between server and guard, one line each. The server's first line is the call as JSON.
const (
	sayStop  = "stop"  // + grace in nanoseconds: SIGTERM, and SIGKILL after the grace
	sayLease = "lease" // + reading of the boot clock in nanoseconds: SIGKILL when it passes

	sayStarted = "started" // + process id of the command
	sayFailed  = "failed"  // + errno: it could not be started
	sayExit    = "exit"    // + wait status: the command ended
	sayLapsed  = "lapsed"  // it is being killed because the lease passed
	sayGone    = "gone"    // nothing of it is left
)

// guardName is the first argument of a guard. It is what a list of processes shows.
const guardName = "belfry-guard"

// maxRequest bounds the server's first line: arguments, environment and their JSON.
const maxRequest = 16 << 20

func number[T int | int64 | uint32](text string) (T, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return T(n), err == nil && int64(T(n)) == n
}
