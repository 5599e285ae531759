-- What the assistant proposed, what a person decided, and that it happened once.

CREATE TABLE pending_actions (
    id                TEXT PRIMARY KEY,
    account_id        TEXT NOT NULL REFERENCES accounts (id),
    -- No foreign key: deleting a conversation keeps what was done in it.
    conversation      TEXT NOT NULL,
    conversation_id   TEXT NOT NULL,
    number            BIGINT NOT NULL,
    kind              TEXT NOT NULL,
    effect            JSONB NOT NULL,
    preview           JSONB NOT NULL,
    check_id          TEXT,
    config_version    BIGINT,
    digest            TEXT NOT NULL,
    status            TEXT NOT NULL CHECK
        (status IN ('PENDING', 'CLAIMED', 'EXECUTED', 'FAILED', 'REJECTED', 'EXPIRED', 'SUPERSEDED')),
    created_at        BIGINT NOT NULL,
    expires_at        BIGINT NOT NULL,
    decided_at        BIGINT,
    decided_via       TEXT CHECK (decided_via IN ('button', 'typed', 'api')),
    outcome           JSONB,
    CONSTRAINT pending_actions_number UNIQUE (conversation, number)
);
CREATE INDEX pending_actions_account ON pending_actions (account_id, id);
CREATE INDEX pending_actions_open ON pending_actions (expires_at) WHERE status = 'PENDING';

CREATE INDEX pending_actions_expired ON pending_actions (decided_at) WHERE status = 'EXPIRED';

-- Makes a second effect impossible even for code that forgot the claim.
CREATE TABLE action_effects (
    action_id TEXT PRIMARY KEY REFERENCES pending_actions (id),
    at        BIGINT NOT NULL
);

-- Every transition, once each: who, how, what was shown, when.
CREATE TABLE audit_log (
    action_id TEXT NOT NULL REFERENCES pending_actions (id),
    event     TEXT NOT NULL CHECK (event IN ('PROPOSED', 'EXECUTED', 'FAILED', 'REJECTED', 'EXPIRED', 'SUPERSEDED')),
    at        BIGINT NOT NULL,
    actor     TEXT NOT NULL,
    via       TEXT,
    digest    TEXT NOT NULL,
    PRIMARY KEY (action_id, event)
);
