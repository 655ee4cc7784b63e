package config

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/belfryhq/belfry/schedule"
)

// A key is one setting: how its text is read, and what it says in help.
type key struct {
	set  func(c *Config, text string) *Problem
	help string
}

// table holds every key. Flags are called as the keys are, with hyphens; variables in capitals with BELFRY_ before them.
var table = map[string]key{
	"db":              {text(database, func(c *Config) *string { return &c.DB }), "database: sqlite:PATH, or a path; default belfry.db in the state directory"},
	"listen":          {text(loopback, func(c *Config) *string { return &c.Listen }), "loopback address of the API; port 0 is any free one"},
	"file":            {text(notEmpty, func(c *Config) *string { return &c.File }), "crontab or manifest whose schedules are run"},
	"format":          {word([]string{"crontab", "system-crontab", "manifest"}, func(c *Config) *string { return &c.Format }), "format of the file: crontab, system-crontab or manifest; default by its name"},
	"state_dir":       {text(directory, func(c *Config) *string { return &c.StateDir }), "directory of the database and of belfry.addr"},
	"role":            {word([]string{"all", "planner", "worker", "api"}, func(c *Config) *string { return &c.Role }), "what this process does: all, planner, worker or api"},
	"pools":           {pools, "runs at once by pool: default=16,slow=2"},
	"lead":            {length(func(c *Config) *time.Duration { return &c.Lead }, 0, time.Minute), "how far ahead of its instant an occurrence is committed"},
	"max_idle":        {length(func(c *Config) *time.Duration { return &c.MaxIdle }, time.Second, time.Hour), "longest sleep of the planner"},
	"claim_lease":     {length(func(c *Config) *time.Duration { return &c.ClaimLease }, time.Second, 10*time.Minute), "how long a dead planner blocks its successor at most"},
	"run_lease":       {length(func(c *Config) *time.Duration { return &c.RunLease }, 3*time.Second, time.Hour), "how long a dead worker keeps its runs"},
	"shards":          {only("1"), "number of shards; one for now"},
	"misfire_grace":   {notYet, "not yet supported; set it in the schedules"},
	"max_catchup_age": {age, "how old a missed occurrence may be to be made up for; 0s: any age"},
	"command.allow":   {word([]string{"file", "all", "none"}, func(c *Config) *string { return &c.CommandAllow }), "whose schedules may run commands: file, all or none"},
	"shutdown_grace":  {length(func(c *Config) *time.Duration { return &c.ShutdownGrace }, 0, 24*time.Hour), "how long running work may go on after SIGTERM"},
	"log.level":       {level, "debug, info, warn or error"},
	"log.format":      {word([]string{"json", "text"}, func(c *Config) *string { return &c.LogFormat }), "json or text"},
}

// Help is the sentence about a key.
func Help(name string) string { return table[name].help }

// Set sets a key from its text, as flags do. Source says who wrote it.
func (c *Config) Set(name, value, source string) *Problem {
	k, known := table[name]
	if !known {
		return unknownKey(name)
	}
	if p := k.set(c, value); p != nil {
		return p
	}
	c.sources[name] = source
	return nil
}

func unknownKey(name string) *Problem {
	return &Problem{Code: schedule.CodeUnknownKey, Message: "there is no such setting", Hint: schedule.DidYouMean(name, Keys())}
}

func bad(format string, args ...any) *Problem {
	return &Problem{Code: schedule.CodeBadFormat, Message: fmt.Sprintf(format, args...)}
}

// text is a key whose value is taken as it is, once checked.
func text(check func(string) (string, *Problem), field func(*Config) *string) func(*Config, string) *Problem {
	return func(c *Config, value string) *Problem {
		value, p := check(value)
		if p == nil {
			*field(c) = value
		}
		return p
	}
}

func notEmpty(value string) (string, *Problem) {
	if value == "" {
		return "", bad("must not be empty")
	}
	return value, nil
}

func directory(value string) (string, *Problem) {
	if value == "" {
		return "", bad("must not be empty")
	}
	path, err := filepath.Abs(value)
	if err != nil {
		return "", bad("%v", err)
	}
	return path, nil
}

func database(value string) (string, *Problem) {
	scheme, rest, ok := strings.Cut(value, ":")
	switch {
	case value == "" || ok && scheme == "sqlite" && rest == "":
		return "", bad("must name a file, such as sqlite:belfry.db")
	case ok && scheme != "sqlite" && !strings.Contains(scheme, "/"):
		return "", &Problem{Code: schedule.CodeNotYet, Message: fmt.Sprintf("databases of kind %q are not supported yet", scheme), Allowed: []string{"sqlite:PATH"}}
	}
	return value, nil
}

