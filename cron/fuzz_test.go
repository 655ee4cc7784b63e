package cron

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// mostWork is how many bytes and values any input may make the parser look at. The
// costliest text is "*,*,…": two bytes for sixty values.
const mostWork = MaxLength + MaxLength/2*60 + MaxLength

// Whatever the text, reading it ends in an expression or in an *Error, after a bounded
// amount of work, and the canonical text is a fixed point.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"* * * * *", "*/15 9-17 * * MON-FRI", "0 0 L-3,15W,LW 2 FRI#3,5L", "@daily", "@every 90s", "0 0 31 2 *",
		"TZ=UTC 0 0 * * *", "\u00a00 0 * * *", "99999999999999999999 * * * *", "*,*,*,* 5/15 ? ? ?", "0 0 ? * ?",
	} {
		f.Add(text, false)
		f.Add("0 "+text, true)
	}
	f.Fuzz(func(t *testing.T, text string, seconds bool) {
		checkParse(t, text, seconds)
	})
}

func checkParse(t *testing.T, text string, seconds bool) {
	t.Helper()
	var p parser
	if err := p.parse(text, seconds); err == nil {
		new(Expr).compile(&p)
	}
	if p.work > mostWork {
		t.Fatalf("%d bytes take %d steps", len(text), p.work)
	}
	e, err := Parse(text, Options{Seconds: seconds})
	if err != nil {
		var fault *Error
		if !errors.As(err, &fault) || errors.Is(err, ErrNever) == errors.Is(err, ErrSyntax) {
			t.Fatalf("%q: %v is no Error of one kind", clip(text), err)
		}
		if fault.Pos < 0 || fault.Pos > len(text) || len(fault.Text) > maxQuoted+len("…") || fault.Error() == "" {
			t.Fatalf("%q: %+v", clip(text), fault)
		}
		return
	}
	again, err := Parse(e.String(), e.Options())
	if err != nil || *again != *e {
		t.Fatalf("%q is written %q, which reads as %+v, %v", clip(text), clip(e.String()), again, err)
	}
	if e.Describe() == "" {
		t.Fatalf("%q has no description", clip(text))
	}
}

// The longest inputs of the costliest shapes stay within the bound, and one byte more
// is refused unread.
func TestNoInputMakesParsingSlow(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"*,", "0-59,", "1,", "*/1,", "59,", "L,", "31W,", "0#5,", "JAN,", " ", "\t*", "@", "9", "x", "-", "ſ"} {
		n := (MaxLength - 8) / len(unit)
		long := strings.Repeat(unit, n)
		for field := range 6 {
			fields := []string{"*", "*", "*", "*", "*", "*"}
			fields[field] = strings.TrimSuffix(long[:len(long)-len(long)%len(unit)], ",")
			checkParse(t, strings.Join(fields[1:], " "), false)
			if text := strings.Join(fields, " "); len(text) <= MaxLength {
				checkParse(t, text, true)
			}
		}
	}
	var fault *Error
	_, err := Parse(strings.Repeat(" ", MaxLength-8)+"* * * * *", Options{})
	if !errors.As(err, &fault) || !strings.Contains(fault.Reason, "longer") || len(fault.Expr) > maxQuoted+3 {
		t.Errorf("%v", err)
	}
	if _, err := Parse(strings.Repeat(" ", MaxLength-9)+"* * * * *", Options{}); err != nil {
		t.Errorf("%d bytes: %v", MaxLength, err)
	}
}

// From any instant, in any zone, under any options, Next and Prev are strict, inverse
// and agree with Match.
func FuzzNext(f *testing.F) {
	f.Add("30 2 * * *", false, uint8(0), uint8(0), uint8(27), int64(1774746000), int64(1))
	f.Add("0 12 30 12 *", false, uint8(0), uint8(3), uint8(34), int64(1325239200), int64(0))
	f.Add("30 2 * 3 SUN#2", false, uint8(1), uint8(2), uint8(10), int64(1772942400), int64(0))
	f.Add("* * * * * *", true, uint8(0), uint8(1), uint8(26), int64(-1<<62), int64(999999999))
	f.Add("0 0 29 2 *", false, uint8(0), uint8(0), uint8(0), int64(1<<62), int64(5))
	f.Fuzz(func(t *testing.T, text string, seconds bool, gap, repeat, place uint8, sec, nsec int64) {
		e, err := Parse(text, Options{Seconds: seconds, Gap: Gap(gap % 2), Repeat: Repeat(repeat % 4)})
		if err != nil {
			return
		}
		z := zone(t, zonesWithTransitions[int(place)%len(zonesWithTransitions)])
		from := time.Unix(sec, nsec)
		next, ok := e.Next(from, z)
		if !ok {
			return
		}
		if !next.After(from) || !e.Match(next, z) {
			t.Fatalf("%q %+v in %s: Next(%s) is %s", e, e.Options(), z, from, next)
		}
		if back, ok := e.Prev(next.Add(1), z); !ok || !back.Equal(next) {
			t.Fatalf("%q %+v in %s: Prev just after %s is %s", e, e.Options(), z, next, back)
		}
		if prev, ok := e.Prev(next, z); ok && prev.After(from) {
			t.Fatalf("%q %+v in %s: Next(%s) is %s and passes over %s", e, e.Options(), z, from, next, prev)
		}
	})
}
