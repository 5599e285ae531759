-- Conversations and their messages.

CREATE TABLE conversations (
    ref                TEXT PRIMARY KEY,
    -- 'user:<id>' or 'anonymous:<session>'.
    owner              TEXT NOT NULL,
    -- The client's own id: unique for its owner only.
    id                 TEXT NOT NULL,
    title              TEXT NOT NULL,
    next_seq           INTEGER NOT NULL DEFAULT 1,
    next_action_number INTEGER NOT NULL DEFAULT 1,
    created_at         INTEGER NOT NULL,
    updated_at         INTEGER NOT NULL,
    CONSTRAINT conversations_owner_id UNIQUE (owner, id)
) STRICT;
CREATE INDEX conversations_recent ON conversations (owner, updated_at, ref);

CREATE TABLE messages (
    conversation   TEXT NOT NULL REFERENCES conversations (ref) ON DELETE CASCADE,
    id             TEXT NOT NULL,
    seq            INTEGER NOT NULL,
    role           TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    status         TEXT NOT NULL CHECK (status IN ('streaming', 'complete', 'interrupted', 'failed')),
    parts          TEXT NOT NULL,
    -- For an answer: the user message that it answers.
    reply_to       TEXT,
    -- A regenerated answer hides the one before it.
    replaced       INTEGER NOT NULL DEFAULT 0 CHECK (replaced IN (0, 1)),
    -- While streaming: who runs the turn proves to be alive until then, whether somebody reads, and whether to stop.
    lease_until    INTEGER,
    has_reader     INTEGER NOT NULL DEFAULT 0 CHECK (has_reader IN (0, 1)),
    stop_requested INTEGER NOT NULL DEFAULT 0 CHECK (stop_requested IN (0, 1)),
    -- A reader at another instance was there then.
    followed_at    INTEGER,
    model          TEXT,
    prompt_hash    TEXT,
    usage          TEXT,
    created_at     INTEGER NOT NULL,
    PRIMARY KEY (conversation, id),
    CONSTRAINT messages_seq UNIQUE (conversation, seq)
) STRICT;
-- One turn per conversation, whatever the code believes.
CREATE UNIQUE INDEX messages_one_turn ON messages (conversation) WHERE status = 'streaming';
