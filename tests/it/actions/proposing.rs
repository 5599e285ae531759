//! A proposal is a row and a card, within bounds, and changes nothing else.

use flatline::actions::digest;
use flatline::actions::store::{Filter, list_actions};
use flatline::clock::Millis;
use flatline::ids::UserId;
use flatline::limits::Tier;
use reqwest::Method;
use serde_json::{Value, json};

use crate::proposals::{
    audit, checks, count, create, effects, id, new_check, new_id, propose, propose_one, reject, row, status, turn,
};
use crate::provider::Script;
use crate::site::{Plan, Site, Visitor, cards, chunks, json_of, types};

const ALL: &str = "SELECT count(*) FROM pending_actions WHERE id <> $1";

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

fn errors(chunks: &[Value]) -> Vec<&str> {
    let refused = chunks.iter().filter(|chunk| chunk["type"] == "tool-output-error");
    refused.map(|chunk| chunk["errorText"].as_str().unwrap()).collect()
}

/// A call whose arguments are sent as they stand, and the finish reason after it.
fn raw_call(name: &str, arguments: &str, finish: &str) -> Script {
    let call =
        json!({"index": 0, "id": "call_0", "type": "function", "function": {"name": name, "arguments": arguments}});
    let chunk = json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": null}]});
    Script::stream().write(format!("data: {chunk}\n\n")).finish(finish)
}

