package command

import (
	"io"
	"os"
	"sync"
	"time"
)

// pieceSize is how much is read from a pipe at a time: what a pipe of Linux holds.
const pieceSize = 64 << 10

// drainTime bounds how long output is awaited once nothing of the command is left. Then every end of the pipes that a
// command can have is closed; only a process that got hold of one by another way can still write.
const drainTime = 250 * time.Millisecond

// capture reads the two output streams of a command: up to a limit in all they are kept, the rest is read and dropped,
// so that a command never waits for a reader and never costs more memory than two pieces.
type capture struct {
	readers [2]*os.File
	writers [2]*os.File
	sinks   [2]io.Writer
	copying sync.WaitGroup

	mu    sync.Mutex
	room  int64 // still to be kept
	bytes int64
	cut   bool
}

func newCapture(limit int64, stdout, stderr io.Writer) *capture {
	return &capture{room: limit, sinks: [2]io.Writer{stdout, stderr}}
}

// open makes the pipes. The writing ends go to the command; begin closes them here.
func (c *capture) open() (err error) {
	for i := range c.readers {
		if c.readers[i], c.writers[i], err = os.Pipe(); err != nil {
			return err
		}
	}
	return nil
}

// begin starts reading, once the command has its ends of the pipes.
func (c *capture) begin() {
	c.closeWriters()
	for i := range c.readers {
		c.copying.Go(func() { c.copy(i) })
	}
}

func (c *capture) closeWriters() {
	for i, w := range c.writers {
		if w != nil {
			_ = w.Close() // our copy of an end; nothing was written through it
			c.writers[i] = nil
		}
	}
}

func (c *capture) copy(i int) {
	piece := make([]byte, pieceSize)
	for c.wanted(i) {
		n, err := c.readers[i].Read(piece)
		if kept := c.take(n); kept > 0 {
			if _, failed := c.sinks[i].Write(piece[:kept]); failed != nil {
				c.stopKeeping()
			}
		}
		if err != nil {
			return // the end, or the deadline of close
		}
	}
	piece = nil //nolint:wastedassign // the buffer is not needed while the rest is dropped, which may take a day
	c.drop(i)
}

func (c *capture) wanted(i int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.room > 0 && c.sinks[i] != nil
}

// take counts n bytes and returns how many of them are kept.
func (c *capture) take(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += int64(n)
	kept := min(int64(n), c.room)
	c.room -= kept
	c.cut = c.cut || kept < int64(n)
	return int(kept)
}

func (c *capture) stopKeeping() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room, c.cut = 0, true
}

// drop reads the rest without looking at it.
func (c *capture) drop(i int) {
	n := discard(c.readers[i])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += n
	c.cut = c.cut || n > 0
}

// close waits for what is still in the pipes, and lets go of them.
func (c *capture) close() {
	c.closeWriters()
	limit := time.Now().Add(drainTime)
	for _, r := range c.readers {
		if r != nil {
			_ = r.SetReadDeadline(limit) // pipes can have deadlines; if not, closing ends the read
		}
	}
	c.copying.Wait()
	for _, r := range c.readers {
		if r != nil {
			_ = r.Close() // only read from
		}
	}
}

func (c *capture) total() (bytes int64, truncated bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes, c.cut
}
