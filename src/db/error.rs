//! How the database can fail, as far as callers act differently on it.

/// A failed statement, transaction or stored value.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// The statement failed, or no connection could be had in time.
    #[error("database: {0}")]
    Sqlx(#[from] sqlx::Error),
    /// The reply to COMMIT was lost: it may or may not have happened. Read the row on a fresh connection.
    #[error("commit state unknown: {0}")]
    CommitUnknown(sqlx::Error),
    /// A stored value is none that this program writes.
    #[error("{table}.{column} of {row} holds {value:?}")]
    Corrupt {
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
        /// The row's key.
        row: String,
        /// What stands there.
        value: String,
    },
    /// The migrations in the database are not the ones of this program.
    #[error("migrations: {0}")]
    Migrate(String),
    /// The process is stopping and took no more work.
    #[error("shutting down")]
    ShuttingDown,
}

impl From<sqlx::migrate::MigrateError> for DbError {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        Self::Migrate(error.to_string())
    }
}

/// Whether a statement failed on a unique index whose name or columns contain `name`.
pub fn is_unique_violation(error: &sqlx::Error, name: &str) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    // PostgreSQL names the constraint, SQLite the columns ("checks.account_id, checks.name").
    error.is_unique_violation()
        && (error.constraint().is_some_and(|c| c.contains(name)) || error.message().contains(name))
}
