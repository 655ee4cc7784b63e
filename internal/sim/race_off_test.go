//go:build !race

package sim

const raced = 0 // the race detector is off
