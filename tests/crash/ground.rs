//! What is left when a process dies: a database, a working folder, and the settings that the next process gets.

use std::process::Command;
use std::time::Duration;

use flatline::db::{Db, open};
use flatline::on_db;
use reqwest::Client;
use tempfile::TempDir;

use crate::child::Child;
use crate::database::{Kind, Place, place};
use crate::provider::FakeProvider;
use crate::site::client;

/// A working folder and a database that outlive the processes that use them.
pub struct Ground {
    /// The working folder of every process.
    pub folder: TempDir,
    /// The database, and nothing that has it open.
    pub place: Place,
    kind: Kind,
    settings: Vec<(&'static str, String)>,
    client: Client,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Ground {
    /// An empty database and folder; any free port, no flood guard, no sweep.
    pub async fn new(kind: Kind) -> Self {
        let place = place(kind).await;
        let settings = vec![
            ("DATABASE_URL", place.url.clone()),
            ("FLATLINE_ADDR", "127.0.0.1:0".to_owned()),
            ("FLATLINE_FLOOD_LIMIT", "off".to_owned()),
            ("FLATLINE_SWEEP_INTERVAL", "1h".to_owned()),
        ];
        Self { folder: tempfile::tempdir().unwrap(), place, kind, settings, client: client() }
    }

    /// Another setting; the last one of a name counts.
    pub fn set(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.settings.push((name, value.into()));
        self
    }

    /// The model that answers.
    pub fn provider(self, provider: &FakeProvider) -> Self {
        self.set("OPENAI_BASE_URL", provider.base_url())
    }

    /// The program with these arguments, and no environment but the settings.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = bare_command(&self.folder, arguments);
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command to its end.
    pub async fn run(&self, arguments: &[&str]) -> Ended {
        run(self.command(arguments)).await
    }

    /// Runs a command that must succeed without a word on standard error; returns what it printed.
    pub async fn print(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments).await;
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{arguments:?}: {ended:?}");
        ended.stdout
    }

    /// A new API token of a user that is there.
    pub async fn token(&self, user: &str) -> String {
        self.print(&["token", "create", user]).await.trim_end().to_owned()
    }

    /// Serves, and waits for the two lines.
    pub async fn serve(&self) -> Child {
        Child::start(self.command(&[]), self.client.clone()).await
    }

    /// A handle of the test's own. Close it before a kill: the next process must be the one that recovers.
    pub async fn open(&self) -> Db {
        open(&self.place.url).await.unwrap()
    }

    /// Waits until PostgreSQL has noticed that the killed process is gone: a COMMIT that was on its way still counts.
    pub async fn settle(&self) {
        if self.kind == Kind::Sqlite {
            return;
        }
        let db = self.open().await;
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
            AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
        until("the killed process's connections are gone", async || {
            let others: i64 = on_db!(db.read(), pool => sqlx::query_scalar(sql).fetch_one(pool).await).unwrap();
            (others == 0).then_some(())
        })
        .await;
        db.close().await;
    }
}

/// The program with these arguments in `folder`, and no environment at all.
pub fn bare_command(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flatline"));
    command.args(arguments).current_dir(folder.path()).env_clear();
    command
}

/// Runs a command to its end; panics after twenty seconds.
pub async fn run(mut command: Command) -> Ended {
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = tokio::time::timeout(Duration::from_secs(20), output).await.expect("the command does not end");
    let output = output.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().expect("the command was killed");
    Ended { code, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Asks again and again until there is an answer; panics after twenty seconds.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), looking).await.unwrap_or_else(|_| panic!("never: {what}"))
}

/// One number from the database.
pub async fn number(db: &Db, sql: &'static str) -> i64 {
    on_db!(db.read(), pool => sqlx::query_scalar(sql).fetch_one(pool).await).unwrap()
}