on_both! {
    async fn a_proposal_changes_nothing_but_its_row(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let check = new_check(&ada, "db", json!({"tags": ["ops"]})).await;
        let before = checks(&ada).await;
        let call = ("update_check", json!({"check": "db", "period_seconds": 7_200}));
        let chunks = turn(&site, &ada, "talk", &[call]).await;
        assert_eq!(
            types(&chunks),
            [
                "start",
                "start-step",
                "tool-input-start",
                "tool-input-available",
                "tool-output-available",
                "data-action",
                "finish-step",
                "start-step",
                "text-start",
                "text-delta",
                "text-end",
                "finish-step",
                "finish"
            ]
        );
        let [output, card] = [&chunks[4], &chunks[5]];
        assert_eq!(keys(card), ["type", "id", "data"]);
        let action = &card["data"];
        assert_eq!(
            keys(action),
            [
                "id",
                "number",
                "conversation_id",
                "kind",
                "title",
                "summary",
                "changes",
                "warnings",
                "destructive",
                "status",
                "created_at",
                "expires_at",
                "decided_at",
                "decided_via",
                "outcome",
                "digest"
            ]
        );
        assert_eq!(
            (&card["id"], &action["number"], &action["conversation_id"]),
            (&action["id"], &json!(1), &json!("talk"))
        );
        assert_eq!((&action["kind"], &action["title"]), (&json!("update_check"), &json!("Change db")));
        let change = json!({"field": "schedule", "before": "every hour", "after": "every 2 hours"});
        assert_eq!((&action["changes"], &action["warnings"]), (&json!([change]), &json!([])));
        assert_eq!((&action["destructive"], &action["status"]), (&json!(false), &json!("PENDING")));
        for undecided in ["decided_at", "decided_via", "outcome"] {
            assert_eq!(action[undecided], Value::Null, "{undecided}");
        }
        let time = |key: &str| Millis::parse(action[key].as_str().unwrap()).unwrap().0;
        assert_eq!(time("expires_at") - time("created_at"), 15 * 60 * 1_000);
        let told = json!({"status": "PENDING", "number": 1, "title": action["title"], "summary": action["summary"],
            "changes": action["changes"], "note": "Nothing has changed yet. The user must confirm."});
        assert_eq!(output["output"], told);

        assert_eq!(checks(&ada).await, before);
        assert_eq!((status(&site, action).await.as_str(), effects(&site, action).await), ("PENDING", 0));
        assert_eq!(audit(&site, action).await, [("PROPOSED".to_owned(), "assistant".to_owned(), None)]);
        // The same card wherever it is looked at, and a digest of what the row holds.
        assert_eq!(&ada.get(&format!("/api/actions/{}", id(action))).await, action);
        let history = ada.get("/api/chat/talk").await;
        let parts = history["messages"][1]["parts"].as_array().unwrap();
        let shown: Vec<&Value> = parts.iter().filter(|part| part["type"] == "data-action").collect();
        assert_eq!(shown, [&json!({"type": "data-action", "id": action["id"], "data": action})]);
        let owner = json_of(ada.post("/api/session").await).await["user"]["id"].as_str().unwrap().to_owned();
        let filter = Filter { limit: 10, ..Filter::default() };
        let stored = list_actions(site.db(), &UserId(owner), &filter, site.now()).await.unwrap().remove(0);
        assert_eq!(digest(&stored.effect, &stored.preview), action["digest"].as_str().unwrap());
        let effect = serde_json::to_value(&stored.effect).unwrap();
        assert_eq!((&effect["check"], &effect["config_version"]), (&check["id"], &check["config_version"]));
    }

    async fn at_most_five_are_proposed_in_a_turn(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let calls: Vec<_> = (0..7).map(|n| create(&format!("check {n}"))).collect();
        let chunks = turn(&site, &ada, "talk", &calls).await;
        let numbers: Vec<i64> = cards(&chunks).iter().map(|card| card["number"].as_i64().unwrap()).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5]);
        assert_eq!(errors(&chunks), ["At most 5 changes can be proposed in one message."; 2]);
        assert_eq!(count(&site, ALL, "").await, 5);
    }

    async fn at_most_twenty_are_open(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let mut open = Vec::new();
        for talk in 0..4 {
            let calls: Vec<_> = (0..5).map(|n| create(&format!("check {talk}.{n}"))).collect();
            open.extend(propose(&site, &ada, &format!("talk-{talk}"), &calls).await);
        }
        let chunks = turn(&site, &ada, "one-more", &[create("one more")]).await;
        assert_eq!(errors(&chunks), ["There are 20 open actions already. Confirm or cancel some first."]);
        assert_eq!((cards(&chunks).len(), count(&site, ALL, "").await), (0, 20));
        // Another caller has places of its own, and a decision gives one back.
        let bob = site.user("bob", Tier::Free).await;
        propose_one(&site, &bob, create("mine")).await;
        assert_eq!(reject(&ada, &open[7]).await.state(), ("REJECTED", false));
        let cards = propose(&site, &ada, "one-more", &[create("one more")]).await;
        assert_eq!(cards[0]["number"], 1, "a refused proposal takes no number");
    }

    async fn what_could_not_be_executed_makes_no_row(kind) {
        let site = Plan::new(kind).user_limit(100).start().await;
        let (ada, bob) = (site.user("ada", Tier::Free).await, site.user("bob", Tier::Free).await);
        let mine = new_check(&ada, "mine", json!({"tags": ["a"]})).await;
        let theirs = new_check(&bob, "theirs", json!({"tags": ["b"]})).await;
        for n in 0..18 {
            new_check(&ada, &format!("filler {n}"), json!({})).await;
        }
        let past = "2020-01-01T00:00:00Z";
        let refused = [
            ("create_check", json!({"period_seconds": 3_600}), "\"name\" is missing"),
            ("create_check", json!({"name": "new"}), "The schedule is missing: give period_seconds"),
            ("create_check", json!({"name": "new", "period_seconds": 299}), "at least 300 s"),
            ("create_check", json!({"name": "new", "period_seconds": "hourly"}), "period_seconds"),
            ("create_check", json!({"name": "new", "period_seconds": 3_600, "tier": "pro"}), "tier"),
            ("create_check", json!({"name": "mine", "period_seconds": 3_600}), "already a check named mine"),
            ("create_check", json!({"name": "\u{202e}x", "period_seconds": 3_600}), "name"),
            ("update_check", json!({"check": "mine"}), "like that already"),
            ("update_check", json!({"check": "mine", "name": "filler 1"}), "already a check named filler 1"),
            ("update_check", json!({"check": "mine", "period_seconds": 60}), "at least 300 s"),
            ("update_check", json!({"check": "mine", "status": "up"}), "status"),
            ("update_check", json!({"name": "x"}), "\"check\" is missing"),
            ("pause_check", json!({"check": "none"}), "There is no check \"none\"."),
            ("pause_check", json!({"check": theirs["id"]}), "There is no check"),
            ("pause_check", json!({"check": "theirs"}), "There is no check"),
            ("pause_check", json!({"check": "mine", "until": past}), "would have ended already"),
            ("pause_check", json!({"check": "mine", "until": "tomorrow"}), "until"),
            ("resume_check", json!({"check": mine["id"]}), "is not paused"),
            ("pause_checks", json!({"tag": "b"}), "No check has the tag"),
            ("pause_checks", json!({"checks": ["mine", "theirs"]}), "There is no check \"theirs\"."),
            ("pause_checks", json!({}), "either the checks or a tag"),
            ("delete_check", json!({"check": theirs["id"]}), "There is no check"),
            ("rotate_ping_key", json!({"check": 7}), "check"),
            ("ping", json!({"check": "mine"}), "There is no such tool."),
            ("set_tier", json!({"tier": "business"}), "There is no such tool."),
        ];
        let (before, bobs) = (checks(&ada).await, checks(&bob).await);
        for (name, arguments, reason) in refused {
            let chunks = turn(&site, &ada, &new_id(), &[(name, arguments.clone())]).await;
            let told = errors(&chunks);
            assert!(told.len() == 1 && told[0].contains(reason), "{name} {arguments}: {told:?}");
        }
        // One place is left, and somebody takes it.
        new_check(&ada, "the last", json!({})).await;
        let chunks = turn(&site, &ada, "full", &[create("one more")]).await;
        assert_eq!(errors(&chunks), ["The free tier has room for 20 checks, and 20 exist. Delete one first."]);
        ada.send(Method::DELETE, &format!("/api/checks/{}", find(&ada, "the last").await), None).await;
        assert_eq!((checks(&ada).await, checks(&bob).await), (before, bobs));
        assert_eq!(count(&site, ALL, "").await, 0);
    }

    async fn arguments_that_are_not_one_whole_object_make_no_row(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        let whole = r#"{"name":"x","period_seconds":3600}"#;
        for (arguments, finish) in [
            (r#"{"name":"x","period_seconds":36"#, "tool_calls"),
            (r#"{"name":"x"} {"period_seconds":3600}"#, "tool_calls"),
            (r#"["x",3600]"#, "tool_calls"),
            ("x", "tool_calls"),
            (r#"{"name":"x","period_seconds":36"#, "length"),
            // Complete by chance: a model that stopped for length may have meant more.
            (whole, "length"),
            (whole, "content_filter"),
        ] {
            site.provider.push(raw_call("create_check", arguments, finish));
            let chunks = ada.chat(&new_id(), &new_id(), "please").await;
            assert!(cards(&chunks).is_empty(), "{arguments} {finish}: {chunks:?}");
            assert_eq!(errors(&chunks).len(), 1, "{arguments} {finish}: {chunks:?}");
        }
        assert_eq!(count(&site, ALL, "").await, 0);
        site.provider.push(raw_call("create_check", whole, "tool_calls"));
        assert_eq!(cards(&ada.chat("talk", &new_id(), "please").await).len(), 1);
    }

    async fn a_visitor_has_no_tools_and_no_actions(kind) {
        let site = Site::start(kind).await;
        let visitor = site.anonymous().await;
        let chunks = turn(&site, &visitor, "talk", &[create("x"), ("list_checks", json!({}))]).await;
        assert_eq!(errors(&chunks), ["Visitors have no tools. They must sign in first."; 2]);
        assert_eq!((cards(&chunks).len(), count(&site, ALL, "").await), (0, 0));
        for request in site.provider.requests() {
            assert!(request.body.get("tools").is_none_or(|tools| *tools == json!([])), "{}", request.body);
        }
    }

    async fn the_card_stands_while_the_model_talks_on(kind) {
        let site = Site::start(kind).await;
        let ada = site.user("ada", Tier::Free).await;
        site.provider
            .push(Script::stream().say("Let me. ").call(0, "create_check", &create("x").1).finish("tool_calls"));
        site.provider.push(Script::text("Done, it is created!"));
        let chunks = chunks(ada.say("talk", "m-1", "make x").await).await;
        let card = cards(&chunks).remove(0);
        // Whatever the model claims, the row says how it stands.
        assert_eq!(row(&site, &card).await.status, "PENDING");
        assert_eq!(checks(&ada).await["checks"], json!([]));
    }
}

async fn find(who: &Visitor, name: &str) -> String {
    let checks = checks(who).await;
    let found = checks["checks"].as_array().unwrap().iter().find(|check| check["name"] == name);
    found.unwrap()["id"].as_str().unwrap().to_owned()
}
