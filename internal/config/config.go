// Package config holds the settings of a server: one struct, filled from defaults, a file, the environment and flags,
// each winning over the one before. One table says what each key is called and how it is read, so that no source can
// know a key that another does not. A key, a variable or a value that is not understood refuses the start.
package config

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/belfryhq/belfry/schedule"
)

// Config is every setting of a server.
type Config struct {
	DB            string // "sqlite:PATH"
	Listen        string // host:port on loopback; port 0: any free one
	File          string // schedules of origin file; "": none
	Format        string // of File; "": by its name
	StateDir      string // the database and belfry.addr live here unless told otherwise
	Role          string // all | planner | worker | api
	Pools         map[string]int
	Lead          time.Duration
	MaxIdle       time.Duration
	ClaimLease    time.Duration
	RunLease      time.Duration
	MaxCatchupAge schedule.Duration // schedule.None: no limit
	CommandAllow  string            // file | all | none
	ShutdownGrace time.Duration
	LogLevel      slog.Level
	LogFormat     string // json | text

	file    string            // the file that was read; "": none
	sources map[string]string // where each key's value comes from; absent: the default
}

// Default is the installation that nobody configured. The state directory is $XDG_STATE_HOME/belfry, and without that
// variable ~/.local/state/belfry.
func Default(getenv func(string) string) Config {
	return Config{
		Listen: "127.0.0.1:7878", StateDir: stateDir(getenv), Role: "all", Pools: map[string]int{"default": 16},
		Lead: 2 * time.Second, MaxIdle: time.Minute, ClaimLease: 5 * time.Second, RunLease: 10 * time.Second,
		MaxCatchupAge: schedule.Duration(24 * time.Hour), CommandAllow: "file", ShutdownGrace: 30 * time.Second,
		LogLevel: slog.LevelInfo, LogFormat: "json", sources: map[string]string{},
	}
}

func stateDir(getenv func(string) string) string {
	if dir := getenv("STATE_DIRECTORY"); dir != "" { // a service manager made one
		first, _, _ := strings.Cut(dir, ":")
		return first
	}
	if dir := getenv("XDG_STATE_HOME"); dir != "" {
		return dir + "/belfry"
	}
	if home := getenv("HOME"); home != "" {
		return home + "/.local/state/belfry"
	}
	return ""
}

// Problem is one setting that is wrong, and where it was written.
type Problem struct {
	Where        string // a file, "environment" or "command line"
	Line, Column int    // in a file
	Key          string // as it is written there
	Code         string // of package schedule
	Message      string
	Allowed      []string
	Hint         string
}

// Error lists every setting that is wrong. It is never empty.
type Error struct{ Problems []Problem }

// Error prints each problem on a line of its own.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		where := p.Where
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d:%d", p.Where, p.Line, p.Column)
		}
		lines[i] = fmt.Sprintf("%s: %s: %s", where, p.Key, p.Message)
		if p.Hint != "" {
			lines[i] += "; " + p.Hint
		}
		if len(p.Allowed) > 0 {
			lines[i] += "\n    allowed: " + strings.Join(p.Allowed, ", ")
		}
	}
	return strings.Join(lines, "\n")
}

// Source tells where a key's value comes from: a place in a file, "BELFRY_…", "--…", or "default".
func (c *Config) Source(key string) string {
	if s := c.sources[key]; s != "" {
		return s
	}
	return "default"
}

// SettingsFile is the file that settings were read from; "" for none.
func (c *Config) SettingsFile() string { return c.file }

// Database is the path of the SQLite file.
func (c *Config) Database() string {
	if c.DB == "" {
		return c.StateDir + "/belfry.db"
	}
	return strings.TrimPrefix(c.DB, "sqlite:")
}

// AddressFile is where serve writes the address at which it listens.
func (c *Config) AddressFile() string { return c.StateDir + "/belfry.addr" }

// Defaults is what the settings mean for schedules that do not say otherwise.
func (c *Config) Defaults() schedule.Defaults {
	return schedule.Defaults{LeastGrace: 2 * c.ClaimLease, MaxCatchupAge: c.MaxCatchupAge}
}

// validate lists the settings that contradict each other.
func (c *Config) validate() []Problem {
	var list []Problem
	add := func(key, code, message, hint string) {
		list = append(list, Problem{Where: c.Source(key), Key: key, Code: code, Message: message, Hint: hint})
	}
	if c.StateDir == "" {
		add("state_dir", schedule.CodeRequired, "there is no home directory to put it into", "set state_dir")
	}
	if c.Role == "api" && c.Source("pools") != "default" {
		add("pools", schedule.CodeConflict, "a server with role api runs nothing", "leave pools out, or choose another role")
	}
	return list
}

// Keys lists the keys of the settings, sorted.
func Keys() []string { return slices.Sorted(maps.Keys(table)) }
