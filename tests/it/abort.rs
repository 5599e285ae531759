//! Clients that leave at any moment of a confirm: it happens whole or not at all, no connection stays inside a
//! transaction, and who asks again gets the one outcome.

use std::time::Duration;

use flatline::db::On;
use flatline::limits::Tier;
use flatline::on_db;
use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::proposals::{at_once, confirm, count, create, effects, id, new_check, new_id, propose, row};
use crate::site::{Plan, Site, Visitor, chunks, text};

const TURNS: usize = 30;

/// A request as its bytes, and where they go.
#[derive(Clone)]
struct Raw {
    address: String,
    bytes: Vec<u8>,
}

impl Raw {
    fn post(who: &Visitor, path: &str, body: &Value) -> Self {
        let request = who.request(Method::POST, path).build().unwrap();
        let (url, body) = (request.url().clone(), body.to_string());
        let address = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
        let mut lines = vec![format!("POST {} HTTP/1.1", url.path()), format!("host: {address}")];
        lines.extend(request.headers().iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())));
        lines.push("content-type: application/json".to_owned());
        lines.push(format!("content-length: {}\r\n\r\n{body}", body.len()));
        Self { address, bytes: lines.join("\r\n").into_bytes() }
    }

    fn confirm(who: &Visitor, card: &Value) -> Self {
        Self::post(who, &format!("/api/actions/{}/confirm", id(card)), &json!({"digest": card["digest"]}))
    }

    fn say(who: &Visitor, talk: &str, message: &str, word: &str) -> Self {
        let message = json!({"id": message, "role": "user", "parts": [{"type": "text", "text": word}]});
        Self::post(who, "/api/chat", &json!({"id": talk, "message": message}))
    }

    /// Sends it and leaves at some moment, mostly early, within twice the time that an answer takes; sometimes in the
    /// middle of the request. Half say goodbye, half tear the connection down.
    async fn leave(self, usual: Duration) {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        if rand::random() {
            stream.set_zero_linger().unwrap();
        }
        let sent = if rand::random_ratio(1, 8) { rand::random_range(0..self.bytes.len()) } else { self.bytes.len() };
        // A server that has closed by itself is no reason to stay.
        let _ = stream.write_all(&self.bytes[..sent]).await;
        let share: f64 = rand::random();
        let leaves_at = Instant::now() + usual.mul_f64(2.0 * share.powi(3));
        // The timer's millisecond is too coarse for this.
        while Instant::now() < leaves_at {
            tokio::task::yield_now().await;
        }
    }
}

/// How long an undisturbed confirm takes here and now.
async fn usual(site: &Site, who: &Visitor) -> Duration {
    let cards = propose(site, who, &new_id(), &[create(&new_id()), create(&new_id()), create(&new_id())]).await;
    let begun = Instant::now();
    for card in &cards {
        assert_eq!(confirm(who, card).await.state(), ("EXECUTED", false));
    }
    begun.elapsed() / 3
}

/// Demands, in one look, that every action is wholly done or wholly open: its state, its effect, its audit, its check.
async fn nothing_is_half_done(site: &Site) {
    let half = "SELECT count(*) FROM (
            SELECT a.status, (SELECT count(*) FROM action_effects e WHERE e.action_id = a.id) AS effects,
                (SELECT count(*) FROM audit_log l WHERE l.action_id = a.id AND l.event = 'EXECUTED') AS told,
                (SELECT count(*) FROM checks c WHERE 'Create ' || c.name = (a.preview ->> 'title')) AS made
            FROM pending_actions a) AS looked
        WHERE NOT (status = 'PENDING' AND effects = 0 AND told = 0 AND made = 0)
        AND NOT (status = 'EXECUTED' AND effects = 1 AND told = 1 AND made = 1)";
    let found: i64 = on_db!(site.db().read(), pool => sqlx::query_scalar(half).fetch_one(pool).await).unwrap();
    assert_eq!(found, 0, "actions are half done");
}

