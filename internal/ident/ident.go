// Package ident prints and reads the identifiers that people see: a short prefix that names the kind, and the
// sixteen bytes of a UUID in Crockford's base32 (https://www.crockford.com/base32.html), 26 characters, lower case.
package ident

import (
	"fmt"
	"strings"
)

// ID is the sixteen bytes behind every identifier.
type ID [16]byte

// Zero reports whether the identifier is unset.
func (i ID) Zero() bool { return i == ID{} }

const (
	alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	length   = 26 // characters that 128 bits take at five bits each
)

// Encode prints the prefix and the identifier: "run_" and 26 characters. The text sorts as the bytes do.
func Encode(prefix string, id ID) string {
	var b strings.Builder
	b.Grow(len(prefix) + length)
	b.WriteString(prefix)
	// 26 characters hold 130 bits: the first one carries only three.
	var acc uint32
	bits := 2
	for _, c := range id {
		acc = acc<<8 | uint32(c)
		bits += 8
		for bits >= 5 {
			bits -= 5
			b.WriteByte(alphabet[acc>>bits&31])
		}
	}
	return b.String()
}

// Decode reads what Encode printed. It accepts upper case, and the letters that Crockford reads as digits
// (i and l as 1, o as 0). The error says what is wrong with the text; it is meant for a person.
func Decode(prefix, text string) (ID, error) {
	var id ID
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok {
		return id, fmt.Errorf("identifier %q does not begin with %q", text, prefix)
	}
	if len(rest) != length {
		return id, fmt.Errorf("identifier %q has %d characters after %q, not %d", text, len(rest), prefix, length)
	}
	var acc uint32
	bits, n := -2, 0
	for i := range len(rest) {
		v := value(rest[i])
		if v < 0 || (i == 0 && v > 7) {
			return ID{}, fmt.Errorf("identifier %q: character %d (%q) is not possible there", text, len(prefix)+i+1, rest[i])
		}
		acc = acc<<5 | uint32(v)
		bits += 5
		if bits >= 8 {
			bits -= 8
			id[n] = byte(acc >> bits)
			n++
		}
	}
	return id, nil
}

func value(c byte) int {
	switch {
	case c >= 'A' && c <= 'Z':
		c += 'a' - 'A'
	}
	switch c {
	case 'i', 'l':
		return 1
	case 'o':
		return 0
	}
	return strings.IndexByte(alphabet, c)
}
