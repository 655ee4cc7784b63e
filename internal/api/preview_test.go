package api_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"github.com/belfryhq/belfry/client"
	"github.com/belfryhq/belfry/control"
	"github.com/belfryhq/belfry/schedule"
)

// preview posts a request and reads the answer, or the codes and pointers of its refusal.
func (w *world) preview(req client.PreviewRequest) (client.Preview, []string) {
	w.Helper()
	body, err := json.Marshal(req)
	w.must(err)
	status, text := w.post("/v1/tenants/-/schedules:preview", string(body))
	var answer client.Preview
	var refused []string
	switch status {
	case http.StatusOK:
		w.must(json.Unmarshal([]byte(text), &answer))
	case http.StatusUnprocessableEntity:
		var p client.Problem
		w.must(json.Unmarshal([]byte(text), &p))
		for _, e := range p.Errors {
			refused = append(refused, e.Code+" "+e.Pointer)
		}
	default:
		w.Fatalf("%s: %d %s", body, status, text)
	}
	return answer, refused
}

// The door that people have agrees with the cases that decide the dialect: the window of each gives what it lists, and
// what must be refused is refused with its place. R-CRON-1..8, R-TZ-3..6.
func TestPreviewOverHTTPAgreesWithEverySharedCase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f, err := os.Open("../../cron/testdata/cron.jsonl")
	w.must(err)
	defer func() { _ = f.Close() }() // only read
	lines, n := bufio.NewScanner(f), 0
	lines.Buffer(nil, 1<<20)
	for ; lines.Scan(); n++ {
		var c struct {
			ID, Expr, TZ, Start, End, From string
			Seconds, Error                 bool
			Count                          int
			Want                           []time.Time
		}
		w.must(json.Unmarshal(lines.Bytes(), &c))
		req := client.PreviewRequest{Expr: c.Expr, TimeZone: c.TZ, Seconds: c.Seconds, Dialect: "cron", From: c.Start, To: c.End}
		if c.Count > 0 {
			req.From, req.N = c.From, c.Count
		}
		got, refused := w.preview(req)
		if c.Error {
			if len(refused) == 0 {
				t.Errorf("%s: %.80q is taken", c.ID, c.Expr)
			}
			continue
		}
		same := func(text string, want time.Time) bool {
			at, err := time.Parse(time.RFC3339Nano, text)
			return err == nil && at.Equal(want)
		}
		if len(refused) > 0 || got.Truncated || !slices.EqualFunc(got.Occurrences, c.Want, same) {
			t.Errorf("%s: %q in %s: %v %v, want %v", c.ID, c.Expr, c.TZ, got.Occurrences, refused, c.Want)
		}
	}
	if lines.Err() != nil || n != 600 {
		t.Errorf("read %d cases, want 600: %v", n, lines.Err())
	}
}

// What no date satisfies is refused with its place, wherever it stands. S-068, R-CRON-8.
func TestPreviewOverHTTPRefusesImpossibleDates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, text := range []string{"0 0 30 2 *", "0 0 31 4 *"} {
		for pointer, req := range map[string]client.PreviewRequest{
			"/expr":                {Expr: text},
			"/spec/trigger/cron/1": {Spec: json.RawMessage(`{"trigger":{"cron":["0 0 * * *","` + text + `"]}}`)},
		} {
			if _, refused := w.preview(req); !slices.Equal(refused, []string{"CRON_NEVER " + pointer}) {
				t.Errorf("%s at %s: %v", text, pointer, refused)
			}
		}
	}
}

// Either day is enough, in words and in dates: February 2028 begins on a Tuesday. S-069, R-CRON-5.
func TestPreviewOverHTTPSaysHowDaysAreRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, _ := w.preview(client.PreviewRequest{Expr: "0 2 29 2 0", From: "2028-01-01T00:00:00Z", To: "2029-01-01T00:00:00Z"})
	want := []string{"2028-02-06T02:00:00Z", "2028-02-13T02:00:00Z", "2028-02-20T02:00:00Z", "2028-02-27T02:00:00Z", "2028-02-29T02:00:00Z"}
	if !slices.Equal(p.Occurrences, want) || len(p.Warnings) == 0 || p.Warnings[0].Code != "EITHER_DAY" {
		t.Errorf("%v, warned %v", p.Occurrences, p.Warnings)
	}
}

// next_due follows the clock and the definition from one answer to the next, though nobody plans and nothing is written
// in between. R-TRG-13.
func TestNextDueIsNotStored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shown := func() string {
		t.Helper()
		var one client.Schedule
		w.get("/v1/tenants/-/schedules/minutely", &one)
		return one.Status.NextDue.UTC().Format("02 15:04")
	}
	change := w.change(w.ids["minutely"])
	for _, c := range []struct {
		now  time.Time
		want string
	}{{minute(10), "30 10:11"}, {minute(11), "30 10:12"}, {minute(60 * 24), "01 10:01"}} {
		w.clock.now = c.now
		if got := shown(); got != c.want {
			t.Errorf("at %v: %s, want %s", c.now, got, c.want)
		}
	}
	if got := w.change(w.ids["minutely"]); got != change {
		t.Errorf("looking changed the row: %d, was %d", got, change)
	}
	spec, err := control.Expression("0 12 * * *", schedule.Spec{}, "")
	w.must(err)
	_, err = w.control.ApplyFile(w.Context(), []schedule.Schedule{{Name: "minutely", Spec: spec}}, "test")
	w.must(err)
	if got := shown(); got != "01 12:00" {
		t.Errorf("after the edit: %s", got)
	}
}
