package command

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// life is what is known of a started command. Both kinds of process embed it.
type life struct {
	exitedC, goneC chan struct{}

	mu  sync.Mutex
	now end
}

func newLife() *life {
	return &life{exitedC: make(chan struct{}), goneC: make(chan struct{})}
}

func (l *life) exited() <-chan struct{} { return l.exitedC }
func (l *life) gone() <-chan struct{}   { return l.goneC }

func (l *life) end() end {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// set notes how the command ended. The first note counts.
func (l *life) set(e end) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == (end{}) {
		l.now = e
		close(l.exitedC)
	}
}

func (l *life) status(s syscall.WaitStatus) { l.set(end{status: s, ended: true}) }

// unstarted is the process of a command that could not be started.
type unstarted struct{ *life }

func notStarted(why error) unstarted {
	l := newLife()
	l.set(end{startup: why})
	close(l.goneC)
	return unstarted{l}
}

func (unstarted) stop(time.Duration)  {}
func (unstarted) renew(time.Duration) {}
func (unstarted) abandon()            {}

// feed returns the file from which a command reads text, and a function that ends the feeding. Both must be closed
// or called by the caller: the file once the command has it, the function once the command is gone.
func feed(text string) (*os.File, func(), error) {
	if text == "" {
		f, err := os.Open(os.DevNull)
		return f, func() {}, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	var fed sync.WaitGroup
	fed.Go(func() {
		_, _ = io.WriteString(w, text) // a command need not read its input
		_ = w.Close()
	})
	return r, func() {
		_ = w.Close() // ends a write that nobody reads
		fed.Wait()
	}, nil
}
