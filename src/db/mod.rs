//! The two databases behind one handle, and the only way to write a transaction.

mod error;
mod migrate;
mod open;

use std::future::Future;

use futures::future::BoxFuture;
use sqlx::{PgConnection, PgPool, Postgres, Sqlite, SqliteConnection, SqlitePool, Transaction};
use tokio_util::task::TaskTracker;

pub use error::{DbError, is_unique_violation};
pub use open::open;

/// One value for each database. `on_db!` runs one text on either; where they must differ there is a visible `match`.
pub enum On<S, P> {
    /// SQLite's.
    Sqlite(S),
    /// PostgreSQL's.
    Postgres(P),
}

/// Runs the same expression on whichever database it is. The two drivers have different types,
/// so the expression is compiled twice; that is all the macro does.
#[macro_export]
macro_rules! on_db {
    ($on:expr, $executor:ident => $run:expr) => {
        match $on {
            $crate::db::On::Sqlite($executor) => $run,
            $crate::db::On::Postgres($executor) => $run,
        }
    };
}

/// An open database.
#[derive(Clone)]
pub struct Db {
    pools: Pools,
    /// Write transactions run here, so that a caller that leaves cancels none of them.
    tasks: TaskTracker,
}

#[derive(Clone)]
enum Pools {
    /// One writer and a few readers: with eight writers SQLite managed 118 racing claims/s, with one 7,306/s.
    Sqlite {
        write: SqlitePool,
        read: SqlitePool,
    },
    Postgres(PgPool),
}

/// A write transaction.
pub enum Tx {
    /// Begun with `BEGIN IMMEDIATE`.
    Sqlite(Transaction<'static, Sqlite>),
    /// READ COMMITTED.
    Postgres(Transaction<'static, Postgres>),
}

impl Tx {
    /// The connection to run statements on.
    pub fn on(&mut self) -> On<&mut SqliteConnection, &mut PgConnection> {
        match self {
            Self::Sqlite(tx) => On::Sqlite(&mut **tx),
            Self::Postgres(tx) => On::Postgres(&mut **tx),
        }
    }

    async fn commit(self) -> Result<(), DbError> {
        let committed = match self {
            Self::Sqlite(tx) => tx.commit().await,
            Self::Postgres(tx) => tx.commit().await,
        };
        // Whether it happened is not known: the reply may be what was lost. Callers read the row again.
        committed.map_err(DbError::CommitUnknown)
    }

    async fn rollback(self) {
        let rolled_back = match self {
            Self::Sqlite(tx) => tx.rollback().await,
            Self::Postgres(tx) => tx.rollback().await,
        };
        if let Err(error) = rolled_back {
            // The pool's hook refuses or mends the connection before anybody else gets it.
            tracing::warn!(%error, "rollback failed");
        }
    }
}

impl Db {
    /// For reads, each statement on its own.
    pub fn read(&self) -> On<&SqlitePool, &PgPool> {
        match &self.pools {
            Pools::Sqlite { read, .. } => On::Sqlite(read),
            Pools::Postgres(pool) => On::Postgres(pool),
        }
    }

    /// For a single writing statement that is its own transaction.
    pub fn autocommit(&self) -> On<&SqlitePool, &PgPool> {
        match &self.pools {
            Pools::Sqlite { write, .. } => On::Sqlite(write),
            Pools::Postgres(pool) => On::Postgres(pool),
        }
    }

    /// Runs `work` in one write transaction and commits if it returns `Ok`, else rolls back.
    ///
    /// The transaction runs in a tracked task that the caller only awaits: a client that leaves neither cancels the
    /// write nor leaves a pooled connection inside a transaction (a cancelled `begin` would, in sqlx 0.9).
    ///
    /// # Errors
    /// The work's own error, or [`DbError`]. [`DbError::CommitUnknown`] means that the row must be read again.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, E>> + Send + 'static,
    {
        let pools = self.pools.clone();
        self.detached(async move {
            let mut tx = begin_write(&pools).await?;
            match work(&mut tx).await {
                Ok(value) => {
                    tx.commit().await?;
                    Ok(value)
                }
                Err(error) => {
                    tx.rollback().await;
                    Err(error)
                }
            }
        })
        .await
    }

    /// Runs `work` to its end even when the caller leaves.
    pub async fn detached<T, E>(&self, work: impl Future<Output = Result<T, E>> + Send + 'static) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DbError> + Send + 'static,
    {
        match self.tasks.spawn(work).await {
            Ok(result) => result,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(DbError::ShuttingDown.into()),
        }
    }

    /// Applies the migrations that are missing.
    pub async fn migrate(&self) -> Result<(), DbError> {
        migrate::run(self).await
    }

    /// Whether the database answers and has the schema this program was built with.
    pub async fn check_ready(&self) -> Result<(), DbError> {
        migrate::check(self).await
    }

    /// The database's own time in milliseconds, where several instances share it; `None` on SQLite.
    pub async fn shared_time(&self) -> Result<Option<i64>, DbError> {
        match &self.pools {
            Pools::Sqlite { .. } => Ok(None),
            Pools::Postgres(pool) => {
                let sql = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)";
                Ok(Some(sqlx::query_scalar(sql).fetch_one(pool).await?))
            }
        }
    }

    /// Whether only this process can be using the database's running turns: true on SQLite.
    pub fn is_embedded(&self) -> bool {
        matches!(self.pools, Pools::Sqlite { .. })
    }

    /// Waits for the writes under way and closes the connections.
    pub async fn close(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        match &self.pools {
            Pools::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }
}

/// SQLite must begin with `IMMEDIATE`: a deferred transaction that has read fails at once with "database is locked"
/// when it comes to write.
async fn begin_write(pools: &Pools) -> Result<Tx, DbError> {
    Ok(match pools {
        Pools::Sqlite { write, .. } => Tx::Sqlite(write.begin_with("BEGIN IMMEDIATE").await?),
        Pools::Postgres(pool) => Tx::Postgres(pool.begin().await?),
    })
}
