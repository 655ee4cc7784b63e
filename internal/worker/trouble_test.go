package worker

import (
	"errors"
	"testing"
)

// A database that is away for an hour fills no disk with lines: a trouble is told when it begins, when it is another,
// and when it comes back after things went well.
func TestATroubleThatLastsIsToldOnce(t *testing.T) {
	t.Parallel()
	full, busy := errors.New("disk full"), errors.New("busy")
	var seen trouble
	for i, c := range []struct {
		err  error
		want bool
	}{{nil, false}, {full, true}, {full, false}, {busy, true}, {busy, false}, {full, true}, {nil, false}, {full, true}} {
		if got := seen.begins(c.err); got != c.want {
			t.Errorf("try %d, %v: told is %v, want %v", i, c.err, got, c.want)
		}
	}
}
