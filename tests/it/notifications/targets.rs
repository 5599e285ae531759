//! Where a notification may go: not to this machine or its neighbours, by no way round, and not for long.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use flatline::checks::history::Kind;
use flatline::checks::notify::addresses::Policy;
use flatline::checks::notify::outgoing::{Outgoing, json_headers};
use flatline::config::Allowed;
use flatline::limits::Tier;

use super::post::{loopback, rows, sender_to, webhook};
use super::receiver::{Receiver, answer, redirect};
use crate::rig::Rig;

fn site(port: u16) -> Vec<Allowed> {
    vec![Allowed::Site { host: "127.0.0.1".to_owned(), port }]
}

/// Posts to `url`: what the row would say.
async fn post(allowed: Vec<Allowed>, url: &str) -> Result<(), String> {
    let outgoing = Outgoing::new(Policy::new(allowed)).unwrap().with_patience(Duration::from_secs(2));
    outgoing.post(url, &json_headers(), "{\"a\":1}").await.map_err(|error| error.reason)
}

on_both! {
    async fn this_machine_is_not_reached_unless_it_is_listed(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let receiver = Receiver::willing().await;
        let check = rig.new_check().await;
        for (n, host) in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"].into_iter().enumerate() {
            webhook(&rig, &format!("hook {n}"), &format!("http://{host}:{}/", receiver.port)).await;
        }
        rig.ping(&check, Kind::Fail).await;
        assert_eq!(sender_to(&rig, 0, Vec::new()).deliver_due().await.unwrap(), 6);
        for row in rows(rig.db()).await {
            assert_eq!((row.status.as_str(), row.last_error.as_deref()), ("pending", Some("address not allowed")));
        }
        assert_eq!(receiver.count(), 0);
        // It is listed now, and the next attempt gets through: nothing is lost by a setting that came late.
        rig.advance(60);
        sender_to(&rig, 0, loopback()).deliver_due().await.unwrap();
        assert!(receiver.count() >= 4, "{}", receiver.count());
    }
}

#[tokio::test]
async fn a_redirect_to_a_place_beside_us_is_not_followed() {
    let inner = Receiver::willing().await;
    for target in [inner.url("/"), format!("http://localhost:{}/", inner.port), format!("http://[::1]:{}/", inner.port)]
    {
        let outer = Receiver::start(move |_, _| redirect(307, &target)).await;
        assert_eq!(post(site(outer.port), &outer.url("/")).await, Err("address not allowed".to_owned()));
        assert_eq!(outer.count(), 1);
    }
    for target in ["ftp://x.example/", "http://u:p@x.example/", "file:///etc/passwd", "gopher://127.0.0.1/"] {
        let outer = Receiver::start(move |_, _| redirect(308, target)).await;
        let refused = post(site(outer.port), &outer.url("/")).await;
        assert_eq!(refused, Err("a redirect to a URL that cannot be used".to_owned()), "{target}");
    }
    assert_eq!(inner.count(), 0);
}

#[tokio::test]
async fn three_redirects_are_followed_with_body_and_headers_and_no_more() {
    let receiver = Receiver::start(|_, request| match request.path.as_str() {
        "/0" => answer(200),
        path => {
            let left: u32 = path[1..].parse().unwrap();
            redirect(if left.is_multiple_of(2) { 307 } else { 308 }, &format!("/{}", left - 1))
        }
    })
    .await;
    assert_eq!(post(site(receiver.port), &receiver.url("/3")).await, Ok(()));
    let requests = receiver.received();
    assert_eq!(requests.len(), 4);
    for request in requests {
        assert_eq!((request.body.as_str(), request.header("content-type")), ("{\"a\":1}", "application/json"));
    }
    assert_eq!(post(site(receiver.port), &receiver.url("/4")).await, Err("more than 3 redirects".to_owned()));
    assert_eq!(receiver.count(), 8);
}

#[tokio::test]
async fn who_does_not_answer_is_left() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = silent.local_addr().unwrap().port();
    let begun = tokio::time::Instant::now();
    let refused = post(site(port), &format!("http://127.0.0.1:{port}/")).await;
    assert_eq!(refused, Err("no answer in time".to_owned()));
    assert!(begun.elapsed() < Duration::from_secs(4));
}

/// An answer without end is taken for what its head says, and its rest is left.
#[tokio::test]
async fn an_endless_answer_is_not_read() {
    let endless = || futures::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b'x'; 8 << 10]));
    let receiver = Receiver::start(move |_, _| Response::new(Body::from_stream(endless()))).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(post(site(receiver.port), &receiver.url("/")).await, Ok(()));
    assert!(begun.elapsed() < Duration::from_secs(2));
    // One that drips does not hold the sender for longer than a second either.
    let dripping = || Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let receiver = Receiver::start(move |_, _| Response::new(dripping())).await;
    assert_eq!(post(site(receiver.port), &receiver.url("/")).await, Ok(()));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_told_as_such() {
    assert_eq!(post(Vec::new(), "http://nobody.invalid/").await, Err("no such host".to_owned()));
}
