package sqlstore

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/belfryhq/belfry/schedule"
	"github.com/belfryhq/belfry/store"
)

// forever is the last_at of a gap that is still open: it touches every later stretch by comparison alone.
const forever = math.MaxInt64

// micros is how an instant is stored; a zero one is NULL.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// instant scans an instant; NULL is the zero time.
type instant struct{ t *time.Time }

func (i instant) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*i.t = time.Time{}
	case int64:
		*i.t = time.UnixMicro(v).UTC()
	default:
		return fmt.Errorf("an instant is stored as %T", v)
	}
	return nil
}

// blob is how an identifier is stored; a zero one is NULL.
func blob(id [16]byte) any {
	if id == ([16]byte{}) {
		return nil
	}
	return id[:]
}

// ident scans an identifier; NULL is the zero one.
type ident struct{ id *[16]byte }

func (i ident) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*i.id = [16]byte{}
		return nil
	case []byte:
		if len(v) == len(i.id) {
			copy(i.id[:], v)
			return nil
		}
	}
	return fmt.Errorf("an identifier is stored as %T %v", v, v)
}

// flag is how a truth is stored.
func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Words of package schedule that are stored as their place in a list. The lists only grow at their end.
var (
	overlaps = []schedule.Overlap{"", schedule.OverlapAllow, schedule.OverlapSkip, "queue", "delay", "replace"}
	onLosts  = []schedule.OnLost{"", schedule.OnLostRedeliver, schedule.OnLostFail}
	misfires = []schedule.Misfire{"", schedule.MisfireOnce, schedule.MisfireSkip, schedule.MisfireAll}
)

// number is the place of a word in its list.
func number[T ~string](words []T, word T) (int, error) {
	n := slices.Index(words, word)
	if n < 0 {
		return 0, fmt.Errorf("the word %q is not known: %w", word, store.ErrPoison)
	}
	return n, nil
}

// wordAt is the word at a place; a place that a newer program wrote is the empty word.
func wordAt[T ~string](words []T, n int) T {
	if n < 0 || n >= len(words) {
		return ""
	}
	return words[n]
}

// object is how labels and other maps are stored: JSON with sorted keys, so that equal ones have equal text.
func object(v map[string]string) (string, error) {
	if len(v) == 0 {
		return "{}", nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

// document scans JSON; NULL and "" leave the destination as it is.
type document struct{ v any }

func (d document) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(v), d.v)
	case []byte:
		return json.Unmarshal(v, d.v)
	}
	return fmt.Errorf("a document is stored as %T", v)
}
