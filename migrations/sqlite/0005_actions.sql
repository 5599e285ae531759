-- What the assistant proposed, what a person decided, and that it happened once.

CREATE TABLE pending_actions (
    id                TEXT PRIMARY KEY,
    account_id        TEXT NOT NULL REFERENCES accounts (id),
    -- No foreign key: deleting a conversation keeps what was done in it.
    conversation      TEXT NOT NULL,
    conversation_id   TEXT NOT NULL,
    number            INTEGER NOT NULL,
    kind              TEXT NOT NULL,
    effect            TEXT NOT NULL,
    preview           TEXT NOT NULL,
    check_id          TEXT,
    config_version    INTEGER,
    digest            TEXT NOT NULL,
    status            TEXT NOT NULL CHECK
        (status IN ('PENDING', 'CLAIMED', 'EXECUTED', 'FAILED', 'REJECTED', 'EXPIRED', 'SUPERSEDED')),
    created_at        INTEGER NOT NULL,
    expires_at        INTEGER NOT NULL,
    decided_at        INTEGER,
    decided_via       TEXT CHECK (decided_via IN ('button', 'typed', 'api')),
    outcome           TEXT,
    CONSTRAINT pending_actions_number UNIQUE (conversation, number)
) STRICT;
CREATE INDEX pending_actions_account ON pending_actions (account_id, id);
CREATE INDEX pending_actions_open ON pending_actions (expires_at) WHERE status = 'PENDING';

CREATE INDEX pending_actions_expired ON pending_actions (decided_at) WHERE status = 'EXPIRED';

-- Makes a second effect impossible even for code that forgot the claim.
CREATE TABLE action_effects (
    action_id TEXT PRIMARY KEY REFERENCES pending_actions (id),
    at        INTEGER NOT NULL
) STRICT;

-- Every transition, once each: who, how, what was shown, when.
CREATE TABLE audit_log (
    action_id TEXT NOT NULL REFERENCES pending_actions (id),
    event     TEXT NOT NULL CHECK (event IN ('PROPOSED', 'EXECUTED', 'FAILED', 'REJECTED', 'EXPIRED', 'SUPERSEDED')),
    at        INTEGER NOT NULL,
    actor     TEXT NOT NULL,
    via       TEXT,
    digest    TEXT NOT NULL,
    PRIMARY KEY (action_id, event)
) STRICT;
