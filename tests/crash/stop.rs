//! SIGTERM under load: streams end properly, confirms that were let in succeed, nothing is answered by half.

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::child::Child;
use crate::ground::{Ground, number, until};
use crate::proposals::{ACTIONS, Proposed, confirm, create_targets, look, propose};
use crate::provider::{FakeProvider, Gate, Script};
use crate::site::{Visitor, chunks, json_of, text, types};
use crate::wire::{self, Begun};

/// What operations.md promises for a stop under load.
const STOP: Duration = Duration::from_secs(15);

/// Begins an answer that streams `script`, and reads it in a task.
async fn begin(streams: &mut JoinSet<Vec<Value>>, asker: &Visitor, conversation: &str) {
    let answer = asker.say(conversation, "m1", "Tell me more.").await;
    assert_eq!(answer.status(), StatusCode::OK);
    streams.spawn(chunks(answer));
}

/// Confirms all of these at once, each in a task; each answer adds a permit.
fn confirm_all(child: &Child, token: &str, actions: &[Proposed]) -> (JoinSet<(usize, StatusCode)>, Arc<Semaphore>) {
    let answered = Arc::new(Semaphore::new(0));
    let mut clients = JoinSet::new();
    for (index, action) in actions.iter().cloned().enumerate() {
        let (asker, answered) = (child.user(token), Arc::clone(&answered));
        clients.spawn(async move {
            let (status, body) = confirm(&asker, &action).await.expect("a stop cuts no request off");
            match status {
                StatusCode::OK => assert_eq!(body["action"]["status"], "EXECUTED", "{body}"),
                _ => assert_eq!((status.as_u16(), &body["code"]), (503, &"temporarily_unavailable".into()), "{body}"),
            }
            answered.add_permits(1);
            (index, status)
        });
    }
    (clients, answered)
}

async fn until_not_ready(address: &str) {
    until("it is not ready", async || wire::get(address, "/readyz").await.filter(|(status, _)| *status == 503)).await;
}

