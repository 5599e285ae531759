//! However much a provider sends, over HTTP and into the database: all of it up to a bound, and a proper end there.

use flatline::limits::Tier;
use flatline::on_db;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::asking::{Reading, messages, number, remaining, rows};
use crate::chat::assert_contract;
use crate::database::Kind;
use crate::provider::{Gate, Script};
use crate::site::{Site, Visitor, text, types};

/// One answer's text at most (model.md).
const LONGEST: usize = 4 << 20;
/// A piece of an answer without end.
const PIECE: usize = 64 << 10;

/// A provider's frame with this delta.
fn frame(delta: &Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

async fn site_and_user(kind: Kind) -> (Site, Visitor) {
    let site = Site::start(kind).await;
    let user = site.user("ada", Tier::Free).await;
    (site, user)
}

/// From here on the database counts how often a message's row is written.
async fn count_writes(site: &Site, kind: Kind) {
    let sql = match kind {
        Kind::Sqlite => {
            "CREATE TABLE writes (n bigint); CREATE TRIGGER counting AFTER UPDATE ON messages
            BEGIN INSERT INTO writes VALUES (1); END"
        }
        Kind::Postgres => {
            "CREATE TABLE writes (n bigint);
            CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN INSERT INTO writes VALUES (1); RETURN NULL; END $$;
            CREATE TRIGGER counting AFTER UPDATE ON messages FOR EACH ROW EXECUTE FUNCTION count_write()"
        }
    };
    on_db!(site.db().autocommit(), pool => sqlx::raw_sql(sql).execute(pool).await.map(|_| ())).unwrap();
}

async fn writes(site: &Site) -> u64 {
    u64::try_from(number(site.db(), "SELECT count(*) FROM writes").await).unwrap()
}

/// How many chunks of that type there are.
fn count(said: &[Value], kind: &str) -> usize {
    types(said).iter().filter(|found| **found == kind).count()
}

/// Sends a message; the answer is a whole one that ends well, though not because the provider ended it.
async fn cut_off(site: &Site, user: &Visitor, conversation: &str) -> Vec<Value> {
    let said = user.chat(conversation, "m", "go on for ever").await;
    assert_contract(&said);
    assert_eq!(types(&said).last(), Some(&"finish"));
    assert_eq!(messages(site.db(), conversation).await[1].status, "complete");
    site.provider.requests().last().unwrap().wait_for_client_to_leave().await;
    said
}

on_both! {
    async fn ten_thousand_chunks_of_one_letter(kind) {
        let (site, user) = site_and_user(kind).await;
        count_writes(&site, kind).await;
        let letters: Vec<&str> = ["a", "ß", "✓", "🐢", "\n"].into_iter().cycle().take(10_000).collect();
        let all: String = letters.concat();
        let each_alone = letters.iter().fold(Script::stream(), |script, letter| script.say(letter));
        let frames: String = letters.iter().map(|letter| frame(&json!({"content": letter}))).collect();
        for (way, script) in [("each-alone", each_alone), ("in-one-write", Script::stream().write(frames))] {
            let gate = Gate::default();
            site.provider.push(script.hold(&gate).finish("stop"));
            let (begun, before) = (Instant::now(), writes(&site).await);
            let mut reading = Reading::new(user.say(way, "m", "spell it").await);
            let mut said = Vec::new();
            let mut bytes = 0;
            while bytes < all.len() {
                said.push(reading.next().await.expect("the stream ended too early"));
                bytes += said.last().unwrap()["delta"].as_str().map_or(0, str::len);
            }
            // Who comes now gets in one chunk what came in ten thousand.
            let mut late = Reading::new(user.say(way, "m", "spell it").await);
            let caught_up = late.until_said(&all).await;
            assert_eq!(types(&caught_up), ["start", "start-step", "text-start", "text-delta"], "{way}");
            gate.open();
            said.extend(reading.rest().await);
            let seconds = begun.elapsed().as_secs();
            assert_contract(&said);
            assert!(text(&said) == all, "{way}: a letter is lost");
            assert!(messages(site.db(), way).await[1].text == all, "{way}: a letter is not stored");
            // Once a second and at the end, not once for each chunk.
            let written = writes(&site).await - before;
            assert!(written <= seconds + 1, "{way}: the row was written {written} times in {seconds} s");
        }
    }

    async fn one_chunk_of_a_megabyte(kind) {
        let (site, user) = site_and_user(kind).await;
        let line = "02:30 \"Zürich\" \u{1F422} \\ ✓\n";
        let all = line.repeat((1 << 20) / line.len());
        site.provider.push(Script::stream().say(&all).finish("stop"));
        let said = user.chat("c", "m", "all of it").await;
        assert_contract(&said);
        assert!(text(&said) == all, "something is lost");
        assert!(messages(site.db(), "c").await[1].text == all, "something is not stored");
        let history = user.get("/api/chat/c").await;
        assert!(history["messages"][1]["parts"][1]["text"].as_str() == Some(&all), "history shows something else");
    }

    async fn an_answer_without_end(kind) {
        let (site, user) = site_and_user(kind).await;
        for member in ["content", "reasoning_content"] {
            let piece = frame(&json!({member: "0123456789abcdef".repeat(PIECE / 16)}));
            site.provider.push(Script::stream().write_times(&piece, 1_000_000));
            let said = cut_off(&site, &user, member).await;
            let sent: usize = said.iter().filter_map(|chunk| chunk["delta"].as_str()).map(str::len).sum();
            let stored = messages(site.db(), member).await[1].text.len();
            assert_eq!(sent, stored, "{member}");
            // Thoughts alone are followed by a sentence of our own.
            let own = if member == "content" { 0 } else { text(&said).len() };
            assert!(own < 100 && (LONGEST - 100..=LONGEST).contains(&(stored - own)), "{member}: {stored} bytes");
        }
        assert_eq!(remaining(&user).await, [18]);
    }

    async fn an_answer_without_end_after_a_tool_call(kind) {
        let (site, user) = site_and_user(kind).await;
        let begin = Script::stream().say(&"x".repeat(LONGEST - PIECE / 2));
        site.provider.push(begin.call(0, "get_account", &json!({})).finish("tool_calls"));
        // More than there is room for, and characters that do not fit into the last bytes; nobody waits for more.
        site.provider.push(Script::stream().say(&"✓".repeat(PIECE / 3)).hang());
        let said = cut_off(&site, &user, "c").await;
        assert_eq!(site.provider.requests().len(), 2);
        let stored = messages(site.db(), "c").await[1].text.len();
        assert_eq!(text(&said).len(), stored);
        assert!((LONGEST - 100..=LONGEST).contains(&stored), "one answer, not one model call: {stored} bytes");
    }

    async fn ten_thousand_calls_in_one_answer(kind) {
        let (site, user) = site_and_user(kind).await;
        let check = |n: usize| json!({"name": format!("check {n}"), "period_seconds": 3600});
        let reads = (0..10_000).fold(Script::stream(), |script, n| script.call(n, "get_account", &json!({})));
        let changes = (0..10_000).fold(Script::stream(), |script, n| script.call(n, "create_check", &check(n)));
        for (conversation, script, executed) in [("reads", reads, 8), ("changes", changes, 5)] {
            site.provider.push(script.finish("tool_calls"));
            let said = user.chat(conversation, "m", "do them all").await;
            assert_contract(&said);
            assert_eq!(types(&said).last(), Some(&"finish"));
            assert_eq!(count(&said, "tool-output-available"), executed, "{conversation}");
            assert!(count(&said, "tool-output-error") < 100, "{conversation}: what is not done is not kept either");
            assert_eq!(messages(site.db(), conversation).await[1].status, "complete");
        }
        assert_eq!(rows(site.db()).await.actions, 5, "eight calls, of which five may propose");
        assert_eq!(site.provider.requests().len(), 2);
        assert_eq!(remaining(&user).await, [18]);
    }

    async fn arguments_of_megabytes(kind) {
        let (site, user) = site_and_user(kind).await;
        let piece = |arguments: &str| {
            let function = json!({"name": "create_check", "arguments": arguments});
            frame(&json!({"tool_calls": [{"index": 0, "id": "call_1", "function": function}]}))
        };
        let (open, close) = (r#"{"period_seconds":3600,"name":""#, r#""}"#);
        let (whole, part) = ("x".repeat(2 << 20), piece(&"x".repeat(PIECE)));
        let at_once = Script::stream().write(piece(&format!("{open}{whole}{close}"))).finish("tool_calls");
        let in_pieces = Script::stream().write(piece(open)).write_times(&part, 32).write(piece(close));
        let without_end = Script::stream().write(piece(open)).write_times(&part, 1_000_000);
        for (n, script) in [at_once, in_pieces.finish("tool_calls"), without_end].into_iter().enumerate() {
            let asked = site.provider.requests().len();
            site.provider.push(script);
            let said = user.chat(&format!("c{n}"), "m", "watch it").await;
            assert_contract(&said);
            assert_eq!((count(&said, "tool-output-error"), text(&said).as_str()), (1, "ok"), "{n}");
            assert_eq!(types(&said).last(), Some(&"finish"));
            let told = site.provider.requests()[asked + 1].body.to_string();
            assert!(told.contains("Nothing was done") && told.len() < PIECE, "{n}: the model is told {}", told.len());
        }
        site.provider.requests()[4].wait_for_client_to_leave().await;
        assert_eq!(rows(site.db()).await.actions, 0, "nothing is proposed");
        let longest = "SELECT CAST(max(length(CAST(parts AS TEXT))) AS bigint) FROM messages";
        assert!(number(site.db(), longest).await < 10_000, "what was rejected is not kept");
    }
}