/// Demands that no connection of the site's is left inside a transaction: what runs ends within five seconds.
async fn every_connection_is_free(site: &Site, who: &Visitor, check: &Value) {
    if let On::Postgres(pool) = site.db().read() {
        let open = "SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
        let none_open = async {
            while sqlx::query_scalar::<_, i64>(open).fetch_one(pool).await.unwrap() > 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(5), none_open).await.expect("a connection stays inside a transaction");
    }
    let path = format!("/api/checks/{}", check["id"].as_str().unwrap());
    let written = who.send(Method::PATCH, &path, Some(json!({"description": new_id()}))).await;
    assert_eq!(written.status(), StatusCode::OK, "the site cannot write");
}

/// Lets clients leave and looks at what they have left behind; returns how many of the actions they got done.
async fn storm(
    site: &Site,
    who: &Visitor,
    check: &Value,
    cards: &[Value],
    leaving: Vec<BoxFuture<'static, ()>>,
) -> usize {
    at_once(leaving).await;
    nothing_is_half_done(site).await;
    every_connection_is_free(site, who, check).await;
    nothing_is_half_done(site).await;
    let mut done = 0;
    for card in cards {
        done += usize::from(row(site, card).await.status == "EXECUTED");
    }
    done
}

async fn made(site: &Site, name: &str) -> i64 {
    count(site, "SELECT count(*) FROM checks WHERE name = $1", name).await
}

on_both! {
    async fn a_confirm_whose_client_leaves_happens_whole_or_not_at_all(kind) {
        let site = Plan::new(kind).user_limit(1_000_000).start().await;
        let ada = site.user("ada", Tier::Business).await;
        let check = new_check(&ada, "beside", json!({})).await;
        let usual = usual(&site, &ada).await;
        let mut done = 0;
        for turn in 0..TURNS {
            let name = |n: usize| format!("check {turn}.{n}");
            let calls: Vec<_> = (0..5).map(|n| create(&name(n))).collect();
            let cards = propose(&site, &ada, "talk", &calls).await;
            // Two leave each action, and all of them at once.
            let leaving = cards.iter().cycle().take(10).map(|card| Raw::confirm(&ada, card).leave(usual).boxed());
            done += storm(&site, &ada, &check, &cards, leaving.collect()).await;
            for (n, card) in cards.iter().enumerate() {
                let (first, again) = (confirm(&ada, card).await, confirm(&ada, card).await);
                assert_eq!((first.state().0, again.state()), ("EXECUTED", ("EXECUTED", true)));
                assert_eq!(first.decided().0, again.decided().0);
                assert_eq!((effects(&site, card).await, made(&site, &name(n)).await), (1, 1));
            }
        }
        // They did leave at different moments: some too early to have asked, some when it was done.
        assert!((1..5 * TURNS).contains(&done), "{done} of {} were done", 5 * TURNS);
    }

    async fn a_word_whose_sender_leaves_is_answered_once(kind) {
        let site = Plan::new(kind).user_limit(1_000_000).start().await;
        let ada = site.user("ada", Tier::Business).await;
        let check = new_check(&ada, "beside", json!({})).await;
        let usual = usual(&site, &ada).await;
        let mut done = 0;
        for turn in 0..TURNS {
            let (name, talk, message) = (format!("check {turn}"), new_id(), new_id());
            let cards = propose(&site, &ada, &talk, &[create(&name)]).await;
            let leaving = (0..2).map(|_| Raw::say(&ada, &talk, &message, "confirm").leave(usual).boxed());
            done += storm(&site, &ada, &check, &cards, leaving.collect()).await;
            let answer = ada.say(&talk, &message, "confirm").await;
            assert_eq!(answer.status(), StatusCode::OK);
            assert_eq!(text(&chunks(answer).await), format!("Created {name} (action 1)."));
            assert_eq!((effects(&site, &cards[0]).await, made(&site, &name).await), (1, 1));
            assert_eq!(count(&site, "SELECT count(*) FROM messages WHERE id = $1", &message).await, 1);
            assert_eq!(count(&site, "SELECT count(*) FROM messages WHERE reply_to = $1", &message).await, 1);
        }
        assert!((1..TURNS).contains(&done), "{done} of {TURNS} were done");
    }
}
