//go:build !race

package storetest

const (
	fixedSeeds = 3
	operations = 300 // of one series
)
