package timeline_test

import (
	"strings"
	"testing"
	"time"
)

// PROTOCOL A9: a leader whose clock was two hours ahead died, and the clock was set right. Its claim is taken once it
// has stood for two minutes, and not two hours later; and it is said why nobody leads.
func TestAClaimOfTheFutureIsTaken(t *testing.T) {
	t.Parallel()
	a := newRig(t, lease6, row("x", "1", every(time.Minute)))
	a.turn()
	a.clock.step(-2 * time.Hour)
	b := a.beside(lease6)
	for range 120 {
		b.follows()
		a.clock.pass(time.Second)
	}
	b.reconcile()
	b.tick()
	if c := b.store.record(t); c.Epoch != 2 || !c.CoveredUntil.Equal(noon) {
		t.Errorf("the record is %+v", c)
	}
	if len(b.errors) != 1 || !strings.Contains(b.errors[0], "a clock was set back") {
		t.Errorf("errors %q", b.errors)
	}
}

// A leader that lives renews by the clock that was set back, and keeps its claim; so does one with a longer lease than
// the loop that watches it.
func TestALivingLeaderKeepsItsClaimWhenTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	longer := lease6
	longer.Lease = time.Minute
	a := newRig(t, longer, row("x", "1", every(time.Minute)))
	b := a.beside(lease6)
	a.turn()
	b.follows()
	a.clock.step(-2 * time.Hour)
	for range 600 {
		a.tick()
		b.follows()
		a.clock.pass(time.Second)
	}
	if c := a.store.record(t); c.Epoch != 1 {
		t.Errorf("the record is %+v", c)
	}
}
