package cron

import "math/bits"

// days gives the matching days of a month as bits 1 to 31, for a month that begins
// on the given weekday and has the given number of days.
//
// When both day fields are restricted, either is enough; an unrestricted field
// holds every day, so the intersection is right for all other cases.
func (e *Expr) days(first, length int) uint32 {
	all := ^uint32(0) >> (31 - length) &^ 1
	byDay, byWeekday := e.dom, spread(e.dow, first)
	if e.special {
		byDay |= e.specialDays(first, length)
		byWeekday |= e.specialWeekdays(first, all)
	}
	if e.either {
		return (byDay | byWeekday) & all
	}
	return byDay & byWeekday & all
}

// specialDays gives the days of L, L-n, nW and LW.
func (e *Expr) specialDays(first, length int) uint32 {
	// Reversed, bit n of last stands at 31-n; the month's last day is bit length.
	set := bits.Reverse32(e.last) >> (31 - length)
	for rest := e.nearest & (^uint32(0) >> (31 - length)); rest != 0; rest &= rest - 1 {
		set |= 1 << nearestWeekday(bits.TrailingZeros32(rest), first, length)
	}
	if e.lastWeekday {
		set |= 1 << nearestWeekdayBefore(length, first)
	}
	return set
}

// specialWeekdays gives the days of dL and d#n; all are the days the month has.
func (e *Expr) specialWeekdays(first int, all uint32) uint32 {
	set := spread(e.dowLast, first) & all &^ (all >> 7)
	for week, dow := range e.nth {
		set |= spread(dow, first) & (0x7f << (7*week + 1))
	}
	return set
}

// spread lays a set of weekdays over a month that begins on the given weekday.
func spread(dow uint8, first int) uint32 {
	week := uint64(dow) | uint64(dow)<<7
	week = week >> first & 0x7f
	return uint32(week * (1<<1 | 1<<8 | 1<<15 | 1<<22 | 1<<29))
}

// nearestWeekday is the Monday to Friday nearest to day d, within the month.
func nearestWeekday(d, first, length int) int {
	switch (first + d - 1) % 7 {
	case 6: // Saturday
		if d > 1 {
			return d - 1
		}
		return d + 2
	case 0: // Sunday
		if d < length {
			return d + 1
		}
		return d - 2
	}
	return d
}

// nearestWeekdayBefore is the last Monday to Friday at or before day d.
func nearestWeekdayBefore(d, first int) int {
	switch (first + d - 1) % 7 {
	case 6:
		return d - 1
	case 0:
		return d - 2
	}
	return d
}

// possible tells whether any date can match. Every month begins on each weekday
// somewhere in the 400 years of the calendar, in a leap year too, and a shorter
// February has no day that a longer one lacks: so 7 beginnings of 12 months are all
// there is.
func (e *Expr) possible() bool {
	for month := 1; month <= 12; month++ {
		for first := range 7 {
			if e.months>>month&1 != 0 && e.days(first, monthLength(2000, month)) != 0 {
				return true
			}
		}
	}
	return false
}
