-- One row per key: the times of its last admissions, newest first. No index on a time, so that updates stay in the page.

CREATE TABLE rate_limits (
    key       TEXT PRIMARY KEY,
    hits      TEXT NOT NULL,
    refunds   TEXT NOT NULL DEFAULT '[]',
    window_ms INTEGER NOT NULL
) STRICT;
