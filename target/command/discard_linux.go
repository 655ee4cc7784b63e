package command

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// discard moves what comes out of a pipe to nowhere inside the kernel. A command that writes without end then costs
// this process no copying, which other runs would wait for.
func discard(r *os.File) int64 {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return discardByReading(r)
	}
	defer func() { _ = null.Close() }() // nothing to flush
	raw, err := r.SyscallConn()
	if err != nil {
		return discardByReading(r)
	}
	var total int64
	for {
		n, err := spliceOnce(raw, int(null.Fd()))
		total += n
		if err != nil {
			return total + discardByReading(r) // ends at once at the end of the pipe or past its deadline
		}
		if n == 0 {
			return total
		}
	}
}

type rawReader interface {
	Read(f func(fd uintptr) (done bool)) error
}

// maxSplice bounds one call; a pipe rarely holds more.
const maxSplice = 1 << 20

func spliceOnce(raw rawReader, null int) (n int64, err error) {
	waited := raw.Read(func(fd uintptr) bool {
		n, err = unix.Splice(int(fd), nil, null, nil, maxSplice, unix.SPLICE_F_NONBLOCK)
		return err != unix.EAGAIN && err != unix.EINTR
	})
	if waited != nil {
		return 0, waited
	}
	return max(n, 0), err
}

func discardByReading(r *os.File) int64 {
	n, _ := io.Copy(io.Discard, r) // an error is the end of what can be read
	return n
}
