//! What the log may hold, at any level: who did what and how it went, never what was said and never a secret.

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use flatline::accounts::{create_login_token, revoke_token};
use flatline::limits::Tier;
use reqwest::Method;
use serde_json::json;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

use crate::asking::{Reading, header};
use crate::database::Kind;
use crate::provider::{Gate, Script};
use crate::site::{Site, cards, json_of};

/// Everything that was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// Uses the site in every way that meets a secret, and returns all of them.
async fn use_everything(kind: Kind) -> Vec<String> {
    let site = Site::start(kind).await;
    let clock = site.apps[0].clock.clone();
    let ada = site.user("ada", Tier::Free).await;
    let token = flatline::accounts::create_token(site.db(), clock.as_ref(), "ada", "x").await.unwrap();
    let link = create_login_token(site.db(), clock.as_ref(), "ada").await.unwrap();
    let nobody = site.visitor(None);
    let signed_in = nobody.post(&format!("/sign-in/{link}")).await;
    let cookie = header(&signed_in, "set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let session = cookie.split_once('=').unwrap().1.to_owned();
    nobody.post(&format!("/sign-in/{link}")).await;
    let browser = site.visitor(Some(("cookie", cookie)));
    browser.get("/api/checks").await;
    let visitors = json_of(nobody.post("/api/session").await).await["token"].as_str().unwrap().to_owned();
    let visitor = site.visitor(Some(("flatline-session", visitors.clone())));
    visitor.chat("c", "m", "words-of-a-visitor").await;
    come_with_wrong_credentials(&site).await;

    // A proposal, a confirmation, and the check's secret in its ping URL.
    site.provider.push(Script::tool_call(
        "create_check",
        json!({"name": "name-of-a-check", "period_seconds": 3600, "description": "description-of-a-check"}),
    ));
    site.provider.push(Script::text("words-of-the-model"));
    let card = cards(&ada.chat("c", "m1", "words-of-a-user").await).remove(0);
    ada.post(&format!("/api/actions/{}/confirm", card["id"].as_str().unwrap())).await;
    let check = ada.get("/api/checks").await["checks"][0].clone();
    let key = check["ping_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let ping = nobody
        .request(Method::POST, &format!("/ping/{key}/fail?rid=0f4f4a0e-3b3b-4a6e-9f5a-0a8a4a9a7a6a"))
        .body("body-of-a-ping");
    ping.send().await.unwrap();
    nobody.post("/ping/key-that-is-wrong").await;
    site.provider.push(Script::tool_call("get_check", json!({"check": "name-of-a-check"})));
    ada.chat("c", "m2", "what has it said?").await;

    // Failures, before and after the first words, and a stop.
    for failure in [Script::error(401, "words-of-the-provider"), Script::stream().say("words-of-the-model").reset()] {
        site.provider.push(failure);
        ada.say("c", &format!("m{}", site.provider.requests().len()), "words-of-a-user").await.text().await.unwrap();
    }
    let gate = Gate::default();
    site.provider.push(Script::stream().say("words-of-the-model").hold(&gate));
    let mut reading = Reading::new(ada.say("c", "last", "words-of-a-user").await);
    reading.until_said("words-of-the-model").await;
    ada.post("/api/chat/c/stop").await;
    reading.rest().await;
    ada.say("c", "too-long", &"words-of-a-user".repeat(400)).await;
    let broken =
        ada.request(Method::POST, "/api/chat").header("content-type", "application/json").body("{\"words-of-a-user");
    broken.send().await.unwrap();
    ada.get("/api/chats?limit=5").await;
    revoke_token(site.db(), clock.as_ref(), &token).await.unwrap();
    site.shutdown().await;
    let mut secrets = vec![token, link, session, visitors, key];
    secrets.extend(
        [
            "test-key",
            "flt_",
            "fls_",
            "fll_",
            "fla_",
            "words-of-a-user",
            "words-of-a-visitor",
            "words-of-the-model",
            "words-of-the-provider",
            "words of the provider",
            "name-of-a-check",
            "description-of-a-check",
            "body-of-a-ping",
            "key-that-is-wrong",
            "what has it said",
        ]
        .map(str::to_owned),
    );
    secrets
}

async fn come_with_wrong_credentials(site: &Site) {
    let wrong = [
        ("authorization", "Bearer flt_wrong"),
        ("cookie", "flatline_session=fls_wrong"),
        ("flatline-session", "fla_wrong"),
    ];
    for (name, value) in wrong {
        site.visitor(Some((name, value.to_owned()))).send(Method::GET, "/api/checks", None).await;
    }
    site.visitor(None).post("/sign-in/fll_wrong").await;
}

/// The log of all tests of this process, whichever began it: what none of them may write, this one may not.
fn log() -> &'static Log {
    static LOG: OnceLock<Log> = OnceLock::new();
    LOG.get_or_init(|| {
        let log = Log::default();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new("flatline=trace"))
            .with_span_events(FmtSpan::NEW)
            .with_ansi(false)
            .with_writer(log.clone());
        subscriber.try_init().expect("no other test sets a subscriber");
        log
    })
}

on_both! {
    async fn nothing_that_was_said_and_no_secret_is_logged(kind) {
        let log = log();
        let secrets = use_everything(kind).await;
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        for secret in secrets {
            let line = log.lines().find(|line| line.contains(&secret));
            assert_eq!(line, None, "{secret} is in the log");
        }
        // It was listening: requests with their ids, routes as patterns, and what the provider has refused.
        for expected in [
            "request{id=",
            "route=\"/ping/{key}/{tail}\"",
            "route=\"/sign-in/{token}\"",
            "the provider refuses our key",
            "the model failed",
            "reason=\"the provider",
        ] {
            assert!(log.contains(expected), "{expected} is not in the log");
        }
        // One event is one line, each of ours.
        for line in log.lines() {
            assert!(line.starts_with("20") && line.contains(" flatline::"), "{line}");
        }
    }
}
