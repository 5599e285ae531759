//! Through nginx as Debian ships it and README configures it: nothing is held back, cut, compressed or hidden.

mod proxy;

use std::time::Duration;

use flatline::config::Config;
use flatline::limits::Tier;
use reqwest::{Client, Method, Response};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::asking::{
    Reading, header, ledger, lines, message, problem, remaining, told, wait_for_reader, wait_for_status,
};
use crate::database::Kind;
use crate::provider::{Gate, Script};
use crate::site::{Plan, Site, Visitor, text, types};
use proxy::Proxy;

/// From the provider's delta to the client.
const SOON: Duration = Duration::from_secs(1);

/// What README sets beside the block for nginx.
fn trust_the_proxy(config: &mut Config) {
    let readme = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"));
    let (_, rest) = readme.split_once("export FLATLINE_TRUSTED_PROXIES=").expect("README says which proxy to trust");
    let trusted = rest.split_whitespace().next().map(str::to_owned);
    let told = Config::load(&|name| trusted.clone().filter(|_| name == "FLATLINE_TRUSTED_PROXIES")).unwrap();
    config.trusted_proxies = told.trusted_proxies;
    assert_eq!(config.trusted_proxies.len(), 1);
}

/// Two instances and nginx before them.
async fn proxied(kind: Kind, change: impl FnOnce(&mut Config)) -> (Site, Proxy) {
    let site = Plan::new(kind).instances(2).config(trust_the_proxy).config(change).start().await;
    let proxy = Proxy::start(&site).await;
    (site, proxy)
}

/// Sends a message as a browser does, which takes compressed answers.
async fn say(who: &Visitor, text: &str) -> Response {
    let body = json!({"id": "c", "message": message("m", text)}).to_string();
    let request = who.request(Method::POST, "/api/chat").header("accept-encoding", "gzip, deflate, br, zstd");
    request.header("content-type", "application/json").body(body).send().await.unwrap()
}

/// A visitor without a credential who comes from this address.
fn from(proxy: &Proxy, address: &str) -> Visitor {
    let client = Client::builder().no_proxy().local_address(address.parse().ok()).build().unwrap();
    Visitor::new(client, proxy.base.clone(), None)
}

