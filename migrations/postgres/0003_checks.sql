-- Checks, their pings and their flips.

CREATE TABLE checks (
    id                  TEXT PRIMARY KEY,
    account_id          TEXT NOT NULL REFERENCES accounts (id),
    ping_key            TEXT NOT NULL UNIQUE,
    name                TEXT NOT NULL,
    tags                JSONB NOT NULL,
    description         TEXT NOT NULL,
    period_seconds      BIGINT NOT NULL,
    grace_seconds       BIGINT NOT NULL,
    max_runtime_seconds BIGINT,
    status              TEXT NOT NULL CHECK (status IN ('new', 'up', 'down')),
    paused_at           BIGINT,
    paused_until        BIGINT,
    -- Moves on edits of the configuration only.
    config_version      BIGINT NOT NULL DEFAULT 1,
    -- The last ping accepted, success or fail.
    last_ping_at        BIGINT,
    -- The last accepted of each kind: what the floor is measured from.
    last_success_at     BIGINT,
    last_fail_at        BIGINT,
    last_start_at       BIGINT,
    last_log_at         BIGINT,
    -- A start that no success or fail has ended yet.
    started_at          BIGINT,
    -- When the next ping is due, and when the check goes down without one; both a hint of the row's other facts.
    due_at              BIGINT,
    deadline_at         BIGINT,
    rejected_count      BIGINT NOT NULL DEFAULT 0,
    last_rejected_at    BIGINT,
    created_at          BIGINT NOT NULL,
    CONSTRAINT checks_account_id_name UNIQUE (account_id, name)
) WITH (fillfactor = 70);
CREATE INDEX checks_deadline ON checks (deadline_at) WHERE deadline_at IS NOT NULL AND status <> 'down';
CREATE INDEX checks_paused_until ON checks (paused_until) WHERE paused_until IS NOT NULL;

CREATE TABLE pings (
    id               TEXT PRIMARY KEY,
    check_id         TEXT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    at               BIGINT NOT NULL,
    kind             TEXT NOT NULL CHECK (kind IN ('success', 'fail', 'start', 'log')),
    accepted         BOOLEAN NOT NULL,
    exit_status      BIGINT,
    duration_ms      BIGINT,
    rid              TEXT,
    remote           TEXT NOT NULL,
    body             BYTEA NOT NULL,
    body_length      BIGINT NOT NULL
);
CREATE INDEX pings_check ON pings (check_id, id);
CREATE INDEX pings_rid ON pings (check_id, rid) WHERE rid IS NOT NULL;

CREATE TABLE flips (
    id          TEXT PRIMARY KEY,
    check_id    TEXT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    at          BIGINT NOT NULL,
    from_status TEXT NOT NULL,
    to_status   TEXT NOT NULL,
    reason      TEXT NOT NULL CHECK (reason IN ('timeout', 'fail', 'exit', 'recovered', 'first_ping'))
);
CREATE INDEX flips_check ON flips (check_id, id);
