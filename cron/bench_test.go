package cron

import (
	"strings"
	"testing"
	"time"
)

// The four expressions whose cost is watched, each in UTC and zoned.
func BenchmarkNext(b *testing.B) {
	for _, text := range []string{"* * * * *", "*/15 9-17 * * 1-5", "0 0 29 2 *", "0 0 L * *"} {
		for _, name := range []string{"UTC", "America/New_York"} {
			b.Run(text+"/"+name, func(b *testing.B) {
				e, z := parse(b, text, Options{}), zone(b, name)
				t := at(b, "2026-05-04T10:07:12Z")
				b.ReportAllocs()
				for b.Loop() {
					next, ok := e.Next(t, z)
					if !ok {
						b.Fatal("no occurrence")
					}
					if t = next; t.Year() > 2090 {
						t = at(b, "2026-05-04T10:07:12Z")
					}
				}
			})
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, text := range []string{"* * * * *", "*/15 9-17 * * 1-5", "0 0 L-3,15W JAN-JUN FRI#3"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(text, Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The costliest inputs of the greatest length; each is to take less than a millisecond.
func BenchmarkParseLongest(b *testing.B) {
	for _, unit := range []string{"*,", "0-59,", "31,", "*/1,", "9"} {
		for field, name := range []string{"minute", "day"} {
			fields := []string{"*", "*", "*", "*", "*"}
			fields[2*field] = strings.TrimSuffix(strings.Repeat(unit, (MaxLength-8)/len(unit)), ",")
			text := strings.Join(fields, " ")
			b.Run(unit+name, func(b *testing.B) {
				for b.Loop() {
					e, err := Parse(text, Options{})
					if (e == nil) == (err == nil) {
						b.Fatal("neither read nor refused")
					}
				}
			})
		}
	}
}

// A zone seen for the first time costs its look-ups.
func BenchmarkZoneLookUp(b *testing.B) {
	z := zone(b, "America/New_York")
	u := at(b, "2050-05-04T10:07:12Z").Unix()
	for b.Loop() {
		_ = lookUp(z, u)
	}
}

func BenchmarkBetween(b *testing.B) {
	e, z := parse(b, "* * * * *", Options{}), zone(b, "America/New_York")
	start := at(b, "2026-05-04T10:07:12Z")
	for b.Loop() {
		n := 0
		for range e.Between(start, start.Add(24*time.Hour), z) {
			n++
		}
		if n != 1440 {
			b.Fatal(n)
		}
	}
}