// loopback refuses every address that another machine could reach: the API has no sign-in yet.
func loopback(value string) (string, *Problem) {
	host, port, err := net.SplitHostPort(value)
	if err != nil {
		return "", &Problem{Code: schedule.CodeBadFormat, Message: fmt.Sprintf("%q is no address", value), Hint: "write host:port, such as 127.0.0.1:7878"}
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", bad("%q is no port", port)
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if host == "localhost" || err == nil && addr.IsLoopback() {
		return value, nil
	}
	return "", &Problem{Code: schedule.CodeConflict, Message: fmt.Sprintf("%q can be reached by others, and the API has no sign-in yet", value),
		Hint: "listen on 127.0.0.1 or [::1], and put a proxy that knows your users in front"}
}

func word(allowed []string, field func(*Config) *string) func(*Config, string) *Problem {
	return func(c *Config, value string) *Problem {
		if !slices.Contains(allowed, value) {
			return &Problem{Code: schedule.CodeUnknownValue, Message: fmt.Sprintf("%q is not known", value), Allowed: allowed,
				Hint: schedule.DidYouMean(value, allowed)}
		}
		*field(c) = value
		return nil
	}
}

func length(field func(*Config) *time.Duration, least, most time.Duration) func(*Config, string) *Problem {
	return func(c *Config, value string) *Problem {
		d, err := schedule.ParseDuration(value)
		if err != nil {
			return bad("%v", err)
		}
		if time.Duration(d) < least || time.Duration(d) > most {
			return &Problem{Code: schedule.CodeOutOfRange, Message: fmt.Sprintf("%s is out of range; allowed are %s to %s", d,
				schedule.FormatDuration(least), schedule.FormatDuration(most))}
		}
		*field(c) = time.Duration(d)
		return nil
	}
}

func age(c *Config, value string) *Problem {
	d, err := schedule.ParseDuration(value)
	switch {
	case err != nil:
		return bad("%v", err)
	case d < 0:
		return &Problem{Code: schedule.CodeOutOfRange, Message: "must not be negative"}
	case d == 0:
		d = schedule.None
	}
	c.MaxCatchupAge = d
	return nil
}

func only(value string) func(*Config, string) *Problem {
	return func(_ *Config, given string) *Problem {
		if given != value {
			return &Problem{Code: schedule.CodeNotYet, Message: "is not yet supported with this value", Allowed: []string{value}}
		}
		return nil
	}
}

func notYet(*Config, string) *Problem {
	return &Problem{Code: schedule.CodeNotYet, Message: "is not yet supported for a whole installation", Hint: "set it in the schedules"}
}

func level(c *Config, value string) *Problem {
	allowed := []string{"debug", "info", "warn", "error"}
	if !slices.Contains(allowed, value) {
		return &Problem{Code: schedule.CodeUnknownValue, Message: fmt.Sprintf("%q is not known", value), Allowed: allowed,
			Hint: schedule.DidYouMean(value, allowed)}
	}
	if err := c.LogLevel.UnmarshalText([]byte(value)); err != nil {
		return bad("%v", err)
	}
	return nil
}

const maxConcurrency = 100_000

// pools reads "default=16,slow=2" or {"default": {"concurrency": 16}}.
func pools(c *Config, value string) *Problem {
	out := map[string]int{}
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		var in map[string]struct {
			Concurrency int `json:"concurrency"`
		}
		decoder := json.NewDecoder(strings.NewReader(value))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&in); err != nil {
			return bad(`is not {"default": {"concurrency": 16}}: %v`, err)
		}
		for name, p := range in {
			out[name] = p.Concurrency
		}
	} else {
		for part := range strings.SplitSeq(value, ",") {
			name, count, ok := strings.Cut(strings.TrimSpace(part), "=")
			n, err := strconv.Atoi(count)
			if !ok || err != nil {
				return bad("%q is not name=number", part)
			}
			if _, twice := out[name]; twice {
				return &Problem{Code: schedule.CodeDuplicateKey, Message: fmt.Sprintf("pool %q is given twice", name)}
			}
			out[name] = n
		}
	}
	for name, n := range out {
		if !schedule.ValidName(name) {
			return bad("%q is no name of a pool", name)
		}
		if n < 1 || n > maxConcurrency {
			return &Problem{Code: schedule.CodeOutOfRange, Message: fmt.Sprintf("pool %s runs %d at once; allowed are 1 to %d", name, n, maxConcurrency)}
		}
	}
	c.Pools = out
	return nil
}

// Process is the name of the user that this process runs as, for the lines of a system crontab; "" when the system
// does not know one.
func Process() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
