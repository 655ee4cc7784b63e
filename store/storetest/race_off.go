//go:build !race

package storetest

const (
	fixedSeeds = 3
	operations = 300 // of one series
)

const turns = 25 // of a race between two handles
