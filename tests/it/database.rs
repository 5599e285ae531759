//! A database of its own for each test: a SQLite file, or a PostgreSQL database on the server of `TEST_POSTGRES_URL`.

use std::env;

use flatline::db::{Db, open};
use sqlx::{Connection, Executor, PgConnection};
use tempfile::TempDir;
use uuid::Uuid;

/// Which database a case runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
}

/// Makes two tests, `<case>::sqlite` and `<case>::postgres`, of each case.
#[macro_export]
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $case:ident($kind:ident) $body:block)+) => {$(
        mod $case {
            use super::*;

            $(#[$meta])*
            async fn case($kind: $crate::database::Kind) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn sqlite() {
                case($crate::database::Kind::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn postgres() {
                if !$crate::database::postgres_is_skipped() {
                    case($crate::database::Kind::Postgres).await;
                }
            }
        }
    )+};
}

/// The one way out of running a case on PostgreSQL, and it says so.
pub fn postgres_is_skipped() -> bool {
    let skipped = env::var("SKIP_POSTGRES").is_ok_and(|value| value == "1");
    if skipped {
        eprintln!("not run on PostgreSQL, because SKIP_POSTGRES=1");
    }
    skipped
}

/// A migrated, empty database that is gone when this is dropped.
pub struct Fresh {
    pub db: Db,
    /// For opening it a second time, as another instance would.
    pub url: String,
    _remover: Remover,
}

/// A place for a database that nothing has opened yet; what is there is gone when this is dropped.
pub struct Place {
    pub url: String,
    remover: Remover,
}

/// What there is to remove.
enum Remover {
    Folder { _folder: TempDir },
    Database { server: String, name: String },
}

/// Makes a database.
pub async fn fresh(kind: Kind) -> Fresh {
    let Place { url, remover } = place(kind).await;
    let db = open(&url).await.expect("the database opens");
    db.migrate().await.expect("the migrations run");
    Fresh { db, url, _remover: remover }
}

/// A file that is not there yet, or an empty PostgreSQL database.
pub async fn place(kind: Kind) -> Place {
    let (url, remover) = match kind {
        Kind::Sqlite => {
            let folder = tempfile::tempdir().expect("a temporary folder");
            (format!("sqlite://{}/flatline.db", folder.path().display()), Remover::Folder { _folder: folder })
        }
        Kind::Postgres => {
            let server = env::var("TEST_POSTGRES_URL").unwrap_or_else(|_| {
                panic!(
                    "TEST_POSTGRES_URL must name a PostgreSQL server to test on (or set SKIP_POSTGRES=1 to go without)"
                )
            });
            let name = format!("flatline_{}", Uuid::new_v4().simple());
            run_on(&server, &format!("CREATE DATABASE {name}")).await;
            (with_database(&server, &name), Remover::Database { server, name })
        }
    };
    Place { url, remover }
}

async fn run_on(server: &str, sql: &str) {
    let mut connection = PgConnection::connect(server).await.expect("the server of TEST_POSTGRES_URL answers");
    connection.execute(sqlx::AssertSqlSafe(sql)).await.expect(sql);
    connection.close().await.expect("the connection closes");
}

/// `server`'s URL with another database in it.
fn with_database(server: &str, name: &str) -> String {
    let (base, options) = server.split_once('?').map_or((server, String::new()), |(base, o)| (base, format!("?{o}")));
    let authority = base.find("://").map_or(0, |at| at + 3);
    let end = base[authority..].find('/').map_or(base.len(), |at| authority + at);
    format!("{}/{name}{options}", &base[..end])
}

impl Drop for Remover {
    fn drop(&mut self) {
        let Self::Database { server, name } = self else { return };
        let (server, sql) = (server.clone(), format!("DROP DATABASE {name} WITH (FORCE)"));
        // A drop cannot await, and the test's own runtime may be the one that is ending.
        let removal = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(run_on(&server, &sql));
        });
        // A failure was printed by the thread; panicking while a test unwinds would hide why.
        let _ = removal.join();
    }
}

#[test]
fn the_database_is_swapped_in_a_url() {
    assert_eq!(with_database("postgres://u@h:1/postgres", "x"), "postgres://u@h:1/x");
    assert_eq!(with_database("postgres://u:p@h:1", "x"), "postgres://u:p@h:1/x");
    assert_eq!(with_database("postgres:///postgres?host=/tmp", "x"), "postgres:///x?host=/tmp");
}
