package client

import "encoding/json"

// PreviewRequest asks what an expression, or a whole spec, would do. Give Expr or Spec. Nothing is stored.
type PreviewRequest struct {
	Expr      string          `json:"expr,omitempty"`
	TimeZone  string          `json:"time_zone,omitempty"`  // with Expr; default UTC
	Seconds   bool            `json:"seconds,omitempty"`    // with Expr
	DSTGap    string          `json:"dst_gap,omitempty"`    // with Expr
	DSTRepeat string          `json:"dst_repeat,omitempty"` // with Expr
	Dialect   string          `json:"dialect,omitempty"`    // with Expr; cron: refuse what is not cron, such as @every
	Spec      json.RawMessage `json:"spec,omitempty"`       // a manifest's spec; target may be missing
	From      string          `json:"from,omitempty"`       // RFC 3339, included; default now
	To        string          `json:"to,omitempty"`         // RFC 3339, excluded
	N         int             `json:"n,omitempty"`          // occurrences to list; default 10, with To 10,000, which is the most
}

// Preview says in words and in instants what a definition would do.
type Preview struct {
	Expr        string       `json:"expr"`
	Canonical   string       `json:"canonical"`
	TimeZone    string       `json:"time_zone"`
	Description string       `json:"description"`
	From        Time         `json:"from"`
	To          *Time        `json:"to"`
	Occurrences []string     `json:"occurrences"` // RFC 3339 with the zone's offset
	Truncated   bool         `json:"truncated"`
	Transitions []Transition `json:"transitions"`
	Warnings    []Warning    `json:"warnings"`
}

// Transition is a change of the zone's clocks, and what it does to the definition.
type Transition struct {
	At           Time     `json:"at"`
	Kind         string   `json:"kind"` // gap | overlap
	ShiftSeconds int      `json:"shift_seconds"`
	LocalFrom    string   `json:"local_from"`
	LocalTo      string   `json:"local_to"`
	Effect       string   `json:"effect"`
	Occurrences  []string `json:"occurrences"`
}

// Validation is the answer of schedules:validate to valid documents: what they declare. Invalid ones are answered with
// a Problem.
type Validation struct {
	Items []Validated `json:"items"`
}

// Validated is one schedule of a valid document.
type Validated struct {
	Tenant      string          `json:"tenant,omitempty"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Spec        json.RawMessage `json:"spec"` // with every default filled in
	Warnings    []Warning       `json:"warnings"`
}

// Version tells what a Belfry is built of.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	TZData  string `json:"tzdata"`
	SQLite  string `json:"sqlite"`
}

// Status tells how a server stands.
type Status struct {
	Version      string        `json:"version"`
	Node         string        `json:"node"`
	StartedAt    Time          `json:"started_at"`
	Now          Time          `json:"now"` // the store's clock
	Ready        bool          `json:"ready"`
	Reason       string        `json:"reason"` // why it is not ready
	Roles        []string      `json:"roles"`
	Planner      PlannerStatus `json:"planner"`
	File         *FileStatus   `json:"file"` // null: no file is followed
	Nodes        []Node        `json:"nodes"`
	CommandAllow string        `json:"command_allow"`
}

// PlannerStatus tells how planning stands.
type PlannerStatus struct {
	Leading   bool   `json:"leading"` // here
	Ready     bool   `json:"ready"`
	Reason    string `json:"reason"`
	Watermark *Time  `json:"watermark"` // every occurrence before it is settled, pins and arrears aside
	Epoch     uint64 `json:"epoch"`
	Schedules int    `json:"schedules"`
	Arrears   int    `json:"arrears"`
	Inserted  int64  `json:"inserted"`
	Gaps      int64  `json:"gaps"`
}

// FileStatus tells how the file of schedules stands. While Problem is not empty, the last good set is in force.
type FileStatus struct {
	Path     string `json:"path"`
	Format   string `json:"format"`
	TimeZone string `json:"time_zone"` // of a crontab's lines above the first CRON_TZ
	LoadedAt *Time  `json:"loaded_at"`
	Items    int    `json:"items"`
	Problem  string `json:"problem"`
	// Report lists the lines of a crontab that are not followed exactly as cron would.
	Report []FileLine `json:"report"`
}

// FileLine is what became of one line of a crontab.
type FileLine struct {
	Line    int      `json:"line"`
	Text    string   `json:"text"`
	Result  string   `json:"result"` // exact | approximated | not_supported
	Name    string   `json:"name"`
	Reasons []string `json:"reasons"`
}

// Node is one living process on the store.
type Node struct {
	ID        string   `json:"id"`
	Host      string   `json:"host"`
	PID       int      `json:"pid"`
	Version   string   `json:"version"`
	Roles     []string `json:"roles"`
	Pools     []string `json:"pools"`
	StartedAt Time     `json:"started_at"`
	SeenAt    Time     `json:"seen_at"`
}

// Readiness is the answer of the health checks.
type Readiness struct {
	Status string `json:"status"` // ok | not_ready
	Reason string `json:"reason"`
}
