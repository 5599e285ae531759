//! The rows of the limiter: one upsert is the whole decision.

use sqlx::types::Json;
use sqlx::{PgPool, Row, SqlitePool};

use super::Charge;
use crate::clock::Millis;
use crate::db::{Db, DbError, On, Tx};

/// A stamp further ahead than this counts as now: the clock was set back.
const FUTURE_MS: i64 = 60_000;

/// The columns are an array on PostgreSQL and a JSON text on SQLite, hence two texts.
///
/// Admit if the Nth newest is missing or a window old; stamps are `max(now, newest + 1)`, so each is unique and can
/// be given back by itself.
const ADMIT_SQLITE: &str = "INSERT INTO rate_limits AS q (key, hits, window_ms) VALUES ($1, json_array($2), $4)
    ON CONFLICT (key) DO UPDATE SET window_ms = excluded.window_ms, hits =
        (SELECT json_group_array(h ORDER BY n) FROM (
            SELECT max($2, coalesce(json_extract(q.hits, '$[0]') + 1, 0)) AS h, -1 AS n
            UNION ALL SELECT value, key FROM json_each(q.hits) WHERE key < $3 - 1))
    WHERE coalesce(json_extract(q.hits, '$[' || ($3 - 1) || ']') <= $2 - $4, true)
    RETURNING hits";
const ADMIT_POSTGRES: &str = "INSERT INTO rate_limits AS q (key, hits, window_ms) VALUES ($1, ARRAY[$2], $4)
    ON CONFLICT (key) DO UPDATE SET window_ms = excluded.window_ms, hits =
        (array_prepend(greatest($2, coalesce(q.hits[1] + 1, 0)), q.hits))[1:$3]
    WHERE coalesce(q.hits[$3] <= $2 - $4, true)
    RETURNING hits";

/// Records an admission and returns all stamps, newest first; `None` if the limit refuses it.
pub(super) async fn admit(
    on: On<&SqlitePool, &PgPool>,
    charge: &Charge,
    now: Millis,
) -> Result<Option<Vec<Millis>>, DbError> {
    let (limit, window) = numbers(charge);
    match on {
        On::Sqlite(pool) => {
            let query = sqlx::query(ADMIT_SQLITE).bind(&charge.key).bind(now).bind(limit).bind(window);
            // All rows, though there is one: SQLite commits when the statement has ended, and its failure must be heard.
            query.fetch_all(pool).await?.first().map(json_hits).transpose()
        }
        On::Postgres(pool) => {
            // In an array index PostgreSQL wants its own INTEGER.
            let limit = i32::try_from(limit).unwrap_or(i32::MAX);
            let query = sqlx::query(ADMIT_POSTGRES).bind(&charge.key).bind(now).bind(limit).bind(window);
            query.fetch_optional(pool).await?.map(|row| array_hits(&row)).transpose()
        }
    }
}

/// [`admit`] inside a transaction.
pub(super) async fn admit_in(tx: &mut Tx, charge: &Charge, now: Millis) -> Result<Option<Vec<Millis>>, DbError> {
    let (limit, window) = numbers(charge);
    match tx.on() {
        On::Sqlite(connection) => {
            let query = sqlx::query(ADMIT_SQLITE).bind(&charge.key).bind(now).bind(limit).bind(window);
            query.fetch_optional(connection).await?.map(|row| json_hits(&row)).transpose()
        }
        On::Postgres(connection) => {
            let limit = i32::try_from(limit).unwrap_or(i32::MAX);
            let query = sqlx::query(ADMIT_POSTGRES).bind(&charge.key).bind(now).bind(limit).bind(window);
            query.fetch_optional(connection).await?.map(|row| array_hits(&row)).transpose()
        }
    }
}

/// The stamps of a key, newest first.
pub(super) async fn find_hits(db: &Db, key: &str) -> Result<Vec<Millis>, DbError> {
    let sql = "SELECT hits FROM rate_limits WHERE key = $1";
    let hits = match db.read() {
        On::Sqlite(pool) => {
            sqlx::query(sql).bind(key).fetch_optional(pool).await?.map(|row| json_hits(&row)).transpose()?
        }
        On::Postgres(pool) => {
            sqlx::query(sql).bind(key).fetch_optional(pool).await?.map(|row| array_hits(&row)).transpose()?
        }
    };
    Ok(hits.unwrap_or_default())
}

/// Whether a stamp can only come from a clock that was set back since.
pub(super) fn is_far_future(stamp: Millis, now: Millis) -> bool {
    stamp.0 > now.0 + FUTURE_MS
}

