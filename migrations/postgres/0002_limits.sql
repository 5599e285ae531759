-- One row per key: the times of its last admissions, newest first. No index on a time, so that updates stay in the page.

CREATE TABLE rate_limits (
    key       TEXT PRIMARY KEY,
    hits      BIGINT[] NOT NULL,
    refunds   BIGINT[] NOT NULL DEFAULT '{}',
    window_ms BIGINT NOT NULL
) WITH (fillfactor = 50);
