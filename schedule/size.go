package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes as manifests and the API write it: "1MiB", "64KiB" or plain bytes ("4096", or the number
// 4096) in; the largest unit that leaves no rest out.
type Size int64

// The units of Size, largest first.
var sizeUnits = []struct {
	name  string
	bytes Size
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// ParseSize reads a size. Only whole numbers and the units of 1024 are taken: "1MB" means two different sizes to
// different people. The error is meant for the person who wrote the text.
func ParseSize(text string) (Size, error) {
	if len(text) > maxText {
		return 0, fmt.Errorf("is longer than %d characters; write a size as 1MiB, 64KiB or plain bytes", maxText)
	}
	unit := strings.TrimLeft(text, "0123456789")
	digits := text[:len(text)-len(unit)]
	if text == "" {
		return 0, errors.New("is empty; write a size as 1MiB, 64KiB or plain bytes")
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if digits != "" && err != nil {
		return 0, fmt.Errorf("%q is out of range", text)
	}
	if digits != "" && unit == "" {
		return Size(n), nil
	}
	for _, u := range sizeUnits {
		switch {
		case digits == "":
		case unit == u.name && Size(n) <= math.MaxInt64/u.bytes:
			return Size(n) * u.bytes, nil
		case unit == u.name:
			return 0, fmt.Errorf("%q is out of range", text)
		case u.bytes > 1 && similarUnit(unit, u.name):
			return 0, fmt.Errorf("%q: the unit is not known; did you mean %s%s?", text, digits, u.name)
		}
	}
	return 0, fmt.Errorf("%q is not a size; write a whole number of bytes, or of KiB, MiB, GiB or TiB", text)
}

// similarUnit reports whether a unit is another spelling of one of ours: M, MB, mb, mib.
func similarUnit(unit, ours string) bool {
	unit = strings.ToUpper(unit)
	return unit == ours[:1] || unit == ours[:1]+"B" || unit == strings.ToUpper(ours)
}

// String prints the canonical form.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if u.bytes > 1 && s != 0 && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText prints the canonical form.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads as ParseSize does.
func (s *Size) UnmarshalText(b []byte) (err error) {
	*s, err = ParseSize(string(b))
	return err
}

// UnmarshalJSON reads a string as ParseSize does, or a number of bytes.
func (s *Size) UnmarshalJSON(b []byte) error {
	var text string
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &text); err != nil {
			return err
		}
	} else {
		text = string(b)
	}
	return s.UnmarshalText([]byte(text))
}
