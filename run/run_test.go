package run

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/schedule"
)

// The key is the schedule and the due instant in UTC, so that two equal local times at different offsets have two keys,
// and one instant has one key however it is written. R-KEY-1, R-KEY-5, R-KEY-7, R-TZ-7.
func TestKeysNameOneInstantOfOneSchedule(t *testing.T) {
	t.Parallel()
	id := schedule.DeclaredID(schedule.OriginFile, "", "nightly")
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	// 02:30 comes twice on the night of 2026-10-25: first at +02:00, an hour later at +01:00
	first := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC).In(berlin)
	second := first.Add(time.Hour)
	if first.Format("15:04") != second.Format("15:04") {
		t.Fatalf("%v and %v do not show the same local time", first, second)
	}
	cases := map[Key]Key{
		NewKey(id, first, ""):                                        Key(id.String() + ":2026-10-25T00:30:00Z"),
		NewKey(id, first.UTC(), ""):                                  Key(id.String() + ":2026-10-25T00:30:00Z"),
		NewKey(id, second, ""):                                       Key(id.String() + ":2026-10-25T01:30:00Z"),
		NewKey(id, second, "acme"):                                   Key(id.String() + ":2026-10-25T01:30:00Z@acme"),
		NewKey(id, second.Add(250*time.Millisecond), ""):             Key(id.String() + ":2026-10-25T01:30:00.25Z"),
		NewKey(id, second.Add(time.Microsecond+time.Nanosecond), ""): Key(id.String() + ":2026-10-25T01:30:00.000001Z"),
	}
	for got, want := range cases {
		if got != want {
			t.Errorf("key %q, want %q", got, want)
		}
	}
}

// A consumer may hash the key to fit its own id format: it is plain text without surprises. R-KEY-6.
func TestKeysCanBeHashed(t *testing.T) {
	t.Parallel()
	key := NewKey(schedule.DeclaredID(schedule.OriginFile, "", "x"), time.Unix(0, 0), "")
	again := NewKey(schedule.DeclaredID(schedule.OriginFile, "", "x"), time.Unix(0, 0), "")
	a, b := sha256.Sum256([]byte(key)), sha256.Sum256([]byte(again))
	if a != b || len(hex.EncodeToString(a[:])[:32]) != 32 {
		t.Errorf("%q and %q do not hash alike", key, again)
	}
	if strings.ContainsAny(string(key), " \t\n\"'") || len(key) > 255 {
		t.Errorf("%q needs quoting, or is longer than 255 characters", key)
	}
}

// A run of another kind never takes an occurrence's key.
func TestOnlyScheduledRunsHaveAnOccurrencesKey(t *testing.T) {
	t.Parallel()
	r := Run{ID: ID{1}, Schedule: schedule.ID{2}, Due: time.Unix(60, 0), Kind: Scheduled}
	if r.Key() != NewKey(r.Schedule, r.Due, "") {
		t.Errorf("key %q", r.Key())
	}
	for _, k := range []Kind{Manual, Backfill, Delayed, Reminder, Rule} {
		r.Kind = k
		if r.Key() != Key(r.ID.String()) {
			t.Errorf("kind %v has the key %q", k, r.Key())
		}
	}
}

// The statuses and what each may become. A final status never changes, and everything that is not final can still end.
// R-STA-2, R-STA-3, R-STA-5.
func TestFinalStatusesAreFinalAndAllOthersCanEnd(t *testing.T) {
	t.Parallel()
	final := []Status{Succeeded, Failed, SkippedOverlap, Expired, Cancelled, DeadLetter}
	for s := Pending; s <= DeadLetter; s++ {
		if s.Final() != slices.Contains(final, s) || s.Live() == s.Final() {
			t.Errorf("%v: final %v, live %v", s, s.Final(), s.Live())
		}
		ends := false
		for next := Pending; next <= DeadLetter; next++ {
			if s.CanBecome(next) && s.Final() {
				t.Errorf("the final status %v can become %v", s, next)
			}
			ends = ends || s.CanBecome(next) && next.Final()
		}
		if !s.Final() && !ends {
			t.Errorf("%v can never end", s)
		}
	}
	for _, never := range [][2]Status{{Pending, Running}, {Running, SkippedOverlap}, {Running, Expired}, {Succeeded, Pending}, {Waiting, Pending}} {
		if never[0].CanBecome(never[1]) {
			t.Errorf("%v can become %v", never[0], never[1])
		}
	}
}

// The words are stored, filtered by and shown: each reads back, and none is used twice. R-STA-1.
func TestWordsReadBack(t *testing.T) {
	t.Parallel()
	for _, word := range Statuses() {
		if s, ok := ParseStatus(word); !ok || s.String() != word {
			t.Errorf("status %q reads back as %v, %v", word, s, ok)
		}
	}
	for _, word := range Reasons() {
		if r, ok := ParseReason(word); !ok || r.String() != word {
			t.Errorf("reason %q reads back as %v, %v", word, r, ok)
		}
	}
	for k := Scheduled; k <= Rule; k++ {
		if got, ok := ParseKind(k.String()); !ok || got != k {
			t.Errorf("kind %q reads back as %v, %v", k, got, ok)
		}
	}
	for _, bad := range []string{"", "unknown", "Pending"} {
		if _, ok := ParseStatus(bad); ok {
			t.Errorf("%q is taken for a status", bad)
		}
	}
	if Status(0).String() != "unknown" || Reason(99).String() != "unknown" {
		t.Error("a number without a word needs to say so")
	}
}

// The short word is one of five, for people who do not want twelve. R-STA-4.
func TestShortWords(t *testing.T) {
	t.Parallel()
	want := map[Status]string{
		Pending: "waiting_to_run", Held: "waiting_to_run", Claimed: "waiting_to_run", RetryScheduled: "waiting_to_run",
		Running: "running", Waiting: "running", Succeeded: "ran", Failed: "failed", DeadLetter: "failed",
		SkippedOverlap: "not_run", Expired: "not_run", Cancelled: "not_run",
	}
	for s := Pending; s <= DeadLetter; s++ {
		if s.Short() != want[s] {
			t.Errorf("%v is %q for short, want %q", s, s.Short(), want[s])
		}
	}
}
