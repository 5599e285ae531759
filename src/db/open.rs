//! Opening either database with the settings that its promises need.

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Executor, SqlitePool};
use tokio_util::task::TaskTracker;

use super::{Db, DbError, Pools};

/// A caller waits this long for PostgreSQL; with the statement it must stay within the 2 s in which a database that is
/// down is answered 503 (limits.md).
const ACQUIRE_TIMEOUT: Duration = Duration::from_millis(1_800);
/// A caller waits this long for SQLite's one writer. A file that is away fails at once, so this is only a queue.
const WRITER_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections to PostgreSQL per instance.
const POSTGRES_CONNECTIONS: u32 = 16;
/// Reading connections on SQLite, beside the one writer.
const SQLITE_READERS: u32 = 4;
/// The first SQLite without the WAL-reset bug, as `sqlite3_libversion_number` counts.
const OLDEST_SQLITE: (u32, u32, u32) = (3, 51, 3);

/// Opens `url` (`sqlite://…` or `postgres://…`). Creates the SQLite file; does not migrate.
///
/// # Errors
/// When the URL is of neither kind, the database does not answer, or the SQLite library is too old.
pub async fn open(url: &str) -> Result<Db, DbError> {
    let pools = if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        Pools::Postgres(open_postgres(url).await?)
    } else {
        open_sqlite(url).await?
    };
    Ok(Db { pools, tasks: TaskTracker::new() })
}

async fn open_postgres(url: &str) -> Result<sqlx::PgPool, DbError> {
    let options = PgConnectOptions::from_str(url)?.application_name("flatline").disable_statement_logging().options([
        ("lock_timeout", "1500"),
        ("statement_timeout", "5000"),
        ("idle_in_transaction_session_timeout", "15000"),
        ("default_transaction_isolation", "read committed"),
        // The hook below rolls back where there is nothing to roll back; that is no news.
        ("client_min_messages", "error"),
    ]);
    let pool = PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        // The hook is a round trip that fails on a dead connection; a ping on top would be a second one.
        .test_before_acquire(false)
        .before_acquire(|connection, _| {
            // A cancelled begin leaves a connection inside an open transaction (transact-rs/sqlx#4393).
            Box::pin(async move { connection.execute("ROLLBACK").await.map(|_| true) })
        })
        .connect_with(options)
        .await?;
    Ok(pool)
}

async fn open_sqlite(url: &str) -> Result<Pools, DbError> {
    let options = SqliteConnectOptions::from_str(url)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // FULL costs about 11 %, and a confirmed change survives a power cut.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        // Only another process (a command beside the server) can hold the lock.
        .busy_timeout(Duration::from_millis(1_500))
        .disable_statement_logging();
    let write = sqlite_pool(1).connect_with(options.clone()).await?;
    check_sqlite_version(&write).await?;
    let read = sqlite_pool(SQLITE_READERS).connect_with(options.read_only(true)).await?;
    Ok(Pools::Sqlite { write, read })
}

fn sqlite_pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(WRITER_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .before_acquire(|connection, _| {
            // One disk-full error leaves a connection failing every later begin: drop it.
            let usable = !connection.is_in_transaction();
            Box::pin(async move { Ok(usable) })
        })
}

async fn check_sqlite_version(pool: &SqlitePool) -> Result<(), DbError> {
    let version: String = sqlx::query_scalar("SELECT sqlite_version()").fetch_one(pool).await?;
    let mut numbers = version.split('.').map(|n| n.parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    if (next(), next(), next()) < OLDEST_SQLITE {
        return Err(DbError::Migrate(format!(
            "SQLite {version} is older than 3.51.3, which mends a bug that loses data"
        )));
    }
    Ok(())
}
