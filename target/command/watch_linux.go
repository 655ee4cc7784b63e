package command

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	firstPause = time.Millisecond      // between rounds of killing; doubles up to
	lastPause  = 50 * time.Millisecond // so that a process that cannot die costs little
)

// watch follows orders, deaths and the clock until nothing is left.
func (g *guard) watch() {
	timer := time.NewTimer(time.Hour)
	for {
		timer.Reset(g.next())
		select {
		case o := <-g.orders:
			g.obey(o)
		case d := <-g.deaths:
			if d.last || g.buried(d) {
				return
			}
		case <-timer.C:
			g.tick()
		}
	}
}

func (g *guard) obey(o order) {
	switch {
	case o.lost:
		// The server is dead, or has given this command up: another delivery may begin any moment.
		g.orders = nil
		g.kill()
	case o.word == sayStop:
		g.stop(time.Duration(o.n))
	case o.word == sayLease:
		g.lease = time.Duration(o.n)
	}
}

// buried notes a death and reports whether the guard's work is done.
func (g *guard) buried(d death) bool {
	if d.pid != g.pid {
		return false
	}
	g.ended = true
	g.tell("%s %d", sayExit, uint32(d.status))
	if g.call.Single {
		return true
	}
	g.stop(g.call.Grace) // whatever it left behind
	return false
}

// stop tells everything to end, and kills it when the grace is over. A second stop can only shorten the grace.
func (g *guard) stop(grace time.Duration) {
	at := boot() + max(grace, 0)
	if g.killAt == 0 || at < g.killAt {
		g.killAt = at
	}
	if g.stopping {
		return
	}
	g.stopping = true
	if g.call.Single {
		_ = unix.Kill(g.pid, unix.SIGTERM)
		return
	}
	signalTree(unix.Getpid(), unix.SIGTERM)
	signalTree(unix.Getpid(), unix.SIGCONT) // a stopped process takes the signal only when it goes on
}

// kill begins to kill everything, or does another round of it: a process may have been born between the look at the
// tree and the signal.
func (g *guard) kill() {
	if !g.killing {
		g.killing, g.pause = true, firstPause
	}
	if g.call.Single {
		_ = unix.Kill(g.pid, unix.SIGKILL)
		return
	}
	killTree(unix.Getpid())
	chase()
}

func (g *guard) tick() {
	now := boot()
	switch {
	case g.killing:
		g.pause = min(2*g.pause, lastPause)
		g.kill()
	case due(g.killAt, now):
		g.kill()
	case due(g.lease, now):
		if !g.ended {
			g.tell(sayLapsed)
		}
		g.kill()
	}
}

// next is how long to wait for the clock.
func (g *guard) next() time.Duration {
	if g.killing {
		return g.pause
	}
	wait, now := time.Hour, boot()
	for _, at := range []time.Duration{g.killAt, g.lease} {
		if at != 0 {
			wait = min(wait, max(at-now, 0))
		}
	}
	return wait
}

func due(at, now time.Duration) bool { return at != 0 && now >= at }

// boot reads the clock that goes on while the machine sleeps; the server reads the same one.
func boot() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(ts.Nano())
}