/// Writes stamps of the far future down as now.
pub(super) async fn clamp_future(db: &Db, key: &str, now: Millis) -> Result<(), DbError> {
    match db.autocommit() {
        On::Sqlite(pool) => {
            let sql =
                "UPDATE rate_limits SET hits = (SELECT json_group_array(CASE WHEN value > $2 + $3 THEN $2 ELSE value
                END ORDER BY key) FROM json_each(hits)) WHERE key = $1";
            sqlx::query(sql).bind(key).bind(now).bind(FUTURE_MS).execute(pool).await?;
        }
        On::Postgres(pool) => {
            let sql = "UPDATE rate_limits SET hits = ARRAY(SELECT CASE WHEN h > $2 + $3 THEN $2 ELSE h END
                FROM unnest(hits) WITH ORDINALITY AS t (h, n) ORDER BY n) WHERE key = $1";
            sqlx::query(sql).bind(key).bind(now).bind(FUTURE_MS).execute(pool).await?;
        }
    }
    Ok(())
}

/// Removes one stamp, and records that, at most `limit` times per window.
pub(super) async fn refund(db: &Db, charge: &Charge, stamp: Millis, now: Millis) -> Result<bool, DbError> {
    let (limit, window) = numbers(charge);
    let changed = match db.autocommit() {
        On::Sqlite(pool) => {
            let sql = "UPDATE rate_limits SET
                hits = (SELECT json_group_array(value ORDER BY key) FROM json_each(hits) WHERE value <> $5),
                refunds = (SELECT json_group_array(h ORDER BY n) FROM (SELECT $2 AS h, -1 AS n
                    UNION ALL SELECT value, key FROM json_each(refunds) WHERE key < $3 - 1))
                WHERE key = $1 AND EXISTS (SELECT 1 FROM json_each(hits) WHERE value = $5)
                AND coalesce(json_extract(refunds, '$[' || ($3 - 1) || ']') <= $2 - $4, true)";
            let query = sqlx::query(sql).bind(&charge.key).bind(now).bind(limit).bind(window).bind(stamp);
            query.execute(pool).await?.rows_affected()
        }
        On::Postgres(pool) => {
            let sql =
                "UPDATE rate_limits SET hits = array_remove(hits, $5), refunds = (array_prepend($2, refunds))[1:$3]
                WHERE key = $1 AND $5 = ANY (hits) AND coalesce(refunds[$3] <= $2 - $4, true)";
            let limit = i32::try_from(limit).unwrap_or(i32::MAX);
            let query = sqlx::query(sql).bind(&charge.key).bind(now).bind(limit).bind(window).bind(stamp);
            query.execute(pool).await?.rows_affected()
        }
    };
    Ok(changed == 1)
}

/// Removes one stamp as if it had never been recorded.
pub(super) async fn remove(db: &Db, charge: &Charge, stamp: Millis) -> Result<(), DbError> {
    match db.autocommit() {
        On::Sqlite(pool) => {
            let sql = "UPDATE rate_limits SET hits =
                (SELECT json_group_array(value ORDER BY key) FROM json_each(hits) WHERE value <> $2) WHERE key = $1";
            sqlx::query(sql).bind(&charge.key).bind(stamp).execute(pool).await?;
        }
        On::Postgres(pool) => {
            let sql = "UPDATE rate_limits SET hits = array_remove(hits, $2) WHERE key = $1";
            sqlx::query(sql).bind(&charge.key).bind(stamp).execute(pool).await?;
        }
    }
    Ok(())
}

/// Deletes the rows that decide nothing any more. Scans: run it hourly.
pub async fn delete_dead(db: &Db, now: Millis) -> Result<u64, DbError> {
    Ok(match db.autocommit() {
        On::Sqlite(pool) => {
            let sql = "DELETE FROM rate_limits WHERE coalesce(json_extract(hits, '$[0]') <= $1 - window_ms, true)
                AND coalesce(json_extract(refunds, '$[0]') <= $1 - window_ms, true)";
            sqlx::query(sql).bind(now).execute(pool).await?.rows_affected()
        }
        On::Postgres(pool) => {
            let sql = "DELETE FROM rate_limits WHERE coalesce(hits[1] <= $1 - window_ms, true)
                AND coalesce(refunds[1] <= $1 - window_ms, true)";
            sqlx::query(sql).bind(now).execute(pool).await?.rows_affected()
        }
    })
}

fn numbers(charge: &Charge) -> (i64, i64) {
    let window = i64::try_from(charge.policy.window.as_millis()).unwrap_or(i64::MAX);
    (i64::from(charge.policy.limit), window)
}

fn json_hits(row: &sqlx::sqlite::SqliteRow) -> Result<Vec<Millis>, DbError> {
    let Json(hits): Json<Vec<i64>> = row.try_get("hits")?;
    Ok(hits.into_iter().map(Millis).collect())
}

fn array_hits(row: &sqlx::postgres::PgRow) -> Result<Vec<Millis>, DbError> {
    let hits: Vec<i64> = row.try_get("hits")?;
    Ok(hits.into_iter().map(Millis).collect())
}
