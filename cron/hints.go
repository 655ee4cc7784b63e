package cron

import "strings"

// maxMistakes is how many letters a name may be off to be suggested.
const maxMistakes = 2

// nameIndex finds a three-letter name in any case of letters, or -1.
func nameIndex(f fieldKind, word string) int {
	for n, name := range fieldRules[f].names {
		if equalFold(name, word) {
			return n
		}
	}
	return -1
}

// nameHint suggests what was meant by a word that is no name of the field.
func nameHint(f fieldKind, word string) string {
	for other := range fieldKind(fieldCount) {
		if other != f && nameIndex(other, word) >= 0 {
			return strings.ToUpper(word) + " belongs in the " + other.name() + " field"
		}
	}
	names := fieldRules[f].names
	if len(names) == 0 {
		return formHint(f, word)
	}
	if f == fieldWeekday && strings.EqualFold(word, "L") {
		return "the last Saturday of the month is 6L; the month's last day is L in the day of month"
	}
	for _, name := range names {
		if len(word) > 3 && equalFold(name, word[:3]) {
			return "did you mean " + name + "?"
		}
	}
	if best := closest(names, word); best != "" {
		return "did you mean " + best + "?"
	}
	return "names are " + names[0] + " to " + names[len(names)-1]
}

// formHint explains forms of other dialects and of other fields.
func formHint(f fieldKind, rest string) string {
	switch c := upper(rest[0]); {
	case c == 'H' || c == 'R':
		return "hashed and random values are not part of the dialect; spread and jitter move a schedule's times"
	case c == '#' || c == 'L':
		return "d#n and dL belong in the day of week, L in the day of month"
	case c == 'W':
		return "W belongs in the day of month"
	case c == ':' && f.isClock():
		return "write minute and hour as two fields, the minute first"
	}
	return signHint(rest)
}

func signHint(rest string) string {
	switch c := rest[0]; {
	case c == '-' || c == '+':
		return "numbers have no sign"
	case c == '~':
		return "a range is written with -"
	case c == '.':
		return "whole numbers only; a range is written with -"
	case isLetter(c) || c == '#' || c == '/' || c == '*':
		return ""
	}
	return "elements are made of digits, names and * , - / only"
}

func outsideHint(f fieldKind, n int) string {
	switch {
	case f == fieldHour && n == 24:
		return "midnight is hour 0"
	case f == fieldMinute && n == 60 || f == fieldSecond && n == 60:
		return "the full turn is 0"
	case f == fieldDay && n == 0:
		return "the last day of a month is L"
	case f == fieldWeekday:
		return "0 and 7 are Sunday"
	}
	return ""
}

// closest finds the candidate that differs least from word, or "" where none is
// within maxMistakes and less than half of its own length.
func closest(candidates []string, word string) string {
	best, least := "", maxMistakes+1
	for _, c := range candidates {
		if len(word) > len(c)+maxMistakes {
			continue
		}
		if d := distance(strings.ToUpper(word), strings.ToUpper(c)); d < least && 2*d < len(c) {
			best, least = c, d
		}
	}
	return best
}

// distance counts the letters to add, drop, change or swap with their neighbour.
func distance(a, b string) int {
	var beforeLast, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		beforeLast, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], beforeLast[j-2]+1)
			}
		}
	}
	return row[len(b)]
}

// equalFold compares an upper-case ASCII name; Unicode folding would take more
// letters for an S than there are.
func equalFold(name, word string) bool {
	if len(name) != len(word) {
		return false
	}
	for i := range len(name) {
		if name[i] != upper(word[i]) {
			return false
		}
	}
	return true
}
