package crontab

import "fmt"

// Result says how faithfully a line of a crontab is followed.
type Result string

// The three results.
const (
	Exact        Result = "exact"         // as cron would
	Approximated Result = "approximated"  // taken, and cron would do something else in some cases
	NotSupported Result = "not_supported" // not taken; the rest of the crontab is
)

// An Entry is what became of one line.
type Entry struct {
	Line    int      `json:"line"`
	Text    string   `json:"text"`
	Result  Result   `json:"result"`
	Name    string   `json:"name,omitempty"` // of the schedule; absent where there is none
	Reasons []string `json:"reasons,omitempty"`
}

// unused lists the variables that steer a cron daemon and are not given to commands, and why they have no effect.
var unused = map[string]string{
	"MAILTO":                    "no mail is sent; the output is kept with the run",
	"MAILFROM":                  "no mail is sent; the output is kept with the run",
	"CONTENT_TYPE":              "no mail is sent; the output is kept with the run",
	"CONTENT_TRANSFER_ENCODING": "no mail is sent; the output is kept with the run",
	"RANDOM_DELAY":              "it has no effect; a line can be delayed with: # belfry: jitter=5m",
}

// remarks are on variables that are given to commands and do not mean what their name suggests.
var remarks = map[string]string{
	"TZ":      "it is given to the commands and does not move their times; CRON_TZ does",
	"LOGNAME": "it is given to the commands as written; cron would set it to the user",
	"USER":    "it is given to the commands as written; some crons would set it to the user",
}

// reportVariable reports an assignment that needs a word.
func (c *reader) reportVariable(name, value string) {
	e := Entry{Line: c.line, Text: fmt.Sprintf("%s=%s", name, value), Result: NotSupported}
	switch {
	case name == "MAILTO" && value == "":
		e.Result, e.Reasons = Exact, []string{"no mail is sent"}
	case unused[name] != "":
		e.Reasons = []string{unused[name]}
	case name == "TZ":
		e.Result, e.Reasons = Exact, []string{remarks[name]}
	case remarks[name] != "":
		e.Result, e.Reasons = Approximated, []string{remarks[name]}
	default:
		return
	}
	c.report = append(c.report, e)
}
