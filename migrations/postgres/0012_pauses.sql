-- When a check was paused: its uptime says nothing of these times. One that goes on has no end yet.

CREATE TABLE pauses (
    id       TEXT PRIMARY KEY,
    check_id TEXT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    from_at  BIGINT NOT NULL,
    to_at    BIGINT
);
CREATE INDEX pauses_check ON pauses (check_id, to_at);
CREATE INDEX pauses_to ON pauses (to_at);

INSERT INTO pauses (id, check_id, from_at, to_at)
SELECT id, id, paused_at, paused_until FROM checks WHERE paused_at IS NOT NULL;
