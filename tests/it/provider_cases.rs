//! The provider edge over real HTTP: every recorded behaviour, retries, deadlines, limits, and what is sent.

mod calls;
mod fixture;
mod limits;
mod splits;

use std::time::Duration;

use flatline::llm::openai::{OpenAi, OpenAiConfig};
use flatline::llm::{ChatModel, Message, ModelRequest, Timeouts};
use futures::StreamExt;
use jiff::tz::TimeZone;

use crate::provider::FakeProvider;
use fixture::{Case, Seen, Then};

/// A deadline that only a hanging test meets, in milliseconds.
const LONG: u64 = 60_000;

fn timeouts(ms: u64) -> Timeouts {
    let short = Duration::from_millis(ms);
    Timeouts { connect: short, first: short, idle: short, turn: short }
}

fn client(provider: &FakeProvider, timeouts: Timeouts) -> OpenAi {
    let (api_key, base_url) = (Some("sk-our-own".to_owned()), provider.base_url().to_owned());
    OpenAi::new(OpenAiConfig { api_key, base_url, model: "demo-model".to_owned(), timeouts }).unwrap()
}

fn question() -> ModelRequest {
    ModelRequest {
        system: "You are Flatline.".to_owned(),
        messages: vec![Message::User("Is anything down?".to_owned())],
        tools: vec![],
        zone: TimeZone::UTC,
    }
}

/// Asks once and reads to the end.
async fn ask(provider: &FakeProvider, timeouts: Timeouts) -> Seen {
    read_answer(&client(provider, timeouts)).await
}

async fn read_answer(client: &OpenAi) -> Seen {
    let request = question();
    let mut deltas = match client.open(&request).await {
        Ok(deltas) => deltas,
        Err(error) => return Seen::failed(error),
    };
    let mut seen = Seen::default();
    while let Some(delta) = deltas.next().await {
        seen.take(delta);
    }
    seen
}

async fn prepare(case: Case) -> (Case, FakeProvider, OpenAi) {
    let provider = FakeProvider::start().await;
    provider.default(case.script());
    // Short only where silence is the point; elsewhere a busy machine must not look like a silent provider.
    let timeouts = match (case.then, case.expect.is_before_first_delta()) {
        (Then::Hang, true) => timeouts(4_000),
        (Then::Hang, false) => Timeouts { idle: Duration::from_secs(4), ..timeouts(LONG) },
        (Then::Close | Then::Reset, _) => timeouts(LONG),
    };
    let client = client(&provider, timeouts);
    (case, provider, client)
}

async fn replay((case, provider, client): (Case, FakeProvider, OpenAi)) -> Option<String> {
    let seen = read_answer(&client).await;
    let tries = provider.requests().len();
    let tries_differ = (tries != case.expect.tries().unwrap_or(tries)).then(|| format!("{}: {tries} tries", case.name));
    seen.difference(&case).or(tries_differ)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_over_http_gives_what_it_should() {
    // Clients first: each takes a while to load its certificates, which would count against the others' deadlines.
    let prepared: Vec<_> = futures::stream::iter(Case::all()).then(prepare).collect().await;
    let replayed = futures::stream::iter(prepared).map(replay).buffer_unordered(16);
    let differences: Vec<String> = replayed.filter_map(|difference| async { difference }).collect().await;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
