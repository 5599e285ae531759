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

impl DbError {
    /// Whether the database could not be asked: the same statement may succeed later.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Sqlx(error) => !is_our_mistake(error),
            Self::CommitUnknown(_) | Self::Corrupt { .. } | Self::Migrate(_) | Self::ShuttingDown => false,
        }
    }
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

/// A statement that can never succeed is a bug, not an outage.
fn is_our_mistake(error: &sqlx::Error) -> bool {
    use sqlx::Error::{
        ColumnDecode, ColumnIndexOutOfBounds, ColumnNotFound, Decode, Encode, RowNotFound, TypeNotFound,
    };
    match error {
        ColumnDecode { .. }
        | ColumnIndexOutOfBounds { .. }
        | ColumnNotFound(_)
        | Decode(_)
        | Encode(_)
        | RowNotFound
        | TypeNotFound { .. } => true,
        sqlx::Error::Database(error) => {
            matches!(error.kind(), kind if kind != sqlx::error::ErrorKind::Other)
                || error.code().is_some_and(|code| code.starts_with("42") || code.starts_with("22"))
        }
        _ => false,
    }
}