/// Asks again and again until nobody answers any more.
async fn ask_to_the_end(address: String) -> usize {
    let mut refusals = 0;
    while let Some((status, body)) = wire::get(&address, "/api/chats").await {
        assert_eq!((status, &body["code"]), (503, &"temporarily_unavailable".into()), "{body}");
        refusals += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    refusals
}

on_both! {
    async fn a_stop_under_load_ends_streams_with_abort_and_fails_no_confirm(kind) {
        let provider = FakeProvider::start().await;
        let ground = Ground::new(kind).await.provider(&provider).set("FLATLINE_USER_LIMIT", "1000/10m");
        let mut child = ground.serve().await;
        let address = child.base().trim_start_matches("http://").to_owned();
        ground.print(&["user", "add", "storm", "--tier", "business"]).await;
        let (token, owner) = (ground.token("storm").await, child.user(&ground.token("owner").await));
        create_targets(&child.user(&token)).await;
        let actions = propose(&child.user(&token), &provider, 0).await;

        // Three answers under way: one will be over in time, two would never be.
        let (in_time, never) = (Gate::default(), Gate::default());
        provider.push(Script::stream().say("One, ").hold(&in_time).say("two.").finish("stop"));
        provider.push(Script::stream().say("Without an end").hold(&never));
        provider.push(Script::stream().say("Without an end").hold(&never));
        let (mut finishing, mut endless) = (JoinSet::new(), JoinSet::new());
        begin(&mut finishing, &owner, "in-time").await;
        begin(&mut endless, &owner, "endless").await;
        let session = json_of(child.visitor(None).send(Method::POST, "/api/session", None).await).await;
        let session = session["token"].as_str().unwrap().to_owned();
        begin(&mut endless, &child.visitor(Some(("flatline-session", session))), "endless").await;
        // Two confirms that were let in before the signal and whose bodies come long after it.
        let path = |action: &Proposed| format!("/api/actions/{}/confirm", action.id);
        let let_in = Begun::post(&address, &path(&actions[0]), &token, "{}".to_owned()).await;
        let last = Begun::post(&address, &path(&actions[1]), &token, "{}".to_owned()).await;

        let (mut clients, answered) = confirm_all(&child, &token, &actions[2..]);
        drop(answered.acquire_many(4).await.unwrap());
        let signalled = Instant::now();
        child.signal("TERM");
        let mut is_done = vec![true; ACTIONS];
        while let Some(client) = clients.join_next().await {
            let (index, status) = client.unwrap();
            is_done[index + 2] = status == StatusCode::OK;
        }
        until_not_ready(&address).await;
        let mut probes = JoinSet::new();
        probes.spawn(ask_to_the_end(address));
        let refused = owner.say("in-time", "m2", "One more?").await;
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(refused.headers().contains_key("retry-after"));
        assert_eq!(json_of(refused).await["code"], "temporarily_unavailable");
        let (status, body) = let_in.finish().await;
        assert_eq!((status, &body["action"]["status"]), (200, &"EXECUTED".into()), "{body}");
        in_time.open();
        let finished = finishing.join_next().await.unwrap().unwrap();
        assert_eq!((text(&finished).as_str(), types(&finished).last()), ("One, two.", Some(&"finish")));
        while let Some(ended) = endless.join_next().await {
            let ended = ended.unwrap();
            assert_eq!((text(&ended).as_str(), types(&ended).last()), ("Without an end", Some(&"abort")));
        }
        let (status, body) = last.finish().await;
        assert_eq!((status, &body["action"]["status"]), (200, &"EXECUTED".into()), "{body}");
        let exit = child.exit(STOP.saturating_sub(signalled.elapsed())).await;
        assert_eq!(exit.code(), Some(0), "{}", child.log());
        assert!(probes.join_next().await.unwrap().unwrap() > 0);

        let db = ground.open().await;
        for (sql, expected) in [
            ("SELECT count(*) FROM messages WHERE status = 'streaming'", 0),
            ("SELECT count(*) FROM messages WHERE status = 'interrupted'
                AND CAST(parts AS TEXT) LIKE '%Without an end%'", 2),
            ("SELECT count(*) FROM messages WHERE CAST(parts AS TEXT) LIKE '%One more?%'", 0),
        ] {
            assert_eq!(number(&db, sql).await, expected, "{sql}");
        }
        let stored = look(&db, &actions, 0).await;
        for (stored, is_done) in stored.iter().zip(&is_done) {
            assert_eq!((stored.status == "EXECUTED", stored.effects == 1), (*is_done, *is_done), "{stored:?}");
        }
        db.close().await;
        // What was refused is still there to be confirmed.
        let child = ground.serve().await;
        let asker = child.user(&token);
        for (action, is_done) in actions.iter().zip(is_done) {
            let (status, body) = confirm(&asker, action).await.unwrap();
            assert_eq!((status, &body["replayed"]), (StatusCode::OK, &is_done.into()), "{body}");
        }
    }

    async fn a_second_signal_ends_at_once(kind) {
        let provider = FakeProvider::start().await;
        let ground = Ground::new(kind).await.provider(&provider);
        let mut child = ground.serve().await;
        let owner = child.user(&ground.token("owner").await);
        provider.push(Script::stream().say("Without an end").hold(&Gate::default()));
        let answer = owner.say("c", "m1", "Tell me more.").await;
        child.signal("TERM");
        until_not_ready(child.base().trim_start_matches("http://")).await;
        child.signal("TERM");
        let exit = child.exit(Duration::from_secs(2)).await;
        assert_eq!(exit.code(), Some(1));
        assert!(answer.text().await.is_err(), "a stream that was cut must not look like one that ended");
        let log = child.log();
        assert_eq!(log.lines().last(), Some("flatline: ended at once by a second signal"), "{log}");
    }

    async fn an_idle_server_stops_at_once_although_connections_are_open(kind) {
        let ground = Ground::new(kind).await;
        let mut child = ground.serve().await;
        // Stays open in the client's pool.
        assert_eq!(child.visitor(None).send(Method::GET, "/healthz", None).await.status(), StatusCode::OK);
        child.signal("INT");
        assert_eq!(child.exit(Duration::from_secs(2)).await.code(), Some(0), "{}", child.log());
    }
}
