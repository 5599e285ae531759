-- What takes an executed action back, and which action left a check in which version.

ALTER TABLE pending_actions ADD COLUMN inverse JSONB CHECK (inverse IS NULL OR status = 'EXECUTED');

CREATE TABLE action_edits (
    check_id       TEXT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    -- As the action left it. A check of another version was edited since.
    config_version BIGINT NOT NULL,
    action_id      TEXT NOT NULL REFERENCES pending_actions (id),
    PRIMARY KEY (check_id, config_version)
);
