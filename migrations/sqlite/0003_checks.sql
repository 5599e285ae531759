-- Checks, their pings and their flips.

CREATE TABLE checks (
    id                  TEXT PRIMARY KEY,
    account_id          TEXT NOT NULL REFERENCES accounts (id),
    ping_key            TEXT NOT NULL UNIQUE,
    name                TEXT NOT NULL,
    tags                TEXT NOT NULL,
    description         TEXT NOT NULL,
    period_seconds      INTEGER NOT NULL,
    grace_seconds       INTEGER NOT NULL,
    max_runtime_seconds INTEGER,
    status              TEXT NOT NULL CHECK (status IN ('new', 'up', 'down')),
    paused_at           INTEGER,
    paused_until        INTEGER,
    -- Moves on edits of the configuration only.
    config_version      INTEGER NOT NULL DEFAULT 1,
    -- The last ping accepted, success or fail.
    last_ping_at        INTEGER,
    -- The last accepted of each kind: what the floor is measured from.
    last_success_at     INTEGER,
    last_fail_at        INTEGER,
    last_start_at       INTEGER,
    last_log_at         INTEGER,
    -- A start that no success or fail has ended yet.
    started_at          INTEGER,
    -- When the next ping is due, and when the check goes down without one; both a hint of the row's other facts.
    due_at              INTEGER,
    deadline_at         INTEGER,
    rejected_count      INTEGER NOT NULL DEFAULT 0,
    last_rejected_at    INTEGER,
    created_at          INTEGER NOT NULL,
    CONSTRAINT checks_account_id_name UNIQUE (account_id, name)
) STRICT;
CREATE INDEX checks_deadline ON checks (deadline_at) WHERE deadline_at IS NOT NULL AND status <> 'down';
CREATE INDEX checks_paused_until ON checks (paused_until) WHERE paused_until IS NOT NULL;

CREATE TABLE pings (
    id               TEXT PRIMARY KEY,
    check_id         TEXT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    at               INTEGER NOT NULL,
    kind             TEXT NOT NULL CHECK (kind IN ('success', 'fail', 'start', 'log')),
    accepted         INTEGER NOT NULL CHECK (accepted IN (0, 1)),
    exit_status      INTEGER,
    duration_ms      INTEGER,
    rid              TEXT,
    remote           TEXT NOT NULL,
    body             BLOB NOT NULL,
    body_length      INTEGER NOT NULL
) STRICT;
CREATE INDEX pings_check ON pings (check_id, id);
CREATE INDEX pings_rid ON pings (check_id, rid) WHERE rid IS NOT NULL;

CREATE TABLE flips (
    id          TEXT PRIMARY KEY,
    check_id    TEXT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    at          INTEGER NOT NULL,
    from_status TEXT NOT NULL,
    to_status   TEXT NOT NULL,
    reason      TEXT NOT NULL CHECK (reason IN ('timeout', 'fail', 'exit', 'recovered', 'first_ping'))
) STRICT;
CREATE INDEX flips_check ON flips (check_id, id);
