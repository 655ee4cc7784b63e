// Package redis keeps a loop's claim in Redis, or in what speaks like it: one hash, written by one script that compares
// before it swaps. It links no client; give it the one your program has:
//
//	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}) // github.com/redis/go-redis/v9
//	claims := claim.New(func(ctx context.Context, args ...any) (any, error) {
//		return client.Do(ctx, args...).Result()
//	}, "orders:scheduler")
//
// # What Redis has to keep
//
// The record never expires, so give the key to a database that evicts nothing (maxmemory-policy noeviction). A Redis that
// was killed loses what it had not written to its disk. As long as one loop lives that costs nothing, since it remembers
// the watermark; if all start afresh, a lost record is a first start, and what fell due meanwhile is not handed over. With
// "appendonly yes" and "appendfsync always" nothing is lost; with "everysec" up to a second is handed over again. The
// same goes for a replica that takes over: it may be a moment behind.
package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/belfryhq/belfry/timeline"
)

// Do sends one command and returns its reply: string or []byte, int64, and []any of these and nil. It is called from
// several goroutines at once, and has to heed its context: what comes after the deadline is not read. A command that it
// sends twice after a broken connection does no harm.
type Do func(ctx context.Context, args ...any) (any, error)

// Claims is a timeline.ClaimStore in one hash. Several loops of several processes may share it.
type Claims struct {
	do  Do
	key string
}

// New returns the claim under a key: one for each set of definitions, and one for each shard of it.
func New(do Do, key string) *Claims { return &Claims{do: do, key: key} }

// ErrReply says that Redis answered with what no claim looks like: another program wrote the key, or the client decodes
// replies into types of its own.
var ErrReply = errors.New("timeline/redis: unexpected reply")

// fields are those of the hash, in the order of every command.
var fields = []any{"token", "epoch", "nonce", "expires_at", "covered_until", "synced_until"}

// Load returns the record; false when there is none. An empty token is a record.
func (c *Claims) Load(ctx context.Context) (timeline.Claim, bool, error) {
	if err := context.Cause(ctx); err != nil {
		return timeline.Claim{}, false, err
	}
	reply, err := c.do(ctx, append([]any{"HMGET", c.key}, fields...)...)
	if err != nil {
		return timeline.Claim{}, false, fmt.Errorf("timeline/redis: load %s: %w", c.key, err)
	}
	values, ok := reply.([]any)
	if !ok || len(values) != len(fields) {
		return timeline.Claim{}, false, fmt.Errorf("%w: %T for the fields of %s", ErrReply, reply, c.key)
	}
	var r reader
	claim := timeline.Claim{
		Token: r.text(values[0]), Epoch: r.number(values[1]), Nonce: r.text(values[2]),
		ExpiresAt: r.instant(values[3]), CoveredUntil: r.instant(values[4]), SyncedUntil: r.instant(values[5]),
	}
	switch {
	case r.missing == len(fields):
		return timeline.Claim{}, false, nil
	case r.missing > 0:
		return timeline.Claim{}, false, fmt.Errorf("%w: %s lacks %d of its fields", ErrReply, c.key, r.missing)
	case r.err != nil:
		return timeline.Claim{}, false, fmt.Errorf("%w in %s: %w", ErrReply, c.key, r.err)
	}
	return claim, true, nil
}

// script swaps the record if it is the one expected. The first argument says whether there must be one; then follow the
// expected token, epoch and nonce, and the fields to be written. A time to live that somebody set is taken away, because
// it would take the watermark with it.
const script = `
local have = redis.call('HMGET', KEYS[1], 'token', 'epoch', 'nonce')
if ARGV[1] == '0' then
  if have[3] then return 0 end
  if redis.call('EXISTS', KEYS[1]) == 1 then return redis.error_reply('ERR the hash is not a claim') end
elseif have[1] ~= ARGV[2] or have[2] ~= ARGV[3] or have[3] ~= ARGV[4] then
  return 0
end
redis.call('HSET', KEYS[1], 'token', ARGV[5], 'epoch', ARGV[6], 'nonce', ARGV[7],
  'expires_at', ARGV[8], 'covered_until', ARGV[9], 'synced_until', ARGV[10])
redis.call('PERSIST', KEYS[1])
return 1
`

// Swap writes next if the record has old's token, epoch and nonce, or, with old nil, if there is none, and reports whether
// it did. After an error of the client it may have written.
func (c *Claims) Swap(ctx context.Context, old *timeline.Claim, next timeline.Claim) (bool, error) {
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	expected := []any{"0", "", "", ""}
	if old != nil {
		expected = []any{"1", old.Token, strconv.FormatUint(old.Epoch, 10), old.Nonce}
	}
	args := append([]any{"EVAL", script, "1", c.key}, expected...)
	args = append(args, next.Token, strconv.FormatUint(next.Epoch, 10), next.Nonce,
		seconds(next.ExpiresAt), seconds(next.CoveredUntil), seconds(next.SyncedUntil))
	reply, err := c.do(ctx, args...)
	if err != nil {
		return false, fmt.Errorf("timeline/redis: swap %s: %w", c.key, err)
	}
	written, ok := reply.(int64)
	if !ok {
		return false, fmt.Errorf("%w: %T for a swap of %s", ErrReply, reply, c.key)
	}
	return written == 1, nil
}

// noTime stands for the zero time, which lies beyond any Unix time that a loop writes.
const noTime = "0.000000"

// seconds is an instant as Unix seconds with six decimals, cut down to the microsecond. It is text, since a script's
// numbers would lose the last digits.
func seconds(t time.Time) string {
	if t.IsZero() {
		return noTime
	}
	micros, sign := t.UnixMicro(), ""
	if micros < 0 {
		micros, sign = -micros, "-"
	}
	return fmt.Sprintf("%s%d.%06d", sign, micros/1e6, micros%1e6)
}

func parseSeconds(text string) (time.Time, error) {
	if text == noTime {
		return time.Time{}, nil
	}
	whole, part, _ := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(whole+part, 10, 64)
	if err != nil || len(part) != 6 {
		return time.Time{}, fmt.Errorf("%q is no time in seconds with six decimals", text)
	}
	return time.UnixMicro(micros).UTC(), nil
}

// A reader decodes the values of a hash and keeps the first error.
type reader struct {
	missing int
	err     error
}

func (r *reader) text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case nil:
		r.missing++
	default:
		r.note(fmt.Errorf("a field is %T", value))
	}
	return ""
}

func (r *reader) number(value any) uint64 {
	text := r.text(value)
	n, err := strconv.ParseUint(text, 10, 64)
	if value != nil {
		r.note(err)
	}
	return n
}

func (r *reader) instant(value any) time.Time {
	text := r.text(value)
	t, err := parseSeconds(text)
	if value != nil {
		r.note(err)
	}
	return t
}

func (r *reader) note(err error) {
	if r.err == nil {
		r.err = err
	}
}
