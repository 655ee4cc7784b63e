//go:build race

package storetest

// The random operations are done by one goroutine: under the race detector they find nothing more, ten times slower.
const (
	fixedSeeds = 1
	operations = 100
)

const turns = 8 // of a race between two handles
