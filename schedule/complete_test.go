package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func command(line string) Target { return Target{Command: &Command{Shell: line}} }

// Defaults are a promise to whoever left a key out; this table repeats them by hand. R-TZ-2: without a zone it is UTC.
func TestCompleteFillsEveryDefault(t *testing.T) {
	t.Parallel()
	got, err := Spec{Trigger: Trigger{Cron: []string{" 0 3 * * * "}}, Target: command("true")}.Complete(Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	want := Spec{
		Trigger:  Trigger{Cron: []string{"0 3 * * *"}, DSTGap: "shift", DSTRepeat: "auto"},
		TimeZone: "UTC",
		Target: Target{Command: &Command{Shell: "true", Interpreter: "/bin/sh", OutputLimit: 1 << 20,
			KillGrace: Duration(5 * time.Second), SuccessCodes: []int{0}}},
		Misfire: "once", MisfireLimit: 100, MisfireKeep: "oldest", MaxCatchupAge: Duration(24 * time.Hour),
		Overlap: "allow", MaxAttempts: 1, MaxDeliveries: 5, OnLost: "redeliver",
		Timeout: Duration(24 * time.Hour), Pool: "default",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	const text = `{"description":"","trigger":{"cron":"0 3 * * *","seconds":false,"dst_gap":"shift","dst_repeat":"auto"},` +
		`"time_zone":"UTC","shift":"0s","spread":"0s","starts_at":null,"ends_at":null,"max_occurrences":0,"jitter":"0s",` +
		`"target":{"command":{"shell":"true","interpreter":"/bin/sh","dir":"","output_limit":"1MiB","kill_grace":"5s","success_codes":[0]}},` +
		`"misfire":"once","misfire_grace":null,"misfire_limit":100,"misfire_keep":"oldest","max_catchup_age":"24h","start_from":null,` +
		`"overlap":"allow","lock_key":"","max_attempts":1,"max_deliveries":5,"on_lost":"redeliver","backoff":"0s","timeout":"24h","pool":"default","paused":false}`
	encoded, err := EncodeSpec(got)
	if err != nil || string(encoded) != text {
		t.Errorf("EncodeSpec: %s, %v\nwant %s", encoded, err, text)
	}
	back, err := DecodeSpec(encoded)
	if diff := cmp.Diff(want, back); diff != "" || err != nil {
		t.Error(diff, err)
	}
}
