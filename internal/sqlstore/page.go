package sqlstore

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/belfryhq/belfry/store"
)

const (
	defaultPage = 50
	maxPage     = 1000
)

// errToken answers a page token that no listing gave out.
var errToken = errors.New("the page token was not given out by this listing")

func pageLimit(p store.Page) int {
	if p.Limit <= 0 {
		return defaultPage
	}
	return min(p.Limit, maxPage)
}

// limitTo ends a statement that returns at most n rows. The number is part of the text; see reads.
func limitTo(n int) string { return " LIMIT " + strconv.Itoa(n) }

// position is a place in a listing that is ordered by an instant and an identifier.
type position struct {
	at int64
	id [16]byte
}

func (p position) token() string {
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint64(nil, uint64(p.at)), p.id[:]...))
}

func parsePosition(token string) (p position, err error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) != 24 {
		return p, errToken
	}
	p.at = int64(binary.BigEndian.Uint64(b))
	copy(p.id[:], b[8:])
	return p, nil
}

// conditions builds the WHERE of a listing; what is not asked for does not appear in it.
type conditions struct {
	parts []string
	args  []any
	order string // what to order by instead of the due instant, which it equals
}

func (c *conditions) add(part string, args ...any) {
	c.parts = append(c.parts, part)
	c.args = append(c.args, args...)
}

func (c *conditions) where() string {
	if len(c.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.parts, " AND ")
}

// between adds a half-open range of a column.
func (c *conditions) between(column string, from, to time.Time) {
	if !from.IsZero() {
		c.add(column+" >= ?", micros(from))
	}
	if !to.IsZero() {
		c.add(column+" < ?", micros(to))
	}
}
