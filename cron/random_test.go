package cron

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// Random expressions for the differential and the property tests. They are text, so
// that both sides read them for themselves.

// newRandom prints its seed, so that a failure can be repeated by writing it here.
func newRandom(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

func randomExpr(r *rand.Rand, seconds bool) string {
	var fields []string
	if seconds {
		fields = append(fields, randomList(r, 2, func() string { return randomValue(r, 0, 59) }))
	}
	clock := func(lo, hi int, stars int) string {
		if r.IntN(10) < stars {
			return "*"
		}
		return randomList(r, 3, func() string { return randomElement(r, lo, hi) })
	}
	fields = append(fields, clock(0, 59, 1), clock(0, 23, 3))
	fields = append(fields, randomDays(r), randomMonths(r), randomWeekdays(r))
	return strings.Join(fields, " ")
}

func randomDays(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return []string{"*", "?"}[r.IntN(2)]
	}
	return randomList(r, 3, func() string {
		switch r.IntN(8) {
		case 0:
			return "L"
		case 1:
			return fmt.Sprintf("L-%d", r.IntN(31))
		case 2:
			return "LW"
		case 3, 4:
			return randomValue(r, 1, 31) + []string{"W", "w"}[r.IntN(2)]
		}
		return randomElement(r, 1, 31)
	})
}

func randomMonths(r *rand.Rand) string {
	if r.IntN(4) > 0 {
		return "*"
	}
	return randomList(r, 3, func() string {
		if r.IntN(3) == 0 {
			return strings.ToLower(monthAbbreviations[r.IntN(12)])
		}
		return randomElement(r, 1, 12)
	})
}

func randomWeekdays(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return []string{"*", "?"}[r.IntN(2)]
	}
	return randomList(r, 3, func() string {
		switch r.IntN(6) {
		case 0:
			return randomValue(r, 0, 7) + "L"
		case 1:
			return fmt.Sprintf("%s#%d", weekdayAbbreviations[r.IntN(7)], 1+r.IntN(5))
		case 2:
			return weekdayAbbreviations[r.IntN(7)] + "-SUN"
		}
		return randomElement(r, 0, 7)
	})
}

func randomList(r *rand.Rand, most int, element func() string) string {
	list := make([]string, 1+r.IntN(most))
	for i := range list {
		list[i] = element()
	}
	return strings.Join(list, ",")
}

func randomValue(r *rand.Rand, lo, hi int) string { return fmt.Sprint(lo + r.IntN(hi-lo+1)) }

func randomElement(r *rand.Rand, lo, hi int) string {
	a := lo + r.IntN(hi-lo+1)
	b := a + r.IntN(hi-a+1)
	step := 1 + r.IntN(hi)
	switch r.IntN(6) {
	case 0:
		return fmt.Sprintf("*/%d", step)
	case 1:
		return fmt.Sprintf("%d-%d/%d", a, b, step)
	case 2:
		return fmt.Sprintf("%d-%d", a, b)
	}
	return fmt.Sprint(a)
}

func randomOptions(r *rand.Rand, seconds bool) Options {
	o := Options{Seconds: seconds}
	if r.IntN(2) == 0 {
		o.Gap, o.Repeat = Gap(r.IntN(2)), Repeat(r.IntN(4))
	}
	return o
}

// zonesWithTransitions are forty zones whose clocks have changed since 1975, in
// hours, half hours, quarters and days.
var zonesWithTransitions = []string{
	"Africa/Cairo", "Africa/Casablanca", "Africa/El_Aaiun", "Africa/Windhoek", "America/Asuncion",
	"America/Bogota", "America/Caracas", "America/Chicago", "America/Havana", "America/Los_Angeles",
	"America/New_York", "America/Nuuk", "America/Santiago", "America/Sao_Paulo", "America/St_Johns",
	"Antarctica/Casey", "Antarctica/Troll", "Asia/Amman", "Asia/Beirut", "Asia/Gaza",
	"Asia/Kathmandu", "Asia/Pyongyang", "Asia/Tehran", "Asia/Ulaanbaatar", "Atlantic/Azores",
	"Australia/Adelaide", "Australia/Lord_Howe", "Australia/Sydney", "Europe/Berlin", "Europe/Dublin",
	"Europe/Istanbul", "Europe/London", "Europe/Moscow", "Europe/Samara", "Pacific/Apia",
	"Pacific/Auckland", "Pacific/Chatham", "Pacific/Fakaofo", "Pacific/Fiji", "Pacific/Kwajalein",
}
