package cron

import "strconv"

// fieldKind is a field of the expression, in the order of the six-field form.
type fieldKind uint8

const (
	fieldSecond fieldKind = iota
	fieldMinute
	fieldHour
	fieldDay
	fieldMonth
	fieldWeekday

	fieldCount = 6
)

var fieldRules = [fieldCount]struct {
	name     string
	min, max int
	names    []string
}{
	fieldSecond:  {name: "second", min: 0, max: 59},
	fieldMinute:  {name: "minute", min: 0, max: 59},
	fieldHour:    {name: "hour", min: 0, max: 23},
	fieldDay:     {name: "day of month", min: 1, max: 31},
	fieldMonth:   {name: "month", min: 1, max: 12, names: monthAbbreviations[:]},
	fieldWeekday: {name: "day of week", min: 0, max: 7, names: weekdayAbbreviations[:]},
}

var (
	monthAbbreviations   = [...]string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	weekdayAbbreviations = [...]string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}

	monthNames   = [...]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
	weekdayNames = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
)

func (f fieldKind) name() string { return fieldRules[f].name }
func (f fieldKind) min() int     { return fieldRules[f].min }
func (f fieldKind) max() int     { return fieldRules[f].max }

// top is the highest value a star stands for: Sunday is 0 there, not 7 as well.
func (f fieldKind) top() int {
	if f == fieldWeekday {
		return 6
	}
	return f.max()
}

// isDay tells the two fields in which a star alone means "not restricted".
func (f fieldKind) isDay() bool { return f == fieldDay || f == fieldWeekday }

// isClock tells the two fields in which a star or a step makes an expression one
// that runs at both readings of a repeated time.
func (f fieldKind) isClock() bool { return f == fieldMinute || f == fieldHour }

// elementKind says which form an element has.
type elementKind uint8

const (
	kindStar        elementKind = iota // * (and ?), or */step
	kindRange                          // lo-hi, or lo-hi/step
	kindValue                          // lo
	kindNearest                        // loW
	kindLast                           // L, or L-lo
	kindLastWeekday                    // LW
	kindLastOf                         // loL, a weekday
	kindNth                            // lo#hi, a weekday
)

// element is one member of a field's list: a leaf of the syntax tree.
type element struct {
	kind   elementKind
	lo, hi int
	step   int // 0: none was written
}

func itoa(n int) string { return strconv.Itoa(n) }
