//! How fast an answer is relayed, beside reading the provider directly, and what an open stream costs in memory.

use std::time::Duration;

use flatline::accounts;
use flatline::clock::{ManualClock, SystemClock};
use flatline::limits::Tier;
use futures::future::join_all;
use reqwest::{Method, Response};
use tokio::time::Instant;

use crate::child::Child;
use crate::database::Kind;
use crate::ground::Ground;
use crate::provider::{FakeProvider, Gate, Script};
use crate::site::Visitor;

/// Chunks of one answer.
const CHUNKS: usize = 20_000;
/// Measured rounds; one more goes before them.
const ROUNDS: u32 = 3;
/// One chunk's text.
const WORD: &str = "words ";
/// Streams that are open at once while memory is measured, three for each user.
const OPEN: usize = 300;

/// Prints the figures.
pub async fn measure() {
    let provider = FakeProvider::start().await;
    let ground = Ground::new(Kind::Sqlite).await.provider(&provider).set("FLATLINE_USER_LIMIT", "1000/10m");
    let mut child = ground.serve().await;
    let users = users(&ground, &child, OPEN / 3).await;
    println!("chunks/s of one answer ({CHUNKS} chunks), by streams at once");
    println!("{:>8} {:>12} {:>12} {:>8}", "streams", "directly", "relayed", "ratio");
    provider.default(answer());
    for streams in [1, 3, 30] {
        let (mut direct, mut relayed) = (0.0, 0.0);
        for round in 0..=ROUNDS {
            let read = rate(streams, (0..streams).map(|_| read_directly(&provider))).await;
            let name = |n: usize| format!("c-{streams}-{round}-{n}");
            let passed_on = rate(streams, (0..streams).map(|n| read_relayed(&users[n / 3], name(n)))).await;
            // The first round warms up.
            if round > 0 {
                direct += read / f64::from(ROUNDS);
                relayed += passed_on / f64::from(ROUNDS);
            }
        }
        println!("{streams:>8} {direct:>12.0} {relayed:>12.0} {:>8.2}", relayed / direct);
    }
    memory(&provider, &child, &users).await;
    child.kill();
}

fn answer() -> Script {
    let chunk = format!("data: {}\n\n", serde_json::json!({"choices": [{"delta": {"content": WORD}}]}));
    Script::stream().write_times(chunk, CHUNKS).finish("stop")
}

async fn users(ground: &Ground, child: &Child, count: usize) -> Vec<Visitor> {
    let (db, clock) = (ground.open().await, ManualClock::new(SystemClock::machine_now()));
    let mut users = Vec::new();
    for n in 0..count {
        let name = format!("user-{n}");
        accounts::add_user(&db, &clock, &name, Tier::Free).await.unwrap();
        users.push(child.user(&accounts::create_token(&db, &clock, &name, "bench").await.unwrap()));
    }
    db.close().await;
    users
}

/// Chunks per second of the provider's, over all streams.
async fn rate(streams: usize, readers: impl Iterator<Item = impl Future<Output = ()>>) -> f64 {
    let started = Instant::now();
    join_all(readers).await;
    let chunks = u32::try_from(streams * CHUNKS).unwrap();
    f64::from(chunks) / started.elapsed().as_secs_f64()
}

async fn read_directly(provider: &FakeProvider) {
    let request = crate::site::client().post(format!("{}/chat/completions", provider.base_url()));
    let text = request.header("content-length", "2").body("{}").send().await.unwrap().text().await.unwrap();
    assert_eq!(text.matches(WORD).count(), CHUNKS);
}

async fn read_relayed(user: &Visitor, conversation: String) {
    let text = user.say(&conversation, "m", "go on").await.text().await.unwrap();
    assert_eq!(text.matches(WORD).count(), CHUNKS);
    assert!(text.ends_with("{\"type\":\"finish\"}\n\ndata: [DONE]\n\n"));
}

/// The growth of the process's resident memory by many open streams. A round before warms its pools and caches up.
async fn memory(provider: &FakeProvider, child: &Child, users: &[Visitor]) {
    let mut grown = 0;
    for round in 0..2 {
        let gate = Gate::default();
        provider.default(Script::stream().say("one ").hold(&gate).finish("stop"));
        let before = resident(child);
        let mut open: Vec<Response> = Vec::new();
        for n in 0..OPEN {
            let mut stream = users[n / 3].say(&format!("m-{round}-{n}"), "m", "go on").await;
            assert!(stream.chunk().await.unwrap().is_some());
            open.push(stream);
        }
        // Each has been stored at least once then, and is at rest.
        tokio::time::sleep(Duration::from_secs(2)).await;
        grown = resident(child).saturating_sub(before);
        for _ in 0..OPEN {
            gate.open();
        }
        for stream in open {
            assert!(stream.text().await.unwrap().ends_with("[DONE]\n\n"));
        }
    }
    println!(
        "{OPEN} open streams: {grown} KiB more, {:.1} KiB each",
        f64::from(grown) / f64::from(u32::try_from(OPEN).unwrap())
    );
    let list = users[0].send(Method::GET, "/healthz", None).await;
    assert!(list.status().is_success());
}

/// KiB of memory that the process holds.
fn resident(child: &Child) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
