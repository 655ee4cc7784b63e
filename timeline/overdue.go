package timeline

import (
	"fmt"
	"time"
)

// A claim's end is written by its holder's clock. When that clock was far ahead and was set right after the holder had
// died, the record keeps everybody away for as long as the clock was wrong: a machine that once booted in 2098 would
// plan nothing for decades. So an end that no lease explains is believed only while somebody renews it.
const (
	// endSlack is how much further off than our own lease an end may lie without suspicion: clocks differ.
	endSlack = 5 * time.Second
	// endStands is how long such a record must stand unchanged before it is taken (PROTOCOL A9). A holder whose lease is
	// so long that it renews less often loses it to a loop with a short one; the fence keeps that harmless.
	endStands = 2 * time.Minute
)

// sighting is when, by elapsed time, a suspicious record was first seen.
type sighting struct {
	nonce string
	since time.Duration
}

// abandoned reports whether a foreign claim that has not ended may be taken all the same.
func (l *Loop) abandoned(rec Claim, now time.Time) bool {
	if rec.ExpiresAt.Sub(now) <= l.o.Lease+endSlack {
		l.suspect = sighting{}
		return false
	}
	elapsed := l.o.Elapsed()
	if l.suspect.nonce != rec.Nonce || elapsed < l.suspect.since {
		l.suspect = sighting{nonce: rec.Nonce, since: elapsed}
		l.o.OnError(StageLease, "", fmt.Errorf("the claim of %q ends at %s, further off than a lease: a clock was set back; it is taken unless renewed within %v",
			rec.Token, rec.ExpiresAt.Format(time.RFC3339), endStands))
	}
	return elapsed-l.suspect.since >= endStands
}
