package cron

import "math/bits"

const (
	secondsPerDay = 86400
	daysPerCycle  = 146097 // 400 Gregorian years, after which dates and weekdays repeat

	lastYear = 9999
	minDay   = -719162 // 0001-01-01, a Monday, in days since 1970-01-01
	maxDay   = 2932896 // 9999-12-31
)

// Local times are seconds since 1970-01-01 00:00 as the zone's clock shows them.

// nextNominal finds the smallest matching local time at or after t. It looks at
// most 40 years ahead (a fifth Monday in a leap February across 2100), a month at a
// time, and allocates nothing.
func (e *Expr) nextNominal(t int64) (int64, bool) {
	if t < minDay*secondsPerDay {
		t = minDay * secondsPerDay
	}
	day := floorDiv(t, secondsPerDay)
	d, ok := e.nextDay(day)
	if ok && d == day {
		if s := e.timeFrom(t - day*secondsPerDay); s >= 0 {
			return day*secondsPerDay + s, true
		}
		d, ok = e.nextDay(day + 1)
	}
	return d*secondsPerDay + e.firstTime(), ok
}

// prevNominal finds the greatest matching local time at or before t.
func (e *Expr) prevNominal(t int64) (int64, bool) {
	if t >= (maxDay+1)*secondsPerDay {
		t = (maxDay+1)*secondsPerDay - 1
	}
	day := floorDiv(t, secondsPerDay)
	d, ok := e.prevDay(day)
	if ok && d == day {
		if s := e.timeUpTo(t - day*secondsPerDay); s >= 0 {
			return day*secondsPerDay + s, true
		}
		d, ok = e.prevDay(day - 1)
	}
	return d*secondsPerDay + e.finalTime(), ok
}

// matches tells whether a local time is one of the expression's.
func (e *Expr) matches(t int64) bool {
	day := floorDiv(t, secondsPerDay)
	if day < minDay || day > maxDay {
		return false
	}
	s := t - day*secondsPerDay
	if e.hour>>(s/3600)&1 == 0 || e.min>>(s/60%60)&1 == 0 || e.sec>>(s%60)&1 == 0 {
		return false
	}
	if e.weekly {
		return e.dow>>weekday(day)&1 != 0
	}
	year, month, d := civil(day)
	return e.months>>month&1 != 0 && e.days(weekday(day-int64(d-1)), monthLength(year, month))>>d&1 != 0
}

// nextDay finds the first matching day at or after day.
func (e *Expr) nextDay(day int64) (int64, bool) {
	if day > maxDay {
		return 0, false
	}
	if e.weekly {
		week := uint(e.dow) | uint(e.dow)<<7
		day += int64(bits.TrailingZeros(week >> weekday(day)))
		return day, day <= maxDay
	}
	year, month, d := civil(day)
	first := day - int64(d-1)
	for year <= lastYear && e.months != 0 {
		if e.months>>month&1 != 0 {
			if rest := e.days(weekday(first), monthLength(year, month)) >> d; rest != 0 {
				return first + int64(d-1+bits.TrailingZeros32(rest)), true
			}
		}
		if later := e.months >> (month + 1); later != 0 {
			month += 1 + bits.TrailingZeros16(later)
		} else {
			year, month = year+1, bits.TrailingZeros16(e.months)
		}
		first, d = dayOf(year, month), 1
	}
	return 0, false
}

// prevDay finds the last matching day at or before day.
func (e *Expr) prevDay(day int64) (int64, bool) {
	if day < minDay {
		return 0, false
	}
	if e.weekly {
		week := uint(e.dow) | uint(e.dow)<<7
		at := weekday(day) + 7
		day -= int64(at + 1 - bits.Len(week&(2<<at-1)))
		return day, day >= minDay
	}
	year, month, d := civil(day)
	for year >= 1 && e.months != 0 {
		if e.months>>month&1 != 0 {
			first := dayOf(year, month)
			set := e.days(weekday(first), monthLength(year, month)) & (^uint32(0) >> (31 - d))
			if set != 0 {
				return first + int64(bits.Len32(set)-2), true
			}
		}
		if earlier := e.months & (1<<month - 1); earlier != 0 {
			month = bits.Len16(earlier) - 1
		} else {
			year, month = year-1, bits.Len16(e.months)-1
		}
		d = 31
	}
	return 0, false
}

