//! The sender: signed, at least once, exactly once when nothing fails, and again when something does.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flatline::checks::history::Kind;
use flatline::checks::store::claims::{Ended, claim_deliveries, finish_delivery};
use flatline::clock::Millis;
use flatline::limits::Tier;
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::post::{channel, rows, sender, webhook};
use super::receiver::{Received, Receiver, answer};
use crate::rig::Rig;

/// HMAC-SHA256 as RFC 2104 writes it down, so that a signature is verified by something else than what made it.
fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let keyed = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::digest([&keyed(0x36), message].concat());
    Sha256::digest([&keyed(0x5c)[..], &inner[..]].concat()).to_vec()
}

/// What a receiver does with the secret it was given once.
fn is_signed(request: &Received, secret: &str) -> bool {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    assert_eq!(key.len(), 32);
    let (id, at) = (request.header("webhook-id"), request.header("webhook-timestamp"));
    let signature = STANDARD.encode(hmac(&key, format!("{id}.{at}.{}", request.body).as_bytes()));
    request.header("webhook-signature") == format!("v1,{signature}")
}

on_both! {
    async fn a_webhook_is_signed_and_says_what_happened(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::willing().await;
        let check = rig.new_check().await;
        rig.set(&check, "name = 'backup'", 0).await;
        let made = webhook(&rig, "hook", &receiver.url("/hook?a=b")).await;
        rig.ping(&check, Kind::Fail).await;
        let failed_at = rig.now();
        rig.advance(5);
        assert_eq!(sender(&rig, 0).deliver_due().await.unwrap(), 1);
        let [request] = receiver.received().try_into().unwrap();
        assert!(is_signed(&request, made.secret.as_deref().unwrap()));
        assert!(!is_signed(&Received { body: request.body.replace("down", "up"), ..request.clone() }, made.secret.as_deref().unwrap()));
        let row = rows(rig.db()).await.remove(0);
        assert_eq!(request.header("webhook-id"), row.id);
        assert_eq!(request.header("webhook-timestamp"), (rig.now().0 / 1000).to_string());
        assert_eq!(request.header("content-type"), "application/json");
        let flip = json!({"at": failed_at, "from": "new", "to": "down", "reason": "fail"});
        let about = json!({"id": check.id, "name": "backup", "tags": [], "status": "down"});
        assert_eq!(request.json(), json!({"type": "check.down", "timestamp": failed_at, "data": {
            "check": about, "flip": flip, "last_ping_at": failed_at, "url": "https://flatline.example/"}}));
        assert_eq!((row.status.as_str(), row.attempts, row.last_error), ("sent", 1, None));
    }

    async fn a_chat_gets_a_text(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::willing().await;
        let check = rig.new_check().await;
        rig.set(&check, "name = 'a & b'", 0).await;
        channel(&rig, json!({"kind": "slack", "name": "chat", "url": receiver.url("/chat")})).await;
        rig.ping(&check, Kind::Fail).await;
        rig.advance(3_600);
        rig.ping(&check, Kind::Success).await;
        sender(&rig, 0).deliver_due().await.unwrap();
        let mut texts: Vec<_> = receiver.received().iter().map(|r| r.json()["text"].as_str().unwrap().to_owned()).collect();
        texts.sort();
        assert!(texts[0].starts_with("`a &amp; b` is down. Its job reported a failure at 20"), "{texts:?}");
        assert!(texts[1].starts_with("`a &amp; b` is up again. It was down for 1 hour. The next ping is due at 20"), "{texts:?}");
        assert!(texts[1].ends_with("\nhttps://flatline.example/"), "{texts:?}");
    }

    /// Two instances, four senders, a hundred deliveries: each arrives once.
    async fn each_is_sent_once_when_nothing_fails(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::willing().await;
        let mut checks = Vec::new();
        for _ in 0..25 {
            checks.push(rig.new_check().await);
        }
        for n in 0..4 {
            webhook(&rig, &format!("hook {n}"), &receiver.url("/")).await;
        }
        for check in &checks {
            rig.ping(check, Kind::Fail).await;
        }
        let barrier = Arc::new(Barrier::new(4));
        let mut senders = JoinSet::new();
        for n in 0..4 {
            let (sender, barrier) = (sender(&rig, n % 2), Arc::clone(&barrier));
            senders.spawn(async move {
                barrier.wait().await;
                sender.deliver_due().await.unwrap()
            });
        }
        assert_eq!(senders.join_all().await.into_iter().sum::<usize>(), 100);
        let requests = receiver.received();
        let ids: HashSet<&str> = requests.iter().map(|request| request.header("webhook-id")).collect();
        assert_eq!((requests.len(), ids.len()), (100, 100));
        assert!(rows(rig.db()).await.iter().all(|row| row.status == "sent" && row.attempts == 1));
    }

    /// A sender that was killed after its claim loses nothing, and what it says afterwards does not count.
    async fn an_abandoned_lease_is_taken_over(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::willing().await;
        let check = rig.new_check().await;
        webhook(&rig, "hook", &receiver.url("/")).await;
        rig.ping(&check, Kind::Fail).await;
        let lease = rig.now().plus(Duration::from_mins(1));
        let [dead] = claim_deliveries(rig.db(), rig.now(), lease, 8).await.unwrap().try_into().ok().unwrap();
        rig.clock.set(Millis(lease.0 - 1));
        assert_eq!(sender(&rig, 1).deliver_due().await.unwrap(), 0, "its lease still runs");
        rig.clock.set(lease);
        // Two claims are under way by now; only the newer one may end it.
        let [again] = claim_deliveries(rig.db(), rig.now(), Millis(lease.0 + 1), 8).await.unwrap().try_into().ok().unwrap();
        assert_eq!((again.id.as_str(), again.attempts), (dead.id.as_str(), 2));
        assert!(!finish_delivery(rig.db(), &dead.id, dead.attempts, &Ended::Sent, rig.now()).await.unwrap());
        assert_eq!(rows(rig.db()).await[0].status, "pending");
        rig.advance(1);
        assert_eq!(sender(&rig, 1).deliver_due().await.unwrap(), 1);
        assert_eq!(receiver.received()[0].header("webhook-id"), dead.id);
        let row = rows(rig.db()).await.remove(0);
        assert_eq!((row.status.as_str(), row.attempts), ("sent", 3));
        assert!(!finish_delivery(rig.db(), &dead.id, 3, &Ended::Failed { reason: "x".to_owned() }, rig.now()).await.unwrap());
        assert_eq!(rows(rig.db()).await[0].status, "sent", "what is finished stays");
    }

    /// It waits longer each time, tells why, keeps its id, and is shown as failed in the end.
    async fn it_backs_off_for_more_than_an_hour_and_then_gives_up(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::start(|_, _| answer(503)).await;
        let check = rig.new_check().await;
        webhook(&rig, "hook", &receiver.url("/")).await;
        rig.ping(&check, Kind::Fail).await;
        let (sender, begun) = (sender(&rig, 0), rig.now());
        let waits = [10, 30, 60, 120, 300, 600, 900, 900, 900, 900, 900, 900, 900];
        for (nth, wait) in waits.into_iter().enumerate() {
            assert_eq!(sender.deliver_due().await.unwrap(), 1, "attempt {nth}");
            let row = rows(rig.db()).await.remove(0);
            let waited = row.next_attempt_at.since(rig.now()).as_millis();
            assert!((wait * 800..=wait * 1_200).contains(&waited), "attempt {nth}: {waited}");
            assert_eq!((row.status.as_str(), row.last_error.as_deref(), row.claimed_until), ("pending", Some("HTTP 503"), None));
            rig.clock.set(Millis(row.next_attempt_at.0 - 1));
            assert_eq!(sender.deliver_due().await.unwrap(), 0);
            rig.clock.set(row.next_attempt_at);
        }
        assert!(rig.now().since(begun) > Duration::from_hours(1));
        assert_eq!(sender.deliver_due().await.unwrap(), 1);
        let row = rows(rig.db()).await.remove(0);
        assert_eq!((row.status.as_str(), row.attempts, row.last_error.as_deref()), ("failed", 14, Some("HTTP 503")));
        rig.advance(1_000_000);
        assert_eq!(sender.deliver_due().await.unwrap(), 0);
        let ids: HashSet<String> = receiver.received().iter().map(|r| r.header("webhook-id").to_owned()).collect();
        assert_eq!((receiver.count(), ids.len()), (14, 1));
    }

    async fn what_comes_back_is_sent_in_the_end(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::start(|nth, _| answer(if nth < 2 { 500 } else { 204 })).await;
        let check = rig.new_check().await;
        webhook(&rig, "hook", &receiver.url("/")).await;
        rig.ping(&check, Kind::Fail).await;
        let sender = sender(&rig, 0);
        for _ in 0..3 {
            sender.deliver_due().await.unwrap();
            rig.advance(100);
        }
        let row = rows(rig.db()).await.remove(0);
        assert_eq!((row.status.as_str(), row.attempts, row.last_error), ("sent", 3, None));
        let requests = receiver.received();
        let stamps: HashSet<&str> = requests.iter().map(|request| request.header("webhook-timestamp")).collect();
        assert_eq!(stamps.len(), 3, "each attempt has its own time");
        assert!(requests.iter().all(|request| request.body == requests[0].body));
    }

    async fn each_answer_is_told_in_our_own_words(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::start(|_, request| answer(request.path[1..].parse().unwrap())).await;
        let check = rig.new_check().await;
        let mut expected = BTreeMap::new();
        for (status, reason, state) in [
            (400, "HTTP 400", "pending"),
            (404, "HTTP 404", "pending"),
            (410, "HTTP 410", "failed"),
            (429, "HTTP 429", "pending"),
            (302, "HTTP 302: only 307 and 308 are followed", "pending"),
            (304, "HTTP 304: only 307 and 308 are followed", "pending"),
            (307, "a redirect to nowhere", "pending"),
            (202, "", "sent"),
        ] {
            let made = webhook(&rig, &format!("hook {status}"), &receiver.url(&format!("/{status}"))).await;
            expected.insert(made.channel.id.to_string(), (state.to_owned(), reason.to_owned()));
        }
        let nobody = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let made = webhook(&rig, "closed", &format!("http://{nobody}/")).await;
        expected.insert(made.channel.id.to_string(), ("pending".to_owned(), "connection refused".to_owned()));
        let made = webhook(&rig, "no TLS", &receiver.url("/").replace("http:", "https:")).await;
        let tls = "the TLS certificate or handshake failed".to_owned();
        expected.insert(made.channel.id.to_string(), ("pending".to_owned(), tls));
        rig.ping(&check, Kind::Fail).await;
        sender(&rig, 0).deliver_due().await.unwrap();
        let found: BTreeMap<_, _> = rows(rig.db()).await.into_iter()
            .map(|row| (row.channel_id, (row.status, row.last_error.unwrap_or_default()))).collect();
        assert_eq!(found, expected);
    }

    /// The worker takes what comes, and stops although somebody does not answer.
    async fn the_worker_delivers_and_stops_promptly(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::willing().await;
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let check = rig.new_check().await;
        webhook(&rig, "hook", &receiver.url("/")).await;
        webhook(&rig, "silent", &format!("http://{}/", silent.local_addr().unwrap())).await;
        let stop = CancellationToken::new();
        let mut worker = JoinSet::new();
        worker.spawn(sender(&rig, 0).run(stop.clone()));
        rig.ping(&check, Kind::Fail).await;
        let status = async |name: &str| rows(rig.db()).await.iter().filter(|row| row.status == name).count();
        timeout(Duration::from_secs(10), async {
            while status("sent").await < 1 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }).await.expect("it is sent");
        stop.cancel();
        timeout(Duration::from_secs(4), worker.join_next()).await.expect("it stops").unwrap().unwrap();
        assert_eq!(status("pending").await, 1, "the other one waits for its lease to run out");
    }
}
