package schedule

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what a schedule carries beside its spec.
const (
	maxLabels          = 32
	maxLabelKey        = 63
	maxLabelValue      = 255
	maxAnnotationBytes = 64 << 10
	maxName            = 100
	maxTenant          = 63
)

const namePattern = "^[a-z0-9][a-z0-9._-]{0,99}$"
const tenantPattern = "^[a-z0-9][a-z0-9_-]{0,62}$"

// Metadata is what names a schedule and what its owner notes about it.
type Metadata struct {
	Name        string            `json:"name"`
	Tenant      string            `json:"tenant,omitempty"` // "" is no tenant
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Validate reports everything that is wrong with the metadata as an *Invalid with pointers below "/metadata".
func (m Metadata) Validate() error {
	var c checker
	c.at = "/metadata"
	c.pattern("/name", m.Name, ValidName(m.Name), namePattern)
	if m.Tenant != "" {
		c.pattern("/tenant", m.Tenant, ValidTenant(m.Tenant), tenantPattern)
	}
	if len(m.Labels) > maxLabels {
		c.add("/labels", CodeOutOfRange, fmt.Sprintf("%d labels; at most %d are kept", len(m.Labels), maxLabels))
	}
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		at := "/labels/" + Escape(key)
		if key == "" || len(key) > maxLabelKey {
			c.add(at, CodeOutOfRange, fmt.Sprintf("a label's key has 1 to %d bytes", maxLabelKey))
		}
		c.text(at, key, maxLabelKey*2)
		c.text(at, m.Labels[key], maxLabelValue)
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(m.Annotations)) {
		size += len(key) + len(m.Annotations[key])
		c.text("/annotations/"+Escape(key), key, maxAnnotationBytes)
		c.text("/annotations/"+Escape(key), m.Annotations[key], maxAnnotationBytes)
	}
	if size > maxAnnotationBytes {
		c.add("/annotations", CodeOutOfRange, fmt.Sprintf("%d bytes of annotations; at most %d are kept", size, maxAnnotationBytes))
	}
	return invalid(c.problems)
}

// ValidName reports whether a schedule, a pool or a target may be called so: lower-case letters, digits, dot, underscore
// and hyphen, at most 100 of them, beginning with a letter or a digit.
func ValidName(name string) bool { return validWord(name, maxName, "._-") }

// ValidTenant reports whether a tenant may be called so: as a name, without the dot, at most 63 characters.
func ValidTenant(tenant string) bool { return validWord(tenant, maxTenant, "_-") }

func validWord(word string, longest int, marks string) bool {
	if word == "" || len(word) > longest || strings.IndexByte(marks, word[0]) >= 0 {
		return false
	}
	for i := range len(word) {
		c := word[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && strings.IndexByte(marks, c) < 0 {
			return false
		}
	}
	return true
}

// Escape makes a key fit for a JSON pointer (RFC 6901).
func Escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

// A checker collects problems below one pointer.
type checker struct {
	at       string
	problems []Problem
}

func (c *checker) add(pointer, code, message string) *Problem {
	c.problems = append(c.problems, Problem{Pointer: c.at + pointer, Code: code, Message: message})
	return &c.problems[len(c.problems)-1]
}

func (c *checker) pattern(pointer, word string, valid bool, pattern string) {
	switch {
	case word == "":
		c.add(pointer, CodeRequired, "must be given").Hint = "write a name that matches " + pattern
	case !valid:
		p := c.add(pointer, CodeBadFormat, fmt.Sprintf("%s does not match %s", quote(word), pattern))
		if fixed := slug(word); fixed != "" && fixed != word {
			p.Hint = fmt.Sprintf("did you mean %q?", fixed)
		}
	}
}

// slug is the nearest word that a name may be; "" if nothing of it is left.
func slug(word string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(word) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == maxTenant {
			break
		}
	}
	return strings.Trim(b.String(), "-_")
}

// text refuses what a database may refuse later: bytes that are not UTF-8, NUL, and too much of it.
func (c *checker) text(pointer, text string, longest int) {
	switch {
	case len(text) > longest:
		c.add(pointer, CodeOutOfRange, fmt.Sprintf("%d bytes; at most %d are kept", len(text), longest))
	case !utf8.ValidString(text):
		c.add(pointer, CodeBadFormat, "is not UTF-8")
	case strings.ContainsRune(text, 0):
		c.add(pointer, CodeBadFormat, "contains a NUL character")
	}
}

// quote prints a text that may be long or ugly.
func quote(text string) string {
	const longest = 80
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}