// timeFrom finds the first matching second of the day at or after s, or -1.
func (e *Expr) timeFrom(s int64) int64 {
	h, m := s/3600, s/60%60
	if e.hour>>h&1 != 0 {
		if e.min>>m&1 != 0 {
			if rest := e.sec >> (s % 60); rest != 0 {
				return s + int64(bits.TrailingZeros64(rest))
			}
		}
		if rest := e.min >> (m + 1); rest != 0 {
			m += 1 + int64(bits.TrailingZeros64(rest))
			return h*3600 + m*60 + int64(bits.TrailingZeros64(e.sec))
		}
	}
	rest := e.hour >> (h + 1)
	if rest == 0 {
		return -1
	}
	h += 1 + int64(bits.TrailingZeros32(rest))
	return h*3600 + int64(bits.TrailingZeros64(e.min))*60 + int64(bits.TrailingZeros64(e.sec))
}

// timeUpTo finds the last matching second of the day at or before s, or -1.
func (e *Expr) timeUpTo(s int64) int64 {
	h, m := s/3600, s/60%60
	if e.hour>>h&1 != 0 {
		if e.min>>m&1 != 0 {
			if set := e.sec & (2<<(s%60) - 1); set != 0 {
				return s - s%60 + int64(bits.Len64(set)-1)
			}
		}
		if set := e.min & (1<<m - 1); set != 0 {
			return h*3600 + int64(bits.Len64(set)-1)*60 + int64(bits.Len64(e.sec)-1)
		}
	}
	set := e.hour & (1<<h - 1)
	if set == 0 {
		return -1
	}
	return int64(bits.Len32(set)-1)*3600 + int64(bits.Len64(e.min)-1)*60 + int64(bits.Len64(e.sec)-1)
}

// firstTime is the first matching second of a matching day.
func (e *Expr) firstTime() int64 {
	return int64(bits.TrailingZeros32(e.hour))*3600 + int64(bits.TrailingZeros64(e.min))*60 + int64(bits.TrailingZeros64(e.sec))
}

// finalTime is the last matching second of a matching day.
func (e *Expr) finalTime() int64 {
	return int64(bits.Len32(e.hour)-1)*3600 + int64(bits.Len64(e.min)-1)*60 + int64(bits.Len64(e.sec)-1)
}

// civil splits a day into year, month and day of the month. It counts from
// 1 March of the year 0, so that the leap day is a year's last.
func civil(day int64) (year, month, d int) {
	n := uint64(day + 719468)
	cycle := n / daysPerCycle
	doc := n % daysPerCycle
	yoc := (doc - doc/1460 + doc/36524 - doc/146096) / 365
	doy := doc - (365*yoc + yoc/4 - yoc/100)
	mp := (5*doy + 2) / 153
	d = int(doy-(153*mp+2)/5) + 1
	year, month = int(cycle*400+yoc), int(mp)+3
	if month > 12 {
		year, month = year+1, month-12
	}
	return year, month, d
}

// dayOf is the first day of a month.
func dayOf(year, month int) int64 {
	if month <= 2 {
		year, month = year-1, month+12
	}
	return int64(365*year+year/4-year/100+year/400+(153*(month-3)+2)/5) - 719468
}

// weekday is 0 for Sunday. Only days from minDay on are asked for.
func weekday(day int64) int { return int(uint64(day-minDay+1) % 7) }

func monthLength(year, month int) int {
	if month != 2 {
		return 30 + (month+month>>3)&1
	}
	if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return 28
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
