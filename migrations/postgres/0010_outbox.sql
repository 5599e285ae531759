-- Channels that go in steps, mail addresses that an account has once, and what a sender chooses by.

-- Gone for its owner; what was sent there goes in batches, and then the row.
ALTER TABLE channels ADD COLUMN deleted_at BIGINT;
CREATE INDEX channels_deleted ON channels (deleted_at) WHERE deleted_at IS NOT NULL;

-- A mail address without its case, so that an account has one mailbox once. Of those that are doubled already the
-- oldest has it.
ALTER TABLE channels ADD COLUMN mailbox TEXT;
UPDATE channels SET mailbox = lower(target) WHERE kind = 'email' AND NOT EXISTS
    (SELECT 1 FROM channels o WHERE o.account_id = channels.account_id AND o.kind = 'email'
        AND lower(o.target) = lower(channels.target) AND o.id < channels.id);
CREATE UNIQUE INDEX channels_mailbox ON channels (account_id, mailbox);

-- Which channels wait, and for what; and what is in somebody's hands.
CREATE INDEX deliveries_waiting ON deliveries (channel_id, next_attempt_at, id) WHERE status = 'pending';
CREATE INDEX deliveries_claimed ON deliveries (claimed_until) WHERE claimed_until IS NOT NULL;
-- Said in another way than above: with a choice between the two PostgreSQL, if it last saw nothing pending, would read
-- the whole backlog for each channel.
DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (next_attempt_at) WHERE finished_at IS NULL;
