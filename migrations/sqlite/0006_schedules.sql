-- Schedules by the clock beside periods; what a schedule counts from; runs that have not ended.

ALTER TABLE checks RENAME COLUMN period_seconds TO period_before;
ALTER TABLE checks ADD COLUMN period_seconds INTEGER;
UPDATE checks SET period_seconds = period_before;
ALTER TABLE checks DROP COLUMN period_before;
ALTER TABLE checks ADD COLUMN cron TEXT CHECK ((cron IS NULL) = (period_seconds IS NOT NULL));
ALTER TABLE checks ADD COLUMN timezone TEXT CHECK ((timezone IS NULL) = (cron IS NULL));
-- The moment that due_at follows: the last success, or the end of a pause.
ALTER TABLE checks ADD COLUMN counted_from INTEGER;
UPDATE checks SET counted_from = due_at - 1000 * CASE
    WHEN period_seconds < 300 AND (SELECT tier FROM accounts WHERE id = account_id) = 'free' THEN 300
    ELSE period_seconds END
WHERE due_at IS NOT NULL;
-- The earliest deadline of the runs that have an id and have not ended.
ALTER TABLE checks ADD COLUMN runs_deadline_at INTEGER;

CREATE TABLE runs (
    check_id    TEXT NOT NULL REFERENCES checks (id) ON DELETE CASCADE,
    rid         TEXT NOT NULL,
    started_at  INTEGER NOT NULL,
    deadline_at INTEGER NOT NULL,
    PRIMARY KEY (check_id, rid)
) STRICT;
