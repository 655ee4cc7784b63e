package schedule

// Spec is what the owner of a schedule writes: the "spec" of a manifest and of the API, field for field. A Spec that
// went through Complete has every default filled in; only such a Spec is stored.
type Spec struct {
	Description   string    `json:"description"`
	Trigger       Trigger   `json:"trigger"`
	TimeZone      string    `json:"time_zone"`
	Shift         Duration  `json:"shift"`
	Spread        Duration  `json:"spread"`
	StartsAt      *Instant  `json:"starts_at"`
	EndsAt        *Instant  `json:"ends_at"`
	MaxCount      int       `json:"max_occurrences"`
	Jitter        Duration  `json:"jitter"`
	Target        Target    `json:"target"`
	Misfire       Misfire   `json:"misfire"`
	MisfireGrace  *Duration `json:"misfire_grace"`
	MisfireLimit  int       `json:"misfire_limit"`
	MisfireKeep   Keep      `json:"misfire_keep"`
	MaxCatchupAge Duration  `json:"max_catchup_age"`
	StartFrom     *Instant  `json:"start_from"`
	Overlap       Overlap   `json:"overlap"`
	LockKey       string    `json:"lock_key"`
	MaxAttempts   int       `json:"max_attempts"`
	MaxDeliveries int       `json:"max_deliveries"`
	OnLost        OnLost    `json:"on_lost"`
	Backoff       Duration  `json:"backoff"`
	Timeout       Duration  `json:"timeout"`
	Pool          string    `json:"pool"`
	Paused        bool      `json:"paused"`
}

// Trigger says when: exactly one of Cron, Every and At is set.
type Trigger struct {
	Cron      []string  `json:"cron,omitempty"` // one expression, or several whose union counts; "@every 90s" is taken as Every
	Seconds   bool      `json:"seconds,omitempty"`
	DSTGap    string    `json:"dst_gap,omitempty"`    // shift | skip
	DSTRepeat string    `json:"dst_repeat,omitempty"` // auto | first | last | both
	Every     Duration  `json:"every,omitempty"`
	Anchor    *Instant  `json:"anchor,omitempty"`
	At        []Instant `json:"at,omitempty"`
}

// Target says what a run does: exactly one field is set.
type Target struct {
	Command *Command `json:"command,omitempty"`
	Job     *Job     `json:"job,omitempty"` // handlers registered in process
}

// Job names a handler that the process has registered, with its arguments as JSON.
type Job struct {
	Name    string `json:"name"`
	Payload any    `json:"payload,omitempty"`
}

// Command is a program to start: exactly one of Argv and Shell is set.
type Command struct {
	Argv         []string          `json:"argv,omitempty"`
	Shell        string            `json:"shell,omitempty"`       // one line, given to Interpreter -c
	Interpreter  string            `json:"interpreter,omitempty"` // with Shell; default /bin/sh
	Dir          string            `json:"dir"`                   // "": home of the user that runs belfry
	Env          map[string]string `json:"env,omitempty"`
	Stdin        string            `json:"stdin,omitempty"`
	OutputLimit  Size              `json:"output_limit"`
	KillGrace    Duration          `json:"kill_grace"`
	SuccessCodes []int             `json:"success_codes"`
}

// Misfire says what becomes of late occurrences.
type Misfire string

// The misfire policies.
const (
	MisfireOnce Misfire = "once" // collapse into the newest pending occurrence
	MisfireSkip Misfire = "skip" // a gap
	MisfireAll  Misfire = "all"  // run them, MisfireLimit a commit
)

// Keep says which late occurrences run when there are more than the limit.
type Keep string

// The two ends of a backlog.
const (
	KeepOldest Keep = "oldest" // drain commit after commit
	KeepNewest Keep = "newest" // the rest becomes a gap
)

// Overlap says what happens when a run would start while another holds its lock key.
type Overlap string

// The overlap policies. Queue, delay and replace are known words that are refused until they are built.
const (
	OverlapAllow Overlap = "allow"
	OverlapSkip  Overlap = "skip"
)

// OnLost says what becomes of a run whose worker's lease was taken while it executed.
type OnLost string

// The two answers to a lost lease.
const (
	OnLostRedeliver OnLost = "redeliver" // at least once
	OnLostFail      OnLost = "fail"      // at most once: the lost lease counts as an attempt
)
