package cron

import (
	"bytes"
	"encoding/binary"
	"sync"
	"testing"
	"time"
)

// zoneFile writes a zone with one recorded change, from one offset to another, and a
// rule for the time from there on, in the format of RFC 9636.
func zoneFile(t *testing.T, change time.Time, before, after int32, rule string) *time.Location {
	t.Helper()
	var b bytes.Buffer
	write := func(v any) {
		if err := binary.Write(&b, binary.BigEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	header := func(times, types, characters uint32) {
		b.WriteString("TZif2")
		b.Write(make([]byte, 15))
		write([6]uint32{0, 0, 0, times, types, characters})
	}
	header(0, 1, 4)
	write(struct {
		Offset int32
		Rest   [2]uint8
	}{})
	b.WriteString("AAA\x00")
	header(1, 2, 8)
	write(change.Unix())
	write(uint8(1))
	write(before)
	write([2]uint8{0, 0})
	write(after)
	write([2]uint8{0, 4})
	b.WriteString("AAA\x00BBB\x00\n" + rule + "\n")
	z, err := time.LoadLocationFromTZData("Test/"+rule, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// In the year in which a rule takes over from recorded changes, package time names
// the start of the year as the start of an offset that began later. Taken at its
// word, that would move what is due between the two.
func TestARuleThatTakesOverInTheMiddleOfAYear(t *testing.T) {
	t.Parallel()
	change := at(t, "2024-02-10T00:00:00Z")
	z := zoneFile(t, change, 3*3600, 3600, "BBB-1CCC,M3.5.0,M10.5.0/3")
	e := parse(t, "30 1 * * *", Options{})
	// The later day first, so that its segment is in the cache when the other is asked
	// for; both lie in one slot.
	for _, c := range []struct{ after, want string }{
		{"2024-02-20T00:00:00Z", "2024-02-20T01:30:00+01:00"},
		{"2024-01-20T00:00:00Z", "2024-01-21T01:30:00+03:00"},
		{"2024-02-09T12:00:00Z", "2024-02-10T01:30:00+03:00"},
		{"2024-02-10T00:00:00Z", "2024-02-11T01:30:00+01:00"},
	} {
		if next, ok := e.Next(at(t, c.after), z); !ok || !next.Equal(at(t, c.want)) {
			t.Errorf("after %s comes %s, want %s", c.after, next, c.want)
		}
	}
	compareTransitions(t, z)
}

// A rule without end is bounded by years, and a leap year's last day lies outside
// what package time says about it.
func TestTheLastDayOfALeapYear(t *testing.T) {
	t.Parallel()
	z := zoneFile(t, at(t, "2000-02-10T00:00:00Z"), 0, 3600, "BBB-1CCC,M3.5.0,M10.5.0/3")
	e := parse(t, "0 12 31 12 *", Options{})
	next := at(t, "2027-12-31T11:00:00Z")
	for year := 2028; year < 2050; year++ {
		want := time.Date(year, 12, 31, 11, 0, 0, 0, time.UTC)
		got, ok := e.Next(next, z)
		if !ok || !got.Equal(want) || !e.Match(want, z) {
			t.Fatalf("after %s comes %s, want %s", next, got, want)
		}
		if back, _ := e.Prev(want, z); !back.Equal(next) {
			t.Fatalf("before %s comes %s, want %s", want, back, next)
		}
		next = want
	}
}

// A reader of the cache gets one writer's whole entry or nothing. Each entry's fields
// follow from its start, so that a mixture shows.
func TestASlotIsNeverTorn(t *testing.T) {
	t.Parallel()
	const span, entries, rounds = 1000, 1 << 8, 300_000
	entry := func(i int64) segment {
		return segment{start: i * span, end: (i + entries) * span, offset: i, before: -i, after: 2 * i}
	}
	var c slot
	var wg sync.WaitGroup
	for w := range int64(2) {
		wg.Go(func() {
			for n := range int64(rounds) {
				s := entry((n*7 + w) % entries)
				c.store(time.UTC, &s)
			}
		})
		wg.Go(func() {
			for range rounds {
				if s, ok := c.load(time.UTC, entries*span-1); ok && s != entry(s.offset) {
					t.Errorf("read %+v", s)
					return
				}
			}
		})
	}
	wg.Wait()
	if s, ok := c.load(time.UTC, entries*span-1); !ok || s != entry(s.offset) {
		t.Errorf("the cache ends with %+v, %t", s, ok)
	}
	if _, ok := c.load(time.Local, entries*span-1); ok {
		t.Error("another zone's entry is taken")
	}
}
