package sqlstore

import (
	"context"
	"errors"

	"github.com/belfryhq/belfry/internal/fault"
	"github.com/belfryhq/belfry/timeline"
)

// For returns the claim of one shard.
func (s *Store) For(shard int) timeline.ClaimStore { return claims{s, shard} }

type claims struct {
	s     *Store
	shard int
}

// errRewind answers a claim that would move the watermark back. It is a fault of the caller, not a lost race.
var errRewind = errors.New("the watermark never moves back; nothing was written")

// Load returns the shard's claim.
func (c claims) Load(ctx context.Context) (timeline.Claim, bool, error) {
	return c.s.Planner(ctx, c.shard)
}

// Swap replaces the shard's claim if it still is old.
func (c claims) Swap(ctx context.Context, old *timeline.Claim, next timeline.Claim) (swapped bool, err error) {
	err = c.s.writer.do(ctx, &write{name: "swap the claim", urgent: true, cost: 1, run: func(t *tx) (err error) {
		if old == nil {
			swapped, err = insertClaim(t, c.shard, next)
		} else {
			swapped, err = swapClaim(t, c.shard, *old, next)
		}
		t.hint = t.hint || swapped
		return err
	}})
	return swapped && err == nil, err
}

const selectClaim = `SELECT token, epoch, nonce, expires_at, covered_until, synced_until FROM belfry_claims WHERE shard = ?`

func claimColumns(c *timeline.Claim) []any {
	return into(&c.Token, &c.Epoch, &c.Nonce, instant{&c.ExpiresAt}, instant{&c.CoveredUntil}, instant{&c.SyncedUntil})
}

// Planner tells who leads a shard.
func (s *Store) Planner(ctx context.Context, shard int) (c timeline.Claim, found bool, err error) {
	err = s.read(ctx, "read the claim", func(ctx context.Context) error {
		return s.reads.each(ctx, nil, func(scan func(...any) error) error {
			found = true
			return scan(claimColumns(&c)...)
		}, selectClaim, shard)
	})
	return c, found, err
}

func insertClaim(t *tx, shard int, next timeline.Claim) (bool, error) {
	var stored timeline.Claim
	if exists, err := t.one(claimColumns(&stored), selectClaim, shard); exists || err != nil {
		return false, err
	}
	_, err := t.exec(`INSERT INTO belfry_claims (shard, token, epoch, nonce, expires_at, covered_until, synced_until)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, shard, next.Token, next.Epoch, next.Nonce,
		micros(next.ExpiresAt), micros(next.CoveredUntil), micros(next.SyncedUntil))
	return err == nil, err
}

const updateClaim = `UPDATE belfry_claims
	SET token = ?, epoch = ?, nonce = ?, expires_at = ?, covered_until = ?, synced_until = ? WHERE shard = ?`

// swapClaim writes next in place of old. It declines when that would move the watermark back.
func swapClaim(t *tx, shard int, old, next timeline.Claim) (bool, error) {
	stored, held, err := heldClaim(t, shard, old)
	if err != nil || !held {
		return false, err
	}
	if rewinds(stored, next) {
		return false, decline(errRewind)
	}
	return writeClaim(t, shard, old, next)
}

// heldClaim reads the claim and tells whether it is still the one that the caller last saw.
func heldClaim(t *tx, shard int, old timeline.Claim) (stored timeline.Claim, held bool, err error) {
	exists, err := t.one(claimColumns(&stored), selectClaim, shard)
	return stored, exists && sameClaim(stored, old), err
}

func rewinds(stored, next timeline.Claim) bool {
	return next.CoveredUntil.Before(stored.CoveredUntil) && !fault.Without("watermark")
}

// writeClaim repeats the condition in the statement itself, so that it holds on its own.
func writeClaim(t *tx, shard int, old, next timeline.Claim) (bool, error) {
	query := updateClaim
	args := []any{next.Token, next.Epoch, next.Nonce,
		micros(next.ExpiresAt), micros(next.CoveredUntil), micros(next.SyncedUntil), shard}
	switch {
	case fault.Without("fence-commit"):
	case fault.Without("nonce"):
		query += " AND token = ? AND epoch = ?"
		args = append(args, old.Token, old.Epoch)
	default:
		query += " AND token = ? AND epoch = ? AND nonce = ?"
		args = append(args, old.Token, old.Epoch, old.Nonce)
	}
	n, err := t.exec(query, args...)
	return n == 1, err
}

func sameClaim(a, b timeline.Claim) bool {
	if fault.Without("fence-commit") {
		return true
	}
	return a.Token == b.Token && a.Epoch == b.Epoch && (a.Nonce == b.Nonce || fault.Without("nonce"))
}
