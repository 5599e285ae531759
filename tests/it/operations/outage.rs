//! The database is away: 503 soon and truthfully, never a free passage, and service again as soon as it is back.

use std::env;
use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, Executor, PgConnection, SqliteConnection};
use tokio::time::timeout;

use crate::asking::{Rows, header, problem, remaining, rows};
use crate::database::{Kind, postgres_is_skipped};
use crate::provider::{Gate, Script};
use crate::site::{Site, Visitor, text};

/// How long a person may wait to hear that it does not work.
const SOON: Duration = Duration::from_secs(3);

/// Takes the database away until it is dropped or given back.
enum Outage {
    /// Another process holds SQLite's one write lock.
    Locked(SqliteConnection),
    /// PostgreSQL takes no connections and has ended the ones there were.
    Refusing { server: PgConnection, name: String },
}

impl Outage {
    async fn begin(site: &Site, kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => {
                let mut connection = SqliteConnection::connect(&site.database.url).await.unwrap();
                connection.execute("BEGIN IMMEDIATE").await.unwrap();
                Self::Locked(connection)
            }
            Kind::Postgres => {
                let mut server = PgConnection::connect(&env::var("TEST_POSTGRES_URL").unwrap()).await.unwrap();
                let name = site.database.url.rsplit_once('/').unwrap().1.split('?').next().unwrap().to_owned();
                allow(&mut server, &name, false).await;
                let sql = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1";
                sqlx::query(sql).bind(&name).execute(&mut server).await.unwrap();
                Self::Refusing { server, name }
            }
        }
    }

    async fn end(self) {
        match self {
            Self::Locked(mut connection) => _ = connection.execute("ROLLBACK").await.unwrap(),
            Self::Refusing { mut server, name } => allow(&mut server, &name, true).await,
        }
    }
}

async fn allow(server: &mut PgConnection, name: &str, connections: bool) {
    let sql = format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS {connections}");
    server.execute(sqlx::AssertSqlSafe(sql)).await.unwrap();
}

/// 503 in time, with a wait.
async fn is_unavailable(caller: &Visitor, method: Method, path: &str, body: Option<Value>) {
    let response =
        timeout(SOON, caller.send(method, path, body)).await.unwrap_or_else(|_| panic!("{path} took too long"));
    assert!(header(&response, "retry-after").is_some_and(|wait| wait.parse::<u64>().unwrap() >= 1), "{path}");
    problem(response, 503, "temporarily_unavailable").await;
}

on_both! {
    async fn messages_are_neither_lost_nor_let_through(kind) {
        let site = Site::start(kind).await;
        let (user, visitor) = (site.user("ada", Tier::Free).await, site.anonymous().await);
        user.chat("c", "m1", "before").await;
        let before = rows(site.db()).await;
        let outage = Outage::begin(&site, kind).await;
        for caller in [&user, &visitor] {
            let message = json!({"id": "c", "message": crate::asking::message("m2", "during")});
            is_unavailable(caller, Method::POST, "/api/chat", Some(message)).await;
        }
        let check = json!({"name": "backup", "period_seconds": 3600});
        is_unavailable(&user, Method::POST, "/api/checks", Some(check)).await;
        assert_eq!(
            site.visitor(None).send(Method::GET, "/healthz", None).await.status(),
            StatusCode::OK,
            "the process is up"
        );
        if kind == Kind::Postgres {
            for (method, path) in [
                (Method::GET, "/readyz"),
                (Method::POST, "/api/session"),
                (Method::GET, "/api/checks"),
                (Method::GET, "/ping/0f4f4a0e-3b3b-4a6e-9f5a-0a8a4a9a7a6a"),
                (Method::POST, "/sign-in/fll_x"),
            ] {
                is_unavailable(&user, method, path, None).await;
            }
        }
        outage.end().await;
        assert_eq!(site.provider.requests().len(), 1, "nobody reached the model");
        assert_eq!(rows(site.db()).await, before);
        // Service is back with the first request, and nothing of the outage was charged.
        assert_eq!(text(&user.chat("c", "m2", "during").await), "ok");
        assert_eq!((remaining(&user).await, remaining(&visitor).await), (vec![18], vec![30, 120]));
        assert_eq!(site.visitor(None).send(Method::GET, "/readyz", None).await.status(), StatusCode::OK);
    }

    async fn a_running_answer_outlives_a_short_outage(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut reading = crate::asking::Reading::new(user.say("c", "m", "count").await);
        reading.until_said("one ").await;
        let outage = Outage::begin(&site, kind).await;
        gate.open();
        // What is told as the end is stored; so the end waits for the database.
        let mut said = reading.until_said("two").await;
        outage.end().await;
        said.extend(reading.rest().await);
        assert_eq!(said.last().unwrap()["type"], "finish");
        assert_eq!(user.get("/api/chat/c").await["messages"][1]["metadata"]["status"], "complete");
        assert_eq!(user.get("/api/chat/c").await["messages"][1]["parts"][1]["text"], "one two");
    }
}

/// On SQLite writers queue for one connection, which is no outage.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_callers_are_told_soon() {
    if postgres_is_skipped() {
        return;
    }
    let site = Site::start(Kind::Postgres).await;
    let user = site.user("ada", Tier::Free).await;
    let outage = Outage::begin(&site, Kind::Postgres).await;
    let message = |n: usize| Some(json!({"id": format!("c{n}"), "message": crate::asking::message("m", "hi")}));
    let all = (0..40).map(|n| is_unavailable(&user, Method::POST, "/api/chat", message(n)));
    futures::future::join_all(all).await;
    outage.end().await;
    assert_eq!(rows(site.db()).await, Rows { conversations: 0, messages: 0, actions: 0 });
    assert_eq!(remaining(&user).await, [20]);
}
