//! What cancels the provider's request, and when: Stop within a second, and nobody reading for 30 s.

use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use tokio::time::{Instant, sleep};

use crate::asking::{Reading, lines, messages, remaining, told, wait_for_status};
use crate::database::{Kind, postgres_is_skipped};
use crate::provider::{Gate, Received, Script};
use crate::site::{Plan, Site, Visitor, types};

/// The running turn of a conversation, held by its provider after the first word.
async fn held(site: &Site, user: &Visitor, conversation: &str, gate: &Gate) -> (Reading, Received) {
    let number = site.provider.requests().len() + 1;
    site.provider.push(Script::stream().say("one ").hold(gate).say("two").finish("stop"));
    let mut reading = Reading::new(user.say(conversation, "m", "count").await);
    reading.until_said("one ").await;
    (reading, site.provider.request(number).await)
}

/// Waits until the provider's request is cancelled, and returns when.
async fn cancelled(request: &Received, patience: Duration) -> Instant {
    let deadline = Instant::now() + patience;
    while !request.client_left() {
        assert!(Instant::now() < deadline, "the provider's request goes on");
        sleep(Duration::from_millis(5)).await;
    }
    Instant::now()
}

on_both! {
    async fn by_stop_within_a_second(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let (reading, request) = held(&site, &user, "c", &Gate::default()).await;
        let asked = Instant::now();
        let stopping = user.post("/api/chat/c/stop");
        let (stopped, cancelled) = tokio::join!(stopping, cancelled(&request, Duration::from_secs(1)));
        assert_eq!(stopped.status(), StatusCode::NO_CONTENT);
        assert!(cancelled - asked < Duration::from_secs(1));
        assert_eq!(types(&reading.rest().await).last(), Some(&"abort"));
        assert_eq!(messages(site.db(), "c").await[1].status, "interrupted");
    }
}

/// A reader leaves, one leaves and comes back, and one stays.
async fn nobody_reads(kind: Kind) {
    // A provider that is silent for as long would fail by itself.
    let site = Plan::new(kind).config(|config| config.model_timeouts.idle = Duration::from_mins(2)).start().await;
    let user = site.user("ada", Tier::Free).await;
    let gate = Gate::default();
    let (left, abandoned) = held(&site, &user, "left", &gate).await;
    let (resumed, taken_up) = held(&site, &user, "resumed", &gate).await;
    let (stays, read) = held(&site, &user, "stays", &gate).await;
    drop(left);
    let left_at = Instant::now();
    drop(resumed);
    let resumed = Reading::new(user.send(Method::GET, "/api/chat/resumed/stream", None).await);

    let gone_for = cancelled(&abandoned, Duration::from_secs(40)).await - left_at;
    assert!((30..32).contains(&gone_for.as_secs()), "cancelled after {gone_for:?}");
    wait_for_status(site.db(), "left", "interrupted").await;
    let kept = lines(&[("user", "complete", "count"), ("assistant", "interrupted", "one ")]);
    assert_eq!(told(site.db(), "left").await, kept);
    assert_eq!(remaining(&user).await, [17], "nothing is given back");

    // Those that are read are not touched.
    assert!(!read.client_left() && !taken_up.client_left());
    gate.open();
    gate.open();
    for (conversation, reading) in [("stays", stays), ("resumed", resumed)] {
        assert_eq!(types(&reading.rest().await).last(), Some(&"finish"), "{conversation}");
        let whole = lines(&[("user", "complete", "count"), ("assistant", "complete", "one two")]);
        assert_eq!(told(site.db(), conversation).await, whole);
    }
    assert_eq!(site.provider.requests().len(), 3);
}

/// Both at once, because it takes half a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn by_nobody_reading_for_thirty_seconds() {
    let postgres = async {
        if !postgres_is_skipped() {
            nobody_reads(Kind::Postgres).await;
        }
    };
    tokio::join!(nobody_reads(Kind::Sqlite), postgres);
}
