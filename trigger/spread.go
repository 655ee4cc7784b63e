package trigger

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// Spread returns the stable offset of a schedule inside a stretch: a whole number of seconds, at least zero and below
// within. Schedules that share an expression thus do not all start in the same second, and each keeps its own second
// across restarts, nodes and releases. It is zero when within is below two seconds. Give it to [Shifted].
//
// The offset is part of every due instant and key of the schedule, so this function is frozen: it is the first eight
// bytes of SHA-256 (FIPS 180-4) of the id, read as a big-endian number, modulo the whole seconds of within.
func Spread(id string, within time.Duration) time.Duration {
	seconds := within / time.Second
	if seconds < 2 {
		return 0
	}
	sum := sha256.Sum256([]byte(id))
	return time.Duration(remainder(sum, uint64(seconds))) * time.Second
}

// Jitter returns the delay of one occurrence inside a stretch: whole microseconds, at least zero and below within. It
// depends on the id and the due instant alone, so that a retry, a restart or another node does not draw again; two
// occurrences of one schedule differ. It moves when the run becomes available, never its due instant or its key. To
// keep a run from being available after its successor is due, pass a stretch that ends there.
//
// It is frozen like [Spread]: the hash of the occurrence key, which is the id, a colon and the due instant as RFC 3339
// text in UTC with its fraction trimmed, modulo the microseconds of within.
func Jitter(id string, due time.Time, within time.Duration) time.Duration {
	micros := within / time.Microsecond
	if micros < 2 {
		return 0
	}
	key := make([]byte, 0, 96)
	key = append(key, id...)
	key = append(key, ':')
	key = whole(due).AppendFormat(key, time.RFC3339Nano)
	return time.Duration(remainder(sha256.Sum256(key), uint64(micros))) * time.Microsecond
}

// remainder reduces a hash to [0, n). The bias of the modulus is below n / 2^64.
func remainder(sum [sha256.Size]byte, n uint64) uint64 {
	return binary.BigEndian.Uint64(sum[:8]) % n
}
