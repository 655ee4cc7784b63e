package schedule

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurationsAreReadAndPrinted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want time.Duration
		out  string
	}{
		{"90s", 90 * time.Second, "1m30s"}, {"1h30m", 90 * time.Minute, "1h30m"}, {"24h", 24 * time.Hour, "24h"},
		{"0s", 0, "0s"}, {"0", 0, "0s"}, {"60s", time.Minute, "1m"}, {"600s", 10 * time.Minute, "10m"}, {"3605s", 3605 * time.Second, "1h5s"},
		{"70s", 70 * time.Second, "1m10s"}, {"1h10m", 70 * time.Minute, "1h10m"}, {"10h", 10 * time.Hour, "10h"},
		{"250ms", 250 * time.Millisecond, "250ms"}, {"1.5h", 90 * time.Minute, "1h30m"}, {"-90s", -90 * time.Second, "-1m30s"},
		{"1h0.25s", time.Hour + 250*time.Millisecond, "1h0.25s"}, {"1us", time.Microsecond, "1µs"}, {"+5s", 5 * time.Second, "5s"},
		{"PT90S", 90 * time.Second, "1m30s"}, {"P1DT2H", 26 * time.Hour, "26h"}, {"PT1H30M", 90 * time.Minute, "1h30m"},
		{"P2W", 14 * 24 * time.Hour, "336h"}, {"PT0.25S", 250 * time.Millisecond, "250ms"}, {"-PT5M", -5 * time.Minute, "-5m"},
		{"P0D", 0, "0s"}, {"PT0S", 0, "0s"}, {"P1W1DT1H1M1S", 8*24*time.Hour + 3661*time.Second, "193h1m1s"},
		{"9223372036854775807ns", math.MaxInt64, "2562047h47m16.854775807s"},
	} {
		got, err := ParseDuration(c.text)
		if err != nil || time.Duration(got) != c.want || got.String() != c.out {
			t.Errorf("ParseDuration(%q) = %d (%s), %v; want %d (%s)", c.text, got, got, err, c.want, c.out)
		}
	}
}

func TestBadTextsAreExplained(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	explain := func(text string, err error) {
		if err == nil {
			t.Errorf("%q was accepted", text)
		}
		fmt.Fprintf(&b, "%-28q %v\n", text, err)
	}
	b.WriteString("# durations\n")
	for _, text := range []string{"", "90", "1.5", "1d", "2 days", "1w", "s", "1x", "1h-5m", "--1h", "1h 30m", "99999999h", "P", "PT", "P1", "P1Y", "P1M",
		"P1H", "PT1D", "PT1M1H", "PT1H1H", "P1DT", "PT.S", "P9999999W", "p1d", "never", strings.Repeat("1", 65), "-9223372036854775808ns"} {
		_, err := ParseDuration(text)
		explain(text, err)
	}
	b.WriteString("\n# instants\n")
	for _, text := range []string{"", "2026-07-01", "2026-07-01 10:00", "2026-07-01T10:00:00", "2026-07-01T10:00Z", "2026-13-01T10:00:00Z",
		"2026-02-30T10:00:00Z", "2026-07-01T10:00:60Z", "2026-07-01T10:00:00,5Z", "tomorrow", "1751364000", "0000-12-31T23:59:59Z",
		"9999-12-31T23:59:59.9999999Z", "2026-07-01T10:00:00.Z", "2026-07-01T10:00:00" + strings.Repeat("0", 60)} {
		_, err := ParseInstant(text)
		explain(text, err)
	}
	b.WriteString("\n# sizes\n")
	for _, text := range []string{"", "1MB", "1M", "64k", "1mib", "1.5MiB", "-1", "MiB", "1 MiB", "9223372036854775808", "9007199254740993TiB", "lots"} {
		_, err := ParseSize(text)
		explain(text, err)
	}
	golden(t, "texts.txt", b.String())
}

func TestInstantsAreReadAndPrinted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-07-01T10:00:00Z":                   "2026-07-01T10:00:00Z",
		"2026-07-01T12:00:00+02:00":              "2026-07-01T10:00:00Z",
		"2026-07-01T10:00:00.25Z":                "2026-07-01T10:00:00.25Z",
		"2026-07-01T10:00:00.250000Z":            "2026-07-01T10:00:00.25Z",
		"2026-07-01T10:00:00.123456Z":            "2026-07-01T10:00:00.123456Z",
		"2026-07-01T10:00:00.1234561Z":           "2026-07-01T10:00:00.123457Z",
		"2026-07-01T10:00:00.1234560000000001Z":  "2026-07-01T10:00:00.123457Z",
		"2026-07-01T10:00:00.1234560000000000Z":  "2026-07-01T10:00:00.123456Z",
		"2026-12-31T23:59:59.9999995Z":           "2027-01-01T00:00:00Z",
		"0001-01-01T00:00:00Z":                   "0001-01-01T00:00:00Z",
		"9999-12-31T23:59:59.999999Z":            "9999-12-31T23:59:59.999999Z",
		"2026-06-30T23:30:00.000000000001-00:30": "2026-07-01T00:00:00.000001Z",
	} {
		got, err := ParseInstant(text)
		if err != nil || got.String() != want {
			t.Errorf("ParseInstant(%q) = %s, %v; want %s", text, got, err, want)
		}
	}
}

