//go:build linux || darwin || freebsd || netbsd || openbsd

package sqlite

import (
	"os"

	"golang.org/x/sys/unix"
)

var errLocked error = unix.EWOULDBLOCK

// The lock belongs to the open file, so it tells two stores of one process apart, and it goes with the process.
func tryLock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

func unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
