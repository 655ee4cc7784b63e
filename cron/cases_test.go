package cron

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // zones must not depend on the machine
)

type sharedCase struct {
	ID, Expr, TZ, Kind, Note string
	Seconds, Error           bool
	Start, End, From         time.Time
	Count                    int
	Want                     []time.Time
}

func sharedCases(t *testing.T) []sharedCase {
	t.Helper()
	f, err := os.Open("testdata/cron.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var cases []sharedCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c sharedCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 600 {
		t.Fatalf("read %d cases, want 600", len(cases))
	}
	return cases
}

// zone loads a zone by name.
func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// at reads an RFC 3339 instant.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	i, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func parse(t testing.TB, text string, o Options) *Expr {
	t.Helper()
	e, err := Parse(text, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// same compares instants, not text.
func same(got, want []time.Time) bool {
	return slices.EqualFunc(got, want, time.Time.Equal)
}

// The shared cases decide what the dialect means (R-CRON-1 to R-CRON-8, R-TZ-3 to
// R-TZ-6): each is asked as a window, as a walk forward, as a walk back and instant
// by instant.
func TestEverySharedCaseHolds(t *testing.T) {
	t.Parallel()
	for _, c := range sharedCases(t) {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			e, err := Parse(c.Expr, Options{Seconds: c.Seconds})
			if c.Error {
				checkRefusal(t, c, err)
				return
			}
			if err != nil {
				t.Fatalf("%q: %v", c.Expr, err)
			}
			z := zone(t, c.TZ)
			if !c.From.IsZero() {
				c.Start, c.End = c.From, c.Want[len(c.Want)-1].Add(1)
				if len(c.Want) != c.Count {
					t.Fatalf("the case lists %d occurrences and counts %d", len(c.Want), c.Count)
				}
			}
			if got := slices.Collect(e.Between(c.Start, c.End, z)); !same(got, c.Want) {
				t.Errorf("Between gives %v, want %v (%s)", got, c.Want, c.Note)
			}
			if got := walk(e, c.Start, c.End, z); !same(got, c.Want) {
				t.Errorf("Next gives %v, want %v", got, c.Want)
			}
			if got := walkBack(e, c.Start, c.End, z); !same(got, c.Want) {
				t.Errorf("Prev gives %v, want %v", got, c.Want)
			}
			for _, w := range c.Want {
				if !e.Match(w, z) || e.Match(w.Add(1), z) {
					t.Errorf("Match does not agree about %v", w)
				}
			}
		})
	}
}

func checkRefusal(t *testing.T, c sharedCase, err error) {
	t.Helper()
	var fault *Error
	if !errors.As(err, &fault) {
		t.Fatalf("%q is read, want a refusal", clip(c.Expr))
	}
	never := c.Kind == "never-matches" || c.Note == "never matches"
	if errors.Is(err, ErrNever) != never || errors.Is(err, ErrSyntax) == never {
		t.Errorf("%q is refused as %v", clip(c.Expr), err)
	}
	if fault.Field == "" || fault.Reason == "" || fault.Pos < 0 || fault.Pos > len(c.Expr) {
		t.Errorf("%q: the error lacks field, reason or position: %+v", clip(c.Expr), fault)
	}
	if !never && len(fault.Text) <= maxQuoted && fault.Pos+len(fault.Text) <= len(c.Expr) && c.Expr[fault.Pos:fault.Pos+len(fault.Text)] != fault.Text {
		t.Errorf("%q: byte %d does not begin %q", c.Expr, fault.Pos, fault.Text)
	}
}

// walk asks Next from just before the start.
func walk(e *Expr, start, end time.Time, z *time.Location) []time.Time {
	var got []time.Time
	for t, ok := e.Next(start.Add(-1), z); ok && t.Before(end); t, ok = e.Next(t, z) {
		got = append(got, t)
	}
	return got
}

// walkBack asks Prev from the end.
func walkBack(e *Expr, start, end time.Time, z *time.Location) []time.Time {
	var got []time.Time
	for t, ok := e.Prev(end, z); ok && !t.Before(start); t, ok = e.Prev(t, z) {
		got = append(got, t)
	}
	slices.Reverse(got)
	return got
}
