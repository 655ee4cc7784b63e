//go:build !belfry_fault

package timeline

// unguarded leaves the heartbeat guard out in builds that are broken on purpose; this is not one.
func unguarded() bool { return false }
