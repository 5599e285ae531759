//! Migrations, compiled in; the same numbers and names for both databases.

use sqlx::migrate::Migrator;
use sqlx::{Connection, Executor};

use super::{Db, DbError, Pools};

static SQLITE: Migrator = sqlx::migrate!("migrations/sqlite");
static POSTGRES: Migrator = sqlx::migrate!("migrations/postgres");

pub(super) async fn run(db: &Db) -> Result<(), DbError> {
    match &db.pools {
        Pools::Sqlite { write, .. } => SQLITE.run(write).await?,
        Pools::Postgres(pool) => {
            // The bounds of ordinary statements are no bounds for a migration, nor for waiting until another instance
            // has done it. The connection is not used for anything else.
            let mut connection = pool.acquire().await?.detach();
            connection.execute("SET lock_timeout = 0; SET statement_timeout = 0").await?;
            POSTGRES.run(&mut connection).await?;
            connection.close().await?;
        }
    }
    Ok(())
}

/// Every migration of this program must have been applied; newer ones are another instance's business.
pub(super) async fn check(db: &Db) -> Result<(), DbError> {
    let newest = SQLITE.iter().map(|migration| migration.version).max().unwrap_or(0);
    let sql = "SELECT coalesce(max(version), 0) FROM _sqlx_migrations WHERE success";
    let applied: i64 = crate::on_db!(db.read(), pool => sqlx::query_scalar(sql).fetch_one(pool).await)?;
    if applied < newest {
        return Err(DbError::Migrate(format!("the database is at {applied}, this program needs {newest}")));
    }
    Ok(())
}
