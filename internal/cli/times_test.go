package cli

import (
	"testing"
	"time"
)

// Whatever the zone, the printed text names the instant: Monrovia was 44 minutes and 30 seconds behind until 1972, which
// no offset of RFC 3339 can say.
func TestPrintedInstantsReadBack(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "Europe/Berlin", "Africa/Monrovia", "Australia/Lord_Howe"} {
		z, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []time.Time{time.Date(1972, 1, 6, 0, 44, 30, 0, time.UTC), time.Date(2027, 3, 28, 1, 0, 0, 1000, time.UTC)} {
			text := times{zone: z, style: "rfc3339"}.print(at)
			if back, err := time.Parse(time.RFC3339Nano, text); err != nil || !back.Equal(at) {
				t.Errorf("%v in %s is printed as %s, %v", at, name, text, err)
			}
		}
	}
}
