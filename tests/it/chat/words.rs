//! Words travel unchanged: from the user to the model, from the model to the user, and back out of the database.

use flatline::clock::Millis;
use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::stream::{assert_contract, delta};
use crate::asking::{lines, remaining, told};
use crate::provider::Script;
use crate::site::{Plan, Site, text, types};

/// What somebody may write or a model may say, and some program on the way may mangle.
const WORDS: &[&str] = &[
    "**bold** `code` [link](https://a.example/?q=1&r=2#x) ![image](https://b.example/i.png)",
    "```rust\nfn main() { println!(\"{}\", '\\n'); }\n```\n\n- one\n- two\n",
    "<script>alert('x')</script> &amp; <!-- --> </textarea>",
    "data: [DONE]\n\ndata: {\"type\":\"finish\"}\n\nevent: x\n: comment\n",
    "line\r\nend\rand\u{2028}and\u{2029}and\u{85}",
    "Grüße, 日本語, العربية, עברית, e\u{301}, \u{1f468}\u{200d}\u{1f469}, \u{1f1e9}\u{1f1ea}",
    "\u{feff}bom \u{200b}zero\u{202e}width \u{10ffff}\u{fffd}\u{1}\u{7f}\u{1b}[31m",
    "'; DROP TABLE messages; -- \\' \" \\u0041 \\\\ %s {} $1 ?1",
    "  spaces at both ends \t\n",
    "confirm, please",
];

on_both! {
    async fn whatever_is_said_arrives_as_it_was_said(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        for (n, words) in WORDS.iter().enumerate() {
            let conversation = format!("c{n}");
            // One letter at a time, so that every sequence of code points is split everywhere.
            let letters = words.chars().fold(Script::stream(), |script, letter| script.say(&letter.to_string()));
            site.provider.push(letters.finish("stop"));
            let said = user.chat(&conversation, "m", words).await;
            assert_contract(&said);
            assert_eq!(text(&said), *words);
            assert_eq!(site.provider.request(n + 1).await.body["messages"][1]["content"], *words);
            let history = user.get(&format!("/api/chat/{conversation}")).await;
            assert_eq!(history["messages"][0]["parts"][0]["text"], *words);
            assert_eq!(history["messages"][1]["parts"][1]["text"], *words);
            assert_eq!(text(&user.chat(&conversation, "m", words).await), *words, "replayed");
        }
    }

    /// A client names the zone of the person's clock; a name that is none, and whatever else it says there, is left out.
    async fn the_model_is_told_the_zone_of_the_persons_clock(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        site.clock.as_ref().unwrap().set(Millis::parse("2026-12-01T23:30:00Z").unwrap());
        let user = site.user("ada", Tier::Free).await;
        let zone = " The user's time zone is Europe/Berlin, where it is Wednesday 2026-12-02 00:30: tell and read times so, \
                    unless they name another.";
        for (n, (timezone, expected)) in
            [(json!("europe/berlin"), zone), (json!("Europe/Berlin. Obey"), ""), (json!(null), "")].into_iter().enumerate()
        {
            site.provider.push(Script::text("hi"));
            let message = json!({"id": "m", "role": "user", "parts": [{"type": "text", "text": "hi"}]});
            let body = json!({"id": format!("c{n}"), "message": message, "timezone": timezone});
            let answer = user.send(Method::POST, "/api/chat", Some(body)).await;
            assert_eq!(answer.status(), StatusCode::OK);
            answer.text().await.unwrap();
            let request = site.provider.request(n + 1).await;
            let system = request.body["messages"][0]["content"].as_str().unwrap().to_owned();
            let (_, told) = system.rsplit_once("The time is 2026-12-01T23:30:00Z.").unwrap();
            assert_eq!(told, expected);
        }
    }

    async fn a_nul_of_the_models_is_left_out(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let reasoning = delta(&json!({"reasoning_content": "h\u{0}m"}));
        site.provider.push(
            Script::stream()
                .write(reasoning)
                .say("\u{0}")
                .say("a\u{0}b")
                .call(0, "get_check", &json!({"check": "x\u{0}y", "\u{0}": 1}))
                .finish("tool_calls"),
        );
        site.provider.push(Script::text("done"));
        let said = user.chat("c", "m", "hi").await;
        assert_contract(&said);
        assert_eq!(text(&said), "abdone");
        assert!(!json!(said).to_string().contains("\\u0000"));
        assert_eq!(
            told(site.db(), "c").await,
            lines(&[("user", "complete", "hi"), ("assistant", "complete", "hmabdone")])
        );
    }

    async fn a_model_that_breaks_off_leaves_what_it_said(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let broken = || Script::stream().say("one ").say("two");
        let error = format!("data: {}\n\n", json!({"error": {"message": "words of the provider's own", "code": 500}}));
        for (n, script) in [broken().reset(), broken().write("data: {not json\n\n"), broken(), broken().write(error)]
            .into_iter()
            .enumerate()
        {
            let conversation = format!("c{n}");
            site.provider.push(script);
            let said = user.chat(&conversation, "m", "count").await;
            assert_contract(&said);
            assert_eq!(text(&said), "one two");
            assert_eq!(types(&said)[types(&said).len() - 3..], ["text-end", "finish-step", "error"]);
            assert!(!json!(said).to_string().contains("provider"), "a sentence for the user, never a cause");
            let kept = lines(&[("user", "complete", "count"), ("assistant", "failed", "one two")]);
            assert_eq!(told(site.db(), &conversation).await, kept);
            assert_eq!(
                user.get(&format!("/api/chat/{conversation}")).await["messages"][1]["metadata"]["status"],
                "failed"
            );
            assert_eq!(remaining(&user).await[0], 19 - 2 * u64::try_from(n).unwrap(), "what was said is paid for");
            // It can be asked for again as it is, and the talk goes on.
            assert_eq!(user.chat(&conversation, "m", "count").await.last().unwrap()["type"], "error");
            assert_eq!(text(&user.chat(&conversation, "m2", "go on").await), "ok");
        }
        assert_eq!(site.provider.requests().len(), 8, "what has begun is never tried again");
    }

    async fn a_call_that_broke_off_proposes_nothing(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let call = json!({"tool_calls": [{"index": 0, "id": "1", "function": {
            "name": "create_check", "arguments": "{\"name\":\"x\",\"period_sec"}}]});
        site.provider.push(Script::stream().say("Wait").write(delta(&call)).reset());
        assert_eq!(user.chat("broken", "m", "go").await.last().unwrap()["type"], "error");
        site.provider.push(Script::stream().write(delta(&call)).finish("length"));
        site.provider.push(Script::text("sorry"));
        let said = user.chat("cut", "m", "go").await;
        assert_contract(&said);
        assert!(types(&said).contains(&"tool-output-error"), "{said:?}");
        assert_eq!(crate::asking::rows(site.db()).await.actions, 0);
    }
}
