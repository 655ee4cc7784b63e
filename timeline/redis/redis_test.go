package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/timeline"
	"github.com/belfryhq/belfry/timeline/claimtest"
	"github.com/belfryhq/belfry/timeline/redis"
)

// key returns a name that nothing else uses, and takes it away in the end.
func key(t *testing.T, c *client) string {
	t.Helper()
	name := "belfry:test:" + rand.Text()
	t.Cleanup(func() {
		if _, err := c.do(context.Background(), "DEL", name); err != nil {
			t.Errorf("delete %s: %v", name, err)
		}
	})
	return name
}

// R-STO-1, R-LEAD-2, R-LEAD-4, R-LEAD-5, R-TST-5: a real Redis holds what every claim store must.
func TestClaimsConform(t *testing.T) {
	t.Parallel()
	c := open(t)
	claimtest.Run(t, func() timeline.ClaimStore { return redis.New(c.do, key(t, c)) })
}

var sample = timeline.Claim{
	Token: "007", Epoch: 9007199254740993, Nonce: "n", // a float has no room for that epoch
	ExpiresAt:    time.Date(2026, 5, 4, 12, 0, 0, 1000, time.UTC),
	CoveredUntil: time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
	SyncedUntil:  time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
}

// The record is one hash of texts that a person can read, and it never expires: also when somebody gave it an end.
func TestRecordIsAHashWithoutAnEnd(t *testing.T) {
	t.Parallel()
	c := open(t)
	name := key(t, c)
	claims := redis.New(c.do, name)
	if ok, err := claims.Swap(t.Context(), nil, sample); !ok || err != nil {
		t.Fatal(ok, err)
	}
	for field, wanted := range map[string]string{
		"token": "007", "epoch": "9007199254740993", "nonce": "n",
		"expires_at": "1777896000.000001", "covered_until": "-0.000001", "synced_until": "4102444800.000000",
	} {
		if got, err := c.do(t.Context(), "HGET", name, field); got != wanted || err != nil {
			t.Errorf("%s is %q, %v, want %q", field, got, err, wanted)
		}
	}
	if _, err := c.do(t.Context(), "EXPIRE", name, 1000); err != nil {
		t.Fatal(err)
	}
	if ok, err := claims.Swap(t.Context(), &sample, sample); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if left, err := c.do(t.Context(), "TTL", name); left != int64(-1) || err != nil {
		t.Errorf("the record ends in %v s, %v", left, err)
	}
	if got, found, err := claims.Load(t.Context()); got != sample || !found || err != nil {
		t.Errorf("wrote %+v, read %+v, %v, %v", sample, got, found, err)
	}
}

// What is not a claim is an error and not "no record": a first claim in its place would start at now.
func TestWhatIsNoClaimIsAnError(t *testing.T) {
	t.Parallel()
	c := open(t)
	for name, damage := range map[string][]any{
		"a field is gone":     {"HDEL", "synced_until"},
		"a time is no number": {"HSET", "covered_until", "soon"},
		"a time is too exact": {"HSET", "covered_until", "1777896000.0000001"},
		"the epoch is none":   {"HSET", "epoch", "-1"},
	} {
		k := key(t, c)
		claims := redis.New(c.do, k)
		if ok, err := claims.Swap(t.Context(), nil, sample); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if _, err := c.do(t.Context(), append([]any{damage[0], k}, damage[1:]...)...); err != nil {
			t.Fatal(err)
		}
		if got, found, err := claims.Load(t.Context()); !errors.Is(err, redis.ErrReply) || found {
			t.Errorf("%s: %+v, %v, %v", name, got, found, err)
		}
	}
	k := key(t, c)
	if _, err := c.do(t.Context(), "HSET", k, "something", "else"); err != nil {
		t.Fatal(err)
	}
	if ok, err := redis.New(c.do, k).Swap(t.Context(), nil, sample); err == nil || ok {
		t.Errorf("another hash was taken for no record: %v", ok)
	}
	if _, err := c.do(t.Context(), "SET", k, "something else"); err != nil {
		t.Fatal(err)
	}
	claims := redis.New(c.do, k)
	if _, found, err := claims.Load(t.Context()); err == nil || found || !strings.Contains(err.Error(), "WRONGTYPE") {
		t.Errorf("a string was loaded: %v, %v", found, err)
	}
	if ok, err := claims.Swap(t.Context(), nil, sample); err == nil || ok {
		t.Errorf("a string was replaced: %v", ok)
	}
}

// Clients decode replies in their own ways.
func TestRepliesInOtherTypes(t *testing.T) {
	t.Parallel()
	answer := func(reply any) *redis.Claims {
		return redis.New(func(context.Context, ...any) (any, error) { return reply, nil }, "k")
	}
	values := []any{[]byte("t"), "5", []byte("n"), "0.000000", []byte("1777896000.000001"), "1.500000"}
	wanted := timeline.Claim{Token: "t", Epoch: 5, Nonce: "n", CoveredUntil: sample.ExpiresAt, SyncedUntil: time.Unix(1, 5e8).UTC()}
	if got, found, err := answer(values).Load(t.Context()); got != wanted || !found || err != nil {
		t.Errorf("read %+v, %v, %v", got, found, err)
	}
	values[0] = 7.5
	for _, reply := range []any{nil, "OK", []any{"t"}, values} {
		if _, _, err := answer(reply).Load(t.Context()); !errors.Is(err, redis.ErrReply) {
			t.Errorf("load of %v: %v", reply, err)
		}
		if _, err := answer(reply).Swap(t.Context(), nil, sample); !errors.Is(err, redis.ErrReply) {
			t.Errorf("swap answered with %v: %v", reply, err)
		}
	}
}
