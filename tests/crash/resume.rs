//! SIGKILL while tabs read an answer, and what they find when they come back: the same message, once, with what was
//! stored of it.

use flatline::db::Db;
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;

use crate::child::Child;
use crate::database::{Kind, postgres_is_skipped};
use crate::ground::{Ground, number, until};
use crate::provider::{FakeProvider, Gate, Script};
use crate::site::{Visitor, text, types};
use crate::streams::{SAID, end_the_lease, history, streaming_parts};

/// A provider that says [`SAID`] and no more, and a place for servers that ask it.
async fn half_an_answer(kind: Kind) -> (FakeProvider, Ground) {
    let provider = FakeProvider::start().await;
    let ground = Ground::new(kind).await.provider(&provider);
    provider.push(Script::stream().say("Half of ").say("the answer").hold(&Gate::default()));
    (provider, ground)
}

async fn tab(asker: &Visitor) -> Response {
    asker.send(Method::GET, "/api/chat/c/stream", None).await
}

/// Reads until all of [`SAID`] has come, and returns the chunks until then.
async fn until_said(tab: &mut Response) -> Vec<Value> {
    assert_eq!(tab.status(), StatusCode::OK);
    let mut read = Vec::new();
    loop {
        read.extend(tab.chunk().await.unwrap().expect("the answer is still read"));
        let whole = String::from_utf8_lossy(&read);
        let frames =
            whole.split_inclusive("\n\n").filter_map(|frame| frame.strip_suffix("\n\n")?.strip_prefix("data: "));
        let chunks: Vec<Value> = frames.map(|frame| serde_json::from_str(frame).unwrap()).collect();
        if text(&chunks) == SAID {
            return chunks;
        }
    }
}

/// Waits until [`SAID`] is stored, and lets go of the database.
async fn until_stored(db: Db) {
    until("the answer so far is stored", async || streaming_parts(&db).await.filter(|parts| parts.contains(SAID)))
        .await;
    db.close().await;
}

/// Whoever comes back now finds nothing running, one answer in the history, and the same by sending its message again.
async fn found_once(ground: &Ground, asker: &Visitor, id: &str, words: &str) {
    let expected = [["m1", "user", "complete", "How is it going?"], [id, "assistant", "interrupted", words]];
    for _ in 0..2 {
        assert_eq!(tab(asker).await.status(), StatusCode::NO_CONTENT, "nothing runs");
        assert_eq!(history(asker).await, expected);
        let replayed = asker.chat("c", "m1", "How is it going?").await;
        assert_eq!((replayed[0]["messageId"].as_str(), text(&replayed).as_str()), (Some(id), words));
        assert_eq!(types(&replayed).last(), Some(&"abort"));
    }
    let db = ground.open().await;
    assert_eq!(number(&db, "SELECT count(*) FROM messages").await, 2);
    db.close().await;
}

async fn ask(child: &Child, token: &str) -> (Response, String) {
    let mut stream = child.user(token).say("c", "m1", "How is it going?").await;
    let begun = until_said(&mut stream).await;
    (stream, begun[0]["messageId"].as_str().unwrap().to_owned())
}

on_both! {
    async fn tabs_that_come_back_find_the_same_message_once(kind) {
        let (provider, ground) = half_an_answer(kind).await;
        let mut child = ground.serve().await;
        let token = ground.token("owner").await;
        let (stream, id) = ask(&child, &token).await;
        let mut beside = tab(&child.user(&token)).await;
        assert_eq!(until_said(&mut beside).await[0]["messageId"], id.as_str());
        until_stored(ground.open().await).await;
        child.kill();
        for cut in [stream, beside] {
            assert!(cut.text().await.is_err(), "a stream that breaks off must not look like one that ended");
        }

        let child = ground.serve().await;
        let asker = child.user(&token);
        if kind == Kind::Postgres {
            // Another instance may still run it, until its lease is over: it is followed, and then told to be over.
            let mut following = tab(&asker).await;
            assert_eq!(until_said(&mut following).await[0]["messageId"], id.as_str());
            let db = ground.open().await;
            end_the_lease(&db).await;
            db.close().await;
            let rest = following.text().await.unwrap();
            assert!(rest.ends_with("data: {\"type\":\"abort\"}\n\ndata: [DONE]\n\n"), "{rest}");
        }
        found_once(&ground, &asker, &id, SAID).await;
        assert_eq!(provider.requests().len(), 1, "nobody asked the model again");
    }

    async fn words_that_were_read_and_not_yet_stored_are_lost_for_all_alike(kind) {
        let (provider, ground) = half_an_answer(kind).await;
        let mut child = ground.serve().await;
        let token = ground.token("owner").await;
        let (stream, id) = ask(&child, &token).await;
        child.kill();
        assert!(stream.text().await.is_err());

        let child = ground.serve().await;
        let asker = child.user(&token);
        if kind == Kind::Postgres {
            let db = ground.open().await;
            end_the_lease(&db).await;
            db.close().await;
        }
        // Stored once a second: all of it, or nothing yet.
        let [.., [_, _, _, kept]] = &history(&asker).await[..] else { panic!("no message is left") };
        assert!(SAID.starts_with(kept.as_str()), "{kept:?} was never said");
        found_once(&ground, &asker, &id, kept).await;
        assert_eq!(provider.requests().len(), 1);
    }
}

/// Only PostgreSQL has a second instance that lives on.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_tab_at_another_instance_learns_that_the_first_was_killed() {
    if postgres_is_skipped() {
        return;
    }
    let (provider, ground) = half_an_answer(Kind::Postgres).await;
    let (mut first, second) = (ground.serve().await, ground.serve().await);
    let token = ground.token("owner").await;
    let (stream, id) = ask(&first, &token).await;
    let asker = second.user(&token);
    let mut elsewhere = tab(&asker).await;
    assert_eq!(until_said(&mut elsewhere).await[0]["messageId"], id.as_str());
    first.kill();
    drop(stream);
    let db = ground.open().await;
    end_the_lease(&db).await;
    db.close().await;
    let rest = elsewhere.text().await.unwrap();
    assert!(rest.ends_with("data: {\"type\":\"abort\"}\n\ndata: [DONE]\n\n"), "{rest}");
    found_once(&ground, &asker, &id, SAID).await;
    assert_eq!(provider.requests().len(), 1);
}