func TestSizesAreReadAndPrinted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{"1MiB": 1 << 20, "64KiB": 64 << 10, "4096": 4096, "0": 0, "7B": 7, "3GiB": 3 << 30, "2TiB": 2 << 40} {
		got, err := ParseSize(text)
		if err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for size, want := range map[Size]string{0: "0", 1: "1", 1023: "1023", 1024: "1KiB", 1 << 20: "1MiB", 1<<20 + 1: "1048577", 3 << 29: "1536MiB"} {
		if got := size.String(); got != want {
			t.Errorf("Size(%d) prints %s, want %s", int64(size), got, want)
		}
	}
	for text, want := range map[string]Size{`"1MiB"`: 1 << 20, `65536`: 65536} {
		var got Size
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("JSON %s = %d, %v; want %d", text, got, err, want)
		}
	}
}

// What is printed reads back as the same value, whatever the value.
func TestPrintedTextsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Min(math.MinInt64+1).Draw(t, "duration"))
		if back, err := ParseDuration(d.String()); err != nil || back != d {
			t.Fatalf("duration %d prints %s and reads %d, %v", d, d, back, err)
		}
		rounded := d / Duration(time.Second) * Duration(time.Second)
		if text := rounded.String(); rounded != 0 && strings.Contains(strings.NewReplacer("10m", "", "10s", "", "20m", "", "20s", "",
			"30m", "", "30s", "", "40m", "", "40s", "", "50m", "", "50s", "").Replace(text), "h0m") {
			t.Fatalf("%s has a unit that is zero", text)
		}
		micros := rapid.Int64Range(-62135596800_000000, 253402300799_999999).Draw(t, "instant")
		i := NewInstant(time.UnixMicro(micros))
		if back, err := ParseInstant(i.String()); err != nil || !back.Equal(i) {
			t.Fatalf("instant %d prints %s and reads %s, %v", micros, i, back, err)
		}
		s := Size(rapid.Int64Min(0).Draw(t, "size"))
		if back, err := ParseSize(s.String()); err != nil || back != s {
			t.Fatalf("size %d prints %s and reads %d, %v", s, s, back, err)
		}
	})
}

// A bound rounded up keeps meaning the same whole microseconds: those at or after it.
func TestRoundingUpKeepsHalfOpenWindows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		bound := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
		due := time.UnixMicro(bound.UnixMicro() + rapid.Int64Range(-2, 2).Draw(t, "due")).UTC()
		read, err := ParseInstant(bound.Format(time.RFC3339Nano))
		if err != nil {
			t.Fatal(err)
		}
		if due.Before(bound) != due.Before(read.Time()) {
			t.Fatalf("due %s changed sides of %s, read as %s", due, bound, read)
		}
		if !read.Equal(NewInstant(bound)) {
			t.Fatalf("%s is read as %s and made %s", bound, read, NewInstant(bound))
		}
	})
}

func FuzzDuration(f *testing.F) {
	for _, seed := range []string{"90s", "1h30m", "PT90S", "P1DT2H", "-PT0.5S", "1d", "P1Y", "2562047h47m16.854775807s", "P..D"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration(text)
		if err != nil {
			return
		}
		if back, err := ParseDuration(d.String()); err != nil || back != d {
			t.Errorf("%q reads %d, prints %s and reads %d, %v", text, d, d, back, err)
		}
	})
}

func FuzzInstant(f *testing.F) {
	for _, seed := range []string{"2026-07-01T10:00:00Z", "2026-07-01T10:00:00.0000001+14:00", "9999-12-31T23:59:59.9999999Z", "0000-01-01T00:00:00+24:00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		i, err := ParseInstant(text)
		if err != nil {
			return
		}
		if i.Time().Nanosecond()%1000 != 0 {
			t.Errorf("%q reads %v, finer than a microsecond", text, i.Time())
		}
		if back, err := ParseInstant(i.String()); err != nil || !back.Equal(i) {
			t.Errorf("%q reads %s and back %s, %v", text, i, back, err)
		}
	})
}

func FuzzSize(f *testing.F) {
	for _, seed := range []string{"1MiB", "64KiB", "4096", "1MB", "8388608TiB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSize(text)
		if err != nil {
			return
		}
		if back, err := ParseSize(s.String()); err != nil || back != s || s < 0 {
			t.Errorf("%q reads %d, prints %s and reads %d, %v", text, s, s, back, err)
		}
	})
}
