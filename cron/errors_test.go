package cron

import (
	"errors"
	"strings"
	"testing"
)

// R-CRON-7: a refusal names the field, the text at fault, its byte, the rule and what
// to write instead.
func TestErrorsPointAtTheFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		expr, field, text string
		pos               int
		says              string // part of reason and hint
	}{
		{"61 * * * *", "minute", "61", 0, "a minute is 0 to 59"},
		{"0 24 * * *", "hour", "24", 2, "midnight is hour 0"},
		{"0 0 0 * *", "day of month", "0", 4, "the last day of a month is L"},
		{"0 0 * * 8", "day of week", "8", 8, "0 and 7 are Sunday"},
		{"  5,61 * * * *", "minute", "61", 4, "0 to 59"},
		{"5/15 * * * *", "minute", "5/15", 0, "write 5-59/15"},
		{"0 22-3 * * *", "hour", "22-3", 2, "write 22-23,0-3"},
		{"0 0 * * 5-0", "day of week", "5-0", 8, "Sunday at the end of a range is 7"},
		{"0 0 * * MONDAY", "day of week", "MONDAY", 8, "did you mean MON?"},
		{"0 0 * SEPT *", "month", "SEPT", 6, "did you mean SEP?"},
		{"0 0 * * TEU", "day of week", "TEU", 8, "did you mean TUE?"},
		{"0 0 * MON *", "month", "MON", 6, "MON belongs in the day of week field"},
		{"0 0 * * L", "day of week", "L", 8, "6L"},
		{"H/15 * * * *", "minute", "H", 0, "hashed"},
		{"0 0 1-15W * *", "day of month", "W", 8, "L, W and # take no range"},
		{"0 0 15W/2 * *", "day of month", "/2", 7, "no range and no step"},
		{"0 0 L-31 * *", "day of month", "31", 6, "at most 30"},
		{"0 0 * * FRI#6", "day of week", "6", 12, "the last one is FRIL"},
		{"0 0 ?,5 * *", "day of month", "?", 4, "? stands alone"},
		{"? * * * *", "minute", "?", 0, "write *"},
		{"*/0 * * * *", "minute", "0", 2, "a step is 1 or more"},
		{"*/ * * * *", "minute", "*/", 0, "a number is missing"},
		{"*/-5 * * * *", "minute", "-5", 2, "no sign"},
		{"*5 * * * *", "minute", "5", 1, "a step is written */5"},
		{"4294967296 * * * *", "minute", "4294967296", 0, "too big"},
		{"1,,2 * * * *", "minute", ",", 1, "empty element"},
		{"0:30 * * * *", "minute", ":30", 1, "two fields"},
		{"\uff11 * * * *", "minute", "\uff11", 0, "ASCII"},
		{"0 0 * * *\x00", "day of week", "\x00", 9, "control"},
		{"* * * *", "expression", "* * * *", 0, "4 fields; 5 fields are due"},
		{"0 * * * * *", "expression", "0 * * * * *", 0, "seconds: true (--seconds)"},
		{"0 0 * * * root x", "expression", "0 0 * * * root x", 0, "nothing may follow"},
		{" ", "expression", " ", 0, "an example"},
		{"TZ=UTC 0 0 * * *", "expression", "TZ=UTC", 0, "time_zone (--zone)"},
		{"@every 90s", "expression", "@every", 0, "an interval"},
		{"@reboot", "expression", "@reboot", 0, "names no time"},
		{" @dayly", "expression", "@dayly", 1, "did you mean @daily?"},
		{"@secondly", "expression", "@secondly", 0, "allowed: @yearly"},
		{"@daily 5", "expression", "5", 7, "a macro stands alone"},
		{"0 0 31 2 *", "day of month", "31", 4, "February has at most 29 days"},
		{"0 0 31 4,6 *", "day of month", "31", 4, "no month that is asked for"},
	} {
		_, err := Parse(c.expr, Options{})
		var fault *Error
		if !errors.As(err, &fault) {
			t.Errorf("%q is read", c.expr)
			continue
		}
		if fault.Field != c.field || fault.Text != c.text || fault.Pos != c.pos || !strings.Contains(fault.Reason+"; "+fault.Hint, c.says) {
			t.Errorf("%q: %s", c.expr, err)
		}
		if !strings.Contains(err.Error(), fault.Reason) || !strings.Contains(err.Error(), fault.Field) {
			t.Errorf("%q: the message %q leaves something out", c.expr, err)
		}
	}
	_, err := Parse("* * * * *", Options{Seconds: true})
	if err == nil || !strings.Contains(err.Error(), "put 0 in front") {
		t.Errorf("five fields with seconds: %v", err)
	}
}

// R-CRON-1 to R-CRON-4 and R-CRON-6: each form of the dialect is read, and the
// six-field form is told from the other.
func TestEveryFormIsRead(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"5 * * * *", "1-5 * * * *", "1,5-9 * * * *", "*/5 * * * *", "1-9/2 * * * *",
		"0 0 * jan,Feb-MAR fri", "0 0 * * 0", "0 0 * * 7", "@Hourly", "@MIDNIGHT",
		"0 0 ? * *", "0 0 L * ?", "0 0 L-3 * *", "0 0 LW * *", "0 0 15W * *", "0 0 * * 5L", "0 0 * * FRIL", "0 0 * * FRI#3",
	} {
		if e := parse(t, text, Options{}); e.Seconds() {
			t.Errorf("%q has seconds", text)
		}
	}
	for _, text := range []string{"*/10 * * * * *", "@daily"} {
		if e := parse(t, text, Options{Seconds: true}); !e.Seconds() || strings.Count(e.String(), " ") != 5 {
			t.Errorf("%q is %q", text, e)
		}
	}
}
