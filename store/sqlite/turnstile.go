package sqlite

import (
	"errors"
	"os"
	"time"
)

// turnstile makes the processes that write to one file take turns. SQLite's write lock has no queue: whoever tries at
// the right moment gets it, and a process that commits all the time always does, while another one's claim and
// heartbeat run out. A writer holds the turnstile, a lock on a file beside the database, only while it waits for the
// write lock. So who has just committed cannot go in again before the one who waits.
//
// It is a courtesy and no guard: nothing breaks when somebody goes without it. A process that was stopped inside the
// turnstile therefore holds up the others for a moment only.
type turnstile struct {
	f       *os.File
	nextTry time.Time // go without until then
}

const (
	turnPatience = 250 * time.Millisecond // more than nearly every transaction takes
	turnGiveUp   = 2 * time.Second
)

// newTurnstile opens the lock file, which stays beside the database for ever.
func newTurnstile(path string) (*turnstile, error) {
	f, err := os.OpenFile(path+"-turn", os.O_CREATE|os.O_RDWR, 0o600)
	return &turnstile{f: f}, err
}

// enter waits for the turn; false when it goes without.
func (t *turnstile) enter() bool {
	if t == nil || time.Now().Before(t.nextTry) {
		return false
	}
	for range turnPatience / busyPause {
		switch err := tryLock(t.f); {
		case err == nil:
			return true
		case !errors.Is(err, errLocked):
			return false
		}
		time.Sleep(busyPause)
	}
	t.nextTry = time.Now().Add(turnGiveUp)
	return false
}

func (t *turnstile) leave() {
	if err := unlock(t.f); err != nil {
		t.nextTry = time.Now().Add(turnGiveUp) // and the lock goes with the process
	}
}

func (t *turnstile) close() error { return t.f.Close() }
