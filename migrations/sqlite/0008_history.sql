-- What uptime is made of, what badges are found by, and how we notice that we ourselves were away.

-- One row. The mark says until when pings were surely taken in; NULL before the first instance has set it.
CREATE TABLE intake (
    id        INTEGER PRIMARY KEY CHECK (id = 1),
    marked_at INTEGER
) STRICT;
INSERT INTO intake (id, marked_at) VALUES (1, NULL);

-- Spans in which no instance took pings in: shown as "no data".
CREATE TABLE intake_gaps (
    id      TEXT PRIMARY KEY,
    from_at INTEGER NOT NULL,
    to_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX intake_gaps_to ON intake_gaps (to_at);

-- The flips of a span of time.
CREATE INDEX flips_check_at ON flips (check_id, at, id);

-- A secret of its own in the badge's URL (uuid v4), so that nothing leads from a badge to the ping URL.
ALTER TABLE checks ADD COLUMN badge_key TEXT;
UPDATE checks SET badge_key = lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4'
    || substr(hex(randomblob(2)), 2) || '-' || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2)
    || '-' || hex(randomblob(6)));
CREATE UNIQUE INDEX checks_badge_key ON checks (badge_key);
