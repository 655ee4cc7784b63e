//go:build belfry_fault

package timeline

import (
	"os"
	"slices"
	"strings"
)

// unguarded leaves the heartbeat guard out where BELFRY_FAULT_WITHOUT names "heartbeat", to show that a test notices.
// The loop stands below the package that does this for all others, and so reads the environment itself.
func unguarded() bool { return isUnguarded }

var isUnguarded = slices.Contains(strings.Split(os.Getenv("BELFRY_FAULT_WITHOUT"), ","), "heartbeat")