on_both! {
    async fn each_word_comes_while_the_provider_holds_back_the_next(kind) {
        let (site, proxy) = proxied(kind, |_| {}).await;
        let user = site.user("ada", Tier::Free).await.through(&proxy.base);
        let words = ["One ", "check ", "is ", "down."];
        let gates = words.map(|_| Gate::default());
        let end = Gate::default();
        let held = words.iter().zip(&gates);
        let script = held.fold(Script::stream(), |script, (word, gate)| script.hold(gate).say(word));
        site.provider.push(script.hold(&end).finish("stop"));
        let asking = say(&user, "is anything down?");
        tokio::pin!(asking);
        tokio::select! {
            _ = &mut asking => panic!("the headers came before the first delta"),
            () = gates[0].reached() => {}
        }

        gates[0].open();
        let first_word = async {
            let response = asking.await;
            let headers = response.headers().clone();
            // Every frame is read as it is: a compressed one would not parse.
            let mut reading = Reading::new(response);
            let said = reading.until_said(words[0]).await;
            (headers, reading, said)
        };
        let (headers, mut reading, said) = timeout(SOON, first_word).await.expect("the first word is held back");
        assert_eq!(types(&said), ["start", "start-step", "text-start", "text-delta"]);
        for (gate, word) in gates.iter().zip(words).skip(1) {
            gate.open();
            timeout(SOON, reading.until_said(word)).await.expect("a word is held back");
        }
        end.open();
        assert_eq!(types(&reading.rest().await), ["text-end", "finish-step", "finish"]);
        for (name, value) in [
            ("content-type", Some("text/event-stream; charset=utf-8")),
            ("cache-control", Some("no-cache, no-transform")),
            ("x-vercel-ai-ui-message-stream", Some("v1")),
            ("ratelimit-policy", Some("\"user-10min\";q=20;w=600")),
            ("content-encoding", None),
            // For nginx, which keeps it to itself.
            ("x-accel-buffering", None),
        ] {
            assert_eq!(headers.get(name).map(|value| value.to_str().unwrap()), value, "{name}");
        }
    }

    async fn a_tab_at_either_instance_reads_the_same(kind) {
        let (site, proxy) = proxied(kind, |_| {}).await;
        let user = site.user("ada", Tier::Free).await.through(&proxy.base);
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut first = Reading::new(say(&user, "count").await);
        let begun = first.until_said("one ").await;
        // nginx takes the instances in turns, so one of these is where the answer does not run.
        for _ in 0..2 {
            let mut tab = Reading::new(user.send(Method::GET, "/api/chat/c/stream", None).await);
            assert_eq!(tab.until_said("one ").await[0], begun[0]);
        }
        gate.open();
        assert_eq!(text(&first.rest().await), "two");
        assert_eq!(site.provider.requests().len(), 1);
    }

    async fn refusals_come_through_whole(kind) {
        let (site, proxy) = proxied(kind, |config| config.user_limit.limit = 1).await;
        let user = site.user("ada", Tier::Free).await.through(&proxy.base);
        site.provider.push(Script::error(401, "invalid_api_key"));
        problem(say(&user, "hi").await, 502, "model_unavailable").await;
        assert_eq!(site.provider.requests().len(), 1, "nginx asks no other instance");
        assert_eq!(remaining(&user).await, [1]);
        assert_eq!(text(&user.chat("c", "m", "hi").await), "ok");
        let refused = user.say("c", "m2", "hi").await;
        let wait: u64 = header(&refused, "retry-after").unwrap().parse().unwrap();
        assert!(header(&refused, "ratelimit").unwrap().starts_with("\"user-10min\";a=0;"));
        let body = problem(refused, 429, "quota_exceeded").await;
        assert_eq!(body["retry_after_seconds"], json!(wait));
    }

    async fn a_client_that_leaves_is_noticed_and_its_answer_goes_on(kind) {
        let (site, proxy) = proxied(kind, |_| {}).await;
        let user = site.user("ada", Tier::Free).await.through(&proxy.base);
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut reading = Reading::new(say(&user, "count").await);
        reading.until_said("one ").await;
        wait_for_reader(site.db(), "c", true).await;
        drop(reading);
        wait_for_reader(site.db(), "c", false).await;
        gate.open();
        wait_for_status(site.db(), "c", "complete").await;
        let expected = [("user", "complete", "count"), ("assistant", "complete", "one two")];
        assert_eq!(told(site.db(), "c").await, lines(&expected));
        assert!(!site.provider.requests()[0].client_left());
    }

    async fn a_visitors_network_is_its_own_and_not_the_proxys(kind) {
        let (site, proxy) = proxied(kind, |config| config.anon_network_limit.limit = 1).await;
        for (address, claims, passes) in [
            ("127.0.0.2", None, true),
            ("127.0.0.2", None, false),
            // What a client writes into the header itself counts for nothing.
            ("127.0.0.2", Some("203.0.113.7"), false),
            ("127.0.0.3", Some("127.0.0.2"), true),
            ("127.0.0.3", None, false),
        ] {
            let visitor = from(&proxy, address);
            let body = json!({"id": "c", "message": message("m", "hi")}).to_string();
            let request = visitor.request(Method::POST, "/api/chat").header("content-type", "application/json");
            let request = claims.into_iter().fold(request, |request, hop| request.header("x-forwarded-for", hop));
            let response = request.body(body).send().await.unwrap();
            if passes {
                assert_eq!(text(&crate::site::chunks(response).await), "ok", "{address} {claims:?}");
            } else {
                let refused = problem(response, 429, "quota_exceeded").await;
                assert_eq!(refused["violated-policies"], json!(["anon-net-1h"]), "{address} {claims:?}");
            }
        }
        let mut networks: Vec<String> = ledger(site.db()).await.into_iter().map(|(key, _)| key).collect();
        networks.retain(|key| key.starts_with("anon-net-1h:"));
        assert_eq!(networks, ["anon-net-1h:127.0.0.2", "anon-net-1h:127.0.0.3"]);
    }
}

/// Otherwise the tests above would prove nothing about compression.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn it_does_compress_what_may_be_compressed() {
    let (_site, proxy) = proxied(Kind::Sqlite, |_| {}).await;
    let visitor = from(&proxy, "127.0.0.1");
    let page = visitor.request(Method::GET, "/").header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!(header(&page, "content-encoding"), Some("gzip"));
}

/// It takes eight seconds, and has nothing to do with the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_long_pause_is_bridged_by_comments() {
    let (site, proxy) = proxied(Kind::Sqlite, |_| {}).await;
    let user = site.user("ada", Tier::Free).await.through(&proxy.base);
    let gate = Gate::default();
    site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
    let mut response = say(&user, "count").await;
    gate.reached().await;
    let begun = Instant::now();
    let mut read = Vec::new();
    // A comment at least every 10 s, by the contract; the provider is still held.
    let comment = async {
        while !read.ends_with(b"\n\n: \n\n") {
            read.extend(response.chunk().await.unwrap().expect("the stream was cut"));
        }
    };
    timeout(Duration::from_secs(10), comment).await.expect("no comment for 10 s");
    assert!(begun.elapsed() > Duration::from_secs(2), "there was a pause");
    assert!(String::from_utf8(read).unwrap().contains(r#""delta":"one ""#));
    gate.open();
    let rest = response.text().await.unwrap();
    assert!(rest.contains(r#""delta":"two""#) && rest.ends_with("data: [DONE]\n\n"), "{rest}");
}
