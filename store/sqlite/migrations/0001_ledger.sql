-- Instants are UTC microseconds, identifiers the sixteen bytes of a UUID, and enumerations the numbers that the Go
-- packages run and schedule list. NULL is "absent"; a tenant is never NULL, because NULL would defeat a unique index.

-- Who plans a shard, and up to where it is covered.
CREATE TABLE belfry_claims (
    shard         INTEGER PRIMARY KEY,
    token         TEXT    NOT NULL,
    epoch         INTEGER NOT NULL,
    nonce         TEXT    NOT NULL,
    expires_at    INTEGER,
    covered_until INTEGER,
    synced_until  INTEGER
) STRICT;

-- Backlogs that were cut by schedule: schedules above the cursor are unsettled in [from_at, to_at).
CREATE TABLE belfry_arrears (
    shard     INTEGER NOT NULL,
    from_at   INTEGER NOT NULL,
    to_at     INTEGER NOT NULL,
    opened_at INTEGER NOT NULL,
    cursor_id BLOB    NOT NULL,
    PRIMARY KEY (shard, from_at)
) STRICT, WITHOUT ROWID;

-- Store-wide increasing numbers; "fence" orders all leases that were ever granted.
CREATE TABLE belfry_sequences (
    name  TEXT    PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO belfry_sequences (name, value) VALUES ('fence', 0);

-- A schedule as it stands. Its current spec is the revision that begins at span_from.
CREATE TABLE belfry_schedules (
    id            BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    tenant        TEXT    NOT NULL,
    name          TEXT    NOT NULL,
    name_live     TEXT,                  -- NULL once deleted, so that the name is free again
    origin        INTEGER NOT NULL,
    revision      INTEGER NOT NULL,
    change        INTEGER NOT NULL,      -- counts every change that a planner must know
    span_from     INTEGER NOT NULL,
    changed_at    INTEGER NOT NULL,      -- the last instant at which a span began or ended
    paused_at     INTEGER,
    paused_by     TEXT    NOT NULL DEFAULT '',
    paused_reason TEXT    NOT NULL DEFAULT '',
    paused_until  INTEGER,
    quarantine    TEXT    NOT NULL DEFAULT '',
    pin_at        INTEGER,               -- NULL: rides the watermark
    pin_opened_at INTEGER,
    pin_reason    TEXT    NOT NULL DEFAULT '',
    dirty         INTEGER,               -- NULL or 1
    labels        TEXT    NOT NULL DEFAULT '{}',
    annotations   TEXT    NOT NULL DEFAULT '{}',
    created_at    INTEGER NOT NULL,
    created_by    TEXT    NOT NULL DEFAULT '',
    updated_at    INTEGER NOT NULL,
    updated_by    TEXT    NOT NULL DEFAULT '',
    deleted_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX belfry_schedules_name ON belfry_schedules (tenant, name_live);
CREATE INDEX belfry_schedules_dirty ON belfry_schedules (dirty, id) WHERE dirty IS NOT NULL;

-- Which revision was in force when. A pause ends a span, and a resume begins another of the same revision.
CREATE TABLE belfry_revisions (
    schedule_id BLOB    NOT NULL REFERENCES belfry_schedules (id) ON DELETE CASCADE,
    valid_from  INTEGER NOT NULL,
    valid_to    INTEGER,                 -- NULL: in force; equal to valid_from: kept for its spec alone
    revision    INTEGER NOT NULL,
    spec        TEXT    NOT NULL,
    made_by     TEXT    NOT NULL DEFAULT '',
    why         TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (schedule_id, valid_from)
) STRICT;

-- The ledger, and the queue: claimable runs are those with a ready_at. One row for each occurrence, for ever.
CREATE TABLE belfry_runs (
    id               BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    tenant           TEXT    NOT NULL,
    schedule_id      BLOB    NOT NULL CHECK (length(schedule_id) = 16),
    revision         INTEGER NOT NULL,
    kind             INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 6),
    status           INTEGER NOT NULL CHECK (status BETWEEN 1 AND 12),
    reason           TEXT    NOT NULL DEFAULT '',
    occurrence_at    INTEGER,            -- due_at for kind scheduled, NULL for every other kind
    due_at           INTEGER NOT NULL,
    available_at     INTEGER NOT NULL,   -- due plus jitter, or the next retry
    ready_at         INTEGER,            -- available_at while claimable, else NULL
    pool             TEXT    NOT NULL,
    lock_key         TEXT    NOT NULL DEFAULT '',
    lock_held        TEXT,               -- lock_key while the run owns it
    overlap          INTEGER NOT NULL DEFAULT 0,
    max_attempts     INTEGER NOT NULL,
    attempt          INTEGER NOT NULL DEFAULT 0,
    max_deliveries   INTEGER NOT NULL,
    deliveries       INTEGER NOT NULL DEFAULT 0,
    on_lost          INTEGER NOT NULL DEFAULT 0,
    backoff          INTEGER NOT NULL DEFAULT 0, -- nanoseconds
    node_id          BLOB,
    lease_node       BLOB,               -- node_id while that node holds the run
    fence            INTEGER NOT NULL DEFAULT 0,
    epoch            INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL,
    claimed_at       INTEGER,
    started_at       INTEGER,
    finished_at      INTEGER,
    unwell_at        INTEGER,            -- due_at once it ended in another way than well, to be found among millions that did
    misfire          TEXT,
    error_code       TEXT    NOT NULL DEFAULT '',
    error            TEXT    NOT NULL DEFAULT '',
    exit_code        INTEGER,
    output_bytes     INTEGER NOT NULL DEFAULT 0,
    output_truncated INTEGER NOT NULL DEFAULT 0
) STRICT;
-- At most one run for each occurrence. The schedule leads, because runs are looked up by schedule.
CREATE UNIQUE INDEX belfry_runs_occurrence ON belfry_runs (schedule_id, occurrence_at, tenant);
CREATE INDEX belfry_runs_other ON belfry_runs (schedule_id, due_at) WHERE occurrence_at IS NULL;
CREATE UNIQUE INDEX belfry_runs_lock ON belfry_runs (tenant, lock_held) WHERE lock_held IS NOT NULL;
CREATE INDEX belfry_runs_ready ON belfry_runs (pool, ready_at, id) WHERE ready_at IS NOT NULL;
CREATE INDEX belfry_runs_lease ON belfry_runs (lease_node) WHERE lease_node IS NOT NULL;
CREATE INDEX belfry_runs_due ON belfry_runs (due_at, id);
CREATE INDEX belfry_runs_unwell ON belfry_runs (unwell_at, id) WHERE unwell_at IS NOT NULL;

-- Executions that gave an answer, and deliveries that were lost. A first success without output has no row.
CREATE TABLE belfry_attempts (
    run_id       BLOB    NOT NULL REFERENCES belfry_runs (id) ON DELETE CASCADE,
    n            INTEGER NOT NULL,       -- the delivery
    node_id      BLOB,
    fence        INTEGER NOT NULL,
    started_at   INTEGER,
    finished_at  INTEGER,
    outcome      INTEGER NOT NULL,
    error_code   TEXT    NOT NULL DEFAULT '',
    error        TEXT    NOT NULL DEFAULT '',
    exit_code    INTEGER,
    output_bytes INTEGER NOT NULL DEFAULT 0,
    truncated    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

CREATE TABLE belfry_outputs (
    run_id BLOB    NOT NULL REFERENCES belfry_runs (id) ON DELETE CASCADE,
    n      INTEGER NOT NULL,             -- the delivery
    seq    INTEGER NOT NULL,
    stream INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    PRIMARY KEY (run_id, n, seq)
) STRICT;

-- Transitions off the plain path.
CREATE TABLE belfry_history (
    run_id      BLOB    NOT NULL REFERENCES belfry_runs (id) ON DELETE CASCADE,
    seq         INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    from_status INTEGER NOT NULL,
    to_status   INTEGER NOT NULL,
    node_id     BLOB,
    note        TEXT    NOT NULL DEFAULT '',
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

-- Occurrences that made no run. An open gap has the last possible instant as last_at, so that it touches everything.
CREATE TABLE belfry_gaps (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    tenant       TEXT    NOT NULL,
    schedule_id  BLOB    NOT NULL CHECK (length(schedule_id) = 16),
    revision     INTEGER NOT NULL,
    reason       INTEGER NOT NULL CHECK (reason BETWEEN 1 AND 13),
    policy       INTEGER NOT NULL DEFAULT 0,
    first_at     INTEGER NOT NULL,
    last_at      INTEGER NOT NULL,
    occurrences  INTEGER NOT NULL,
    is_open      INTEGER NOT NULL DEFAULT 0,
    run_id       BLOB,
    epoch        INTEGER NOT NULL DEFAULT 0,
    zone_release TEXT    NOT NULL DEFAULT '',
    created_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX belfry_gaps_first ON belfry_gaps (schedule_id, first_at, reason);
CREATE INDEX belfry_gaps_last ON belfry_gaps (schedule_id, last_at);
CREATE INDEX belfry_gaps_time ON belfry_gaps (first_at, id);

-- Living processes; the leases on runs hang on these rows.
CREATE TABLE belfry_nodes (
    id           BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    host         TEXT    NOT NULL,
    pid          INTEGER NOT NULL,
    version      TEXT    NOT NULL,
    zone_release TEXT    NOT NULL,
    roles        TEXT    NOT NULL,
    pools        TEXT    NOT NULL,
    started_at   INTEGER,
    seen_at      INTEGER NOT NULL,
    lease_until  INTEGER NOT NULL,
    lost_at      INTEGER
) STRICT, WITHOUT ROWID;

-- Facts about what people and planners did. Positions on a spine come later (PROTOCOL A7).
CREATE TABLE belfry_events (
    id          BLOB    NOT NULL PRIMARY KEY CHECK (length(id) = 16),
    at          INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    tenant      TEXT    NOT NULL,
    schedule_id BLOB,
    run_id      BLOB,
    actor       TEXT    NOT NULL DEFAULT '',
    reason      TEXT    NOT NULL DEFAULT '',
    data        TEXT    NOT NULL DEFAULT '{}'
) STRICT, WITHOUT ROWID;
