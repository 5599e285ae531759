-- Conversations and their messages.

CREATE TABLE conversations (
    ref                TEXT PRIMARY KEY,
    -- 'user:<id>' or 'anonymous:<session>'.
    owner              TEXT NOT NULL,
    -- The client's own id: unique for its owner only.
    id                 TEXT NOT NULL,
    title              TEXT NOT NULL,
    next_seq           BIGINT NOT NULL DEFAULT 1,
    next_action_number BIGINT NOT NULL DEFAULT 1,
    created_at         BIGINT NOT NULL,
    updated_at         BIGINT NOT NULL,
    CONSTRAINT conversations_owner_id UNIQUE (owner, id)
);
CREATE INDEX conversations_recent ON conversations (owner, updated_at, ref);

CREATE TABLE messages (
    conversation   TEXT NOT NULL REFERENCES conversations (ref) ON DELETE CASCADE,
    id             TEXT NOT NULL,
    seq            BIGINT NOT NULL,
    role           TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    status         TEXT NOT NULL CHECK (status IN ('streaming', 'complete', 'interrupted', 'failed')),
    parts          JSONB NOT NULL,
    -- For an answer: the user message that it answers.
    reply_to       TEXT,
    -- A regenerated answer hides the one before it.
    replaced       BOOLEAN NOT NULL DEFAULT false,
    -- While streaming: who runs the turn proves to be alive until then, whether somebody reads, and whether to stop.
    lease_until    BIGINT,
    has_reader     BOOLEAN NOT NULL DEFAULT false,
    stop_requested BOOLEAN NOT NULL DEFAULT false,
    -- A reader at another instance was there then.
    followed_at    BIGINT,
    model          TEXT,
    prompt_hash    TEXT,
    usage          JSONB,
    created_at     BIGINT NOT NULL,
    PRIMARY KEY (conversation, id),
    CONSTRAINT messages_seq UNIQUE (conversation, seq)
) WITH (fillfactor = 70);
-- One turn per conversation, whatever the code believes.
CREATE UNIQUE INDEX messages_one_turn ON messages (conversation) WHERE status = 'streaming';
