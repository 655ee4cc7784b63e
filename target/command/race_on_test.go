//go:build race

package command

// memoryLimit is what endless output may cost: the race detector takes some 20 MiB in the guard.
const memoryLimit = 64 << 20
