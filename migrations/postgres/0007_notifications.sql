-- Where alerts go, and the outbox of alerts: written with the change that they tell of, sent afterwards.

CREATE TABLE channels (
    id         TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    kind       TEXT NOT NULL CHECK (kind IN ('webhook', 'slack', 'email')),
    name       TEXT NOT NULL,
    -- A URL or a mail address.
    target     TEXT NOT NULL,
    -- What a webhook's messages are signed with.
    secret     TEXT CHECK ((kind = 'webhook') = (secret IS NOT NULL)),
    created_at BIGINT NOT NULL,
    CONSTRAINT channels_account_id_name UNIQUE (account_id, name)
);

CREATE TABLE check_channels (
    check_id   TEXT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    channel_id TEXT NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    PRIMARY KEY (check_id, channel_id)
);
CREATE INDEX check_channels_channel ON check_channels (channel_id);

CREATE TABLE deliveries (
    -- What the receiver sees, the same at every attempt.
    id              TEXT PRIMARY KEY CHECK (length(id) = 36),
    account_id      TEXT NOT NULL REFERENCES accounts (id),
    channel_id      TEXT NOT NULL REFERENCES channels (id) ON DELETE CASCADE,
    -- No foreign keys: an alert outlives its check and its flip. A test has neither.
    check_id        TEXT,
    flip_id         TEXT,
    -- Of a reminder: when it was due. Else 0.
    reminder        BIGINT NOT NULL DEFAULT 0,
    event           TEXT NOT NULL CHECK (event IN ('check.down', 'check.up', 'check.reminder', 'channel.test')),
    payload         JSONB NOT NULL,
    status          TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'failed')),
    -- Counted when an attempt begins; who finishes one must name its number.
    attempts        BIGINT NOT NULL DEFAULT 0,
    next_attempt_at BIGINT NOT NULL,
    -- Somebody is at it until then.
    claimed_until   BIGINT,
    created_at      BIGINT NOT NULL,
    finished_at     BIGINT,
    last_error      TEXT,
    CONSTRAINT deliveries_once UNIQUE (flip_id, channel_id, reminder)
) WITH (fillfactor = 70);
CREATE INDEX deliveries_due ON deliveries (next_attempt_at) WHERE status = 'pending';
CREATE INDEX deliveries_channel ON deliveries (channel_id, id);
CREATE INDEX deliveries_check ON deliveries (check_id, id);
CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL;

-- So many fails in a row take a check down; a timeout does at once.
ALTER TABLE checks ADD COLUMN alert_after_failures BIGINT NOT NULL DEFAULT 1;
ALTER TABLE checks ADD COLUMN failures_in_row BIGINT NOT NULL DEFAULT 0;
-- While down its channels are told again this often, and next at remind_at.
ALTER TABLE checks ADD COLUMN reminder_seconds BIGINT;
ALTER TABLE checks ADD COLUMN remind_at BIGINT;
CREATE INDEX checks_remind ON checks (remind_at) WHERE remind_at IS NOT NULL;
