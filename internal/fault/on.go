//go:build belfry_fault

// Package fault lets the crash harness and the mutation runs break a build on purpose. This is the build that can be
// broken; see the file without the tag for what the functions mean.
package fault

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Enabled tells whether this build can be broken on purpose.
const Enabled = true

// Environment: BELFRY_FAULT_CRASH=point:n kills this process at the n-th passing of the point;
// BELFRY_FAULT_WITHOUT=guard,guard leaves guards out; BELFRY_FAULT_EVERY=name:n makes every n-th call go wrong.
var (
	crashAt, crashCount = split(os.Getenv("BELFRY_FAULT_CRASH"))
	everyName, everyN   = split(os.Getenv("BELFRY_FAULT_EVERY"))
	passed, calls       atomic.Int64
	without             = sync.OnceValue(func() map[string]bool {
		m := map[string]bool{}
		for name := range strings.SplitSeq(os.Getenv("BELFRY_FAULT_WITHOUT"), ",") {
			m[name] = true
		}
		return m
	})
)

// Point kills the process with SIGKILL when the environment asks for it here.
func Point(name string) {
	if name != crashAt || passed.Add(1) != crashCount {
		return
	}
	fmt.Fprintf(os.Stderr, "{\"msg\":\"fault\",\"point\":%q}\n", name)
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal ends the process before anything after the point can run
}

// Without reports whether the named guard is to be left out.
func Without(name string) bool { return without()[name] }

// Every reports whether this call is the one in n that the environment asks to go wrong.
func Every(name string) bool {
	return name == everyName && everyN > 0 && calls.Add(1)%everyN == 0
}

func split(s string) (string, int64) {
	name, n, _ := strings.Cut(s, ":")
	count, err := strconv.ParseInt(n, 10, 64)
	if err != nil {
		count = 1
	}
	return name, count
}
