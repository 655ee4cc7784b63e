package timeline

import (
	"context"
	"fmt"
	"iter"
	"time"
)

// Shard is the part of a source that shard n (from 0) of the given number of shards has: each definition is in exactly
// one, by a stable hash of its ID. Give each shard a loop of its own and a claim store of its own, under another name;
// each may have standbys. Selection knows one definition at a time, so that nothing else is needed.
//
// Changing the number of shards moves definitions from one watermark to another: stop all loops before, and start with
// the claims of the new number copied from the one that was furthest behind. It returns ErrOptions when n is not one of
// the shards. The result is a Changes if the source is one.
func Shard(src Source, n, of int) (Source, error) {
	if of < 1 || n < 0 || n >= of {
		return nil, fmt.Errorf("%w: there is no shard %d of %d", ErrOptions, n, of)
	}
	s := shard{Source: src, n: uint64(n), of: uint64(of)}
	if c, ok := src.(Changes); ok {
		return shardWithChanges{shard: s, changes: c}, nil
	}
	return s, nil
}

type shard struct {
	Source
	n, of uint64
}

func (s shard) Snapshot(ctx context.Context) iter.Seq2[Row, error] {
	return s.filter(s.Source.Snapshot(ctx))
}

func (s shard) filter(rows iter.Seq2[Row, error]) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for row, err := range rows {
			if err == nil && fnv(row.ID)%s.of != s.n {
				continue
			}
			if !yield(row, err) {
				return
			}
		}
	}
}

type shardWithChanges struct {
	shard
	changes Changes
}

func (s shardWithChanges) Since(ctx context.Context, t time.Time) iter.Seq2[Row, error] {
	return s.filter(s.changes.Since(ctx, t))
}

// fnv is the 64-bit FNV-1a hash. It is frozen: another one would move definitions between watermarks.
func fnv(id string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	return h
}
