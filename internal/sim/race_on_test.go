//go:build race

package sim

const raced = 1 // the race detector is on
