package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/belfryhq/belfry/internal/config"
	"github.com/belfryhq/belfry/schedule"
)

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "belfry.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Flags win over the environment, that over the file, that over the defaults.
func TestNearerSourcesWin(t *testing.T) {
	t.Parallel()
	path := file(t, "lead: 1s\nclaim_lease: 6s\nmax_idle: 7s\ncommand: {allow: none}\nlog:\n  level: debug\npools:\n  default: {concurrency: 3}\n")
	c, err := config.Load(config.Input{File: path, Environ: []string{"HOME=/h", "BELFRY_CLAIM_LEASE=8s", "BELFRY_MAX_IDLE=9s"},
		Flags: map[string]string{"max_idle": "11s"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Lead != time.Second || c.ClaimLease != 8*time.Second || c.MaxIdle != 11*time.Second || c.RunLease != 10*time.Second {
		t.Errorf("lead %v, claim lease %v, max idle %v, run lease %v", c.Lead, c.ClaimLease, c.MaxIdle, c.RunLease)
	}
	if c.CommandAllow != "none" || c.LogLevel.String() != "DEBUG" || c.Pools["default"] != 3 {
		t.Errorf("allow %s, level %s, pools %v", c.CommandAllow, c.LogLevel, c.Pools)
	}
	for key, want := range map[string]string{"lead": path + ":1:7", "claim_lease": "BELFRY_CLAIM_LEASE", "max_idle": "--max-idle", "run_lease": "default"} {
		if got := c.Source(key); got != want {
			t.Errorf("%s comes from %s, want %s", key, got, want)
		}
	}
}

func TestNobodyNeedsToConfigureAnything(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Input{Environ: []string{"HOME=/h"}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Database() != "/h/.local/state/belfry/belfry.db" || c.AddressFile() != "/h/.local/state/belfry/belfry.addr" || c.Listen != "127.0.0.1:7878" {
		t.Errorf("database %s, address %s, listen %s", c.Database(), c.AddressFile(), c.Listen)
	}
	if d := c.Defaults(); d.LeastGrace != 10*time.Second || d.MaxCatchupAge != schedule.Duration(24*time.Hour) {
		t.Errorf("defaults %+v", d)
	}
}

// Settings that nobody named are found in the user's configuration directory; a named file must exist.
func TestSettingsAreFoundWhereTheyBelong(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "belfry", "belfry.yaml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("lead: 3s"), 0o600)); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Input{Environ: []string{"HOME=/h", "XDG_CONFIG_HOME=" + dir}})
	if err != nil || c.Lead != 3*time.Second || c.SettingsFile() != path {
		t.Errorf("lead %v of %s, %v", c.Lead, c.SettingsFile(), err)
	}
	if _, err := config.Load(config.Input{File: path + ".missing", Environ: []string{"HOME=/h"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a named file that is missing: %v", err)
	}
}

func TestStateDirectoryFollowsTheEnvironment(t *testing.T) {
	t.Parallel()
	for want, environ := range map[string][]string{
		"/x/belfry": {"HOME=/h", "XDG_STATE_HOME=/x"},
		"/s":        {"HOME=/h", "XDG_STATE_HOME=/x", "STATE_DIRECTORY=/s:/t"},
		"/b":        {"HOME=/h", "BELFRY_STATE_DIR=/b"},
	} {
		if c, err := config.Load(config.Input{Environ: environ}); err != nil || c.StateDir != want {
			t.Errorf("%v: %s, %v; want %s", environ, c.StateDir, err, want)
		}
	}
	if _, err := config.Load(config.Input{}); err == nil {
		t.Error("without a home there is no place for the state, and nobody said so")
	}
}

// A setting that is ignored is worse than a server that does not start.
func TestWhatIsNotUnderstoodIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"listn: x":                     `:1:1: listn: there is no such setting; did you mean "listen"?`,
		"lead: 1s\nlead: 2s":           ":2:1: lead: is given twice",
		"lead: soon":                   ":1:7: lead: ",
		"run_lease: 2s":                "allowed are 3s to 1h", // three heartbeats, or the worker could not be made
		"lead: [1s]":                   ":1:7: lead: must be a single value",
		"command: all":                 ":1:10: command: must be a mapping",
		"command: {alow: all}":         `:1:11: command.alow: there is no such setting; did you mean "command.allow"?`,
		"shards: 2":                    "shards: is not yet supported",
		"misfire_grace: 1m":            "misfire_grace: is not yet supported",
		"listen: 0.0.0.0:1":            "no sign-in yet",
		"listen: example.com:1":        "no sign-in yet",
		"listen: 127.0.0.1":            "is no address",
		"pools: {p: {size: 1}}":        "pools",
		"pools: {p: {concurrency: 0}}": "allowed are 1 to",
		"db: mysql://x":                "not supported yet",
		"max_catchup_age: -1h":         "must not be negative",
		"role: palnner":                `did you mean "planner"?`,
		"a: b: c":                      "(file)",
		"lead: 1s\n---\nlead: 1s":      "more than one document",
		"[1]":                          "must be a mapping",
	} {
		_, err := config.Load(config.Input{File: file(t, text), Environ: []string{"HOME=/h"}})
		var bad *config.Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

func TestUnknownVariablesAreRefused(t *testing.T) {
	t.Parallel()
	_, err := config.Load(config.Input{Environ: []string{"HOME=/h", "BELFRY_LISTN=x", "BELFRY_LEAD=x"}})
	var bad *config.Error
	if !errors.As(err, &bad) || len(bad.Problems) != 2 || !strings.Contains(err.Error(), `did you mean "BELFRY_LISTEN"?`) {
		t.Errorf("%v", err)
	}
	// a belfry may be started by a command of another one, and tests inject faults
	_, err = config.Load(config.Input{Environ: []string{"HOME=/h", "BELFRY_KEY=k", "BELFRY_RUN_ID=r", "BELFRY_SCHEDULE=s", "BELFRY_DUE=d", "BELFRY_ATTEMPT=1",
		"BELFRY_FENCE=1", "BELFRY_KIND=scheduled", "BELFRY_FAULT_CRASH=x", "BELFRY_SERVER=x", "BELFRY_TENANT=x"}})
	if err != nil {
		t.Errorf("variables that are no settings: %v", err)
	}
}

func TestLoopbackAddressesAreTaken(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:7878", "localhost:1", "127.1.2.3:65535"} {
		if _, err := config.Load(config.Input{Environ: []string{"HOME=/h", "BELFRY_LISTEN=" + address}}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestPoolsAreReadInBothForms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"default=2,slow=1", ` {"default": {"concurrency": 2}, "slow": {"concurrency": 1}}`} {
		c, err := config.Load(config.Input{Environ: []string{"HOME=/h", "BELFRY_POOLS=" + text}})
		if err != nil || c.Pools["default"] != 2 || c.Pools["slow"] != 1 || len(c.Pools) != 2 {
			t.Errorf("%s: %v, %v", text, c.Pools, err)
		}
	}
	for _, text := range []string{"", "default", "default=x", "default=1,default=2", "UPPER=1", "{"} {
		if _, err := config.Load(config.Input{Environ: []string{"HOME=/h", "BELFRY_POOLS=" + text}}); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// Every key has a variable and a sentence for help; no two keys share a variable.
func TestKeysAreUniformlyNamed(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, key := range config.Keys() {
		variable := config.Variable(key)
		if seen[variable] != "" || config.Help(key) == "" {
			t.Errorf("%s: variable %s also of %q, help %q", key, variable, seen[variable], config.Help(key))
		}
		seen[variable] = key
	}
}
