//go:build !race

package command

// memoryLimit is what endless output may cost: of the issue.
const memoryLimit = 16 << 20
