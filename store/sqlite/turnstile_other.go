//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd

package sqlite

import (
	"errors"
	"os"
)

var errLocked = errors.New("locked")

// Without a lock of this kind there are no turns.
func tryLock(*os.File) error { return errors.ErrUnsupported }

func unlock(*os.File) error { return nil }
