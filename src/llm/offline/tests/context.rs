//! What follows from the conversation: the check spoken of last, a second look, messages that nobody answered.

use serde_json::{Value, json};

use super::{Answer, Message, ToolCall, ask};

/// A question that was answered: its calls with their results, and words.
fn past(question: &str, calls: &[(&str, Value, Value)]) -> Vec<Message> {
    let ids = || (0..).map(|n| format!("past-{n}"));
    let call = |(id, (tool, arguments, _)): (String, &(&str, Value, Value))| ToolCall {
        id,
        name: (*tool).to_owned(),
        arguments: arguments.as_object().unwrap().clone(),
    };
    let mut messages = vec![
        Message::User(question.to_owned()),
        Message::Assistant { text: String::new(), tool_calls: ids().zip(calls).map(call).collect() },
    ];
    messages.extend(ids().zip(calls).map(|(call_id, (tool, _, result))| Message::Tool {
        call_id,
        name: (*tool).to_owned(),
        content: result.clone(),
    }));
    messages.push(Message::Assistant { text: "So it is.".to_owned(), tool_calls: Vec::new() });
    messages
}

fn then(mut messages: Vec<Message>, question: &str) -> Answer {
    messages.push(Message::User(question.to_owned()));
    ask(messages, true)
}

fn calls(answer: &Answer) -> Value {
    answer.calls.iter().map(|call| json!([call.name, call.arguments])).collect()
}

fn looked_at(name: &str) -> Vec<Message> {
    past("how is it", &[("get_check", json!({"check": name}), json!({"check": {"name": name, "status": "down"}}))])
}

#[test]
fn a_question_without_a_name_is_about_the_check_spoken_of_last() {
    for (question, call) in [
        ("why is it down?", json!(["get_check", {"check": "nightly"}])),
        ("who was told?", json!(["get_check", {"check": "nightly"}])),
        ("was anyone alerted about it?", json!(["get_check", {"check": "nightly"}])),
        ("when is the next run?", json!(["get_check", {"check": "nightly"}])),
        ("when will it run next", json!(["get_check", {"check": "nightly"}])),
        ("uptime this month?", json!(["get_uptime", {"days": 6, "check": "nightly"}])),
        ("and the last 7 days?", json!(["get_uptime", {"days": 7, "check": "nightly"}])),
        ("what about last week?", json!(["get_uptime", {"days": 7, "check": "nightly"}])),
        ("did it succeed?", json!(["get_check", {"check": "nightly"}])),
        ("what is its uptime?", json!(["get_uptime", {"check": "nightly"}])),
        (
            "what happens if I set grace to 10 minutes?",
            json!(["preview_change", {"grace_seconds": 600, "check": "nightly"}]),
        ),
        ("what if it ran every 2 hours?", json!(["preview_change", {"period_seconds": 7200, "check": "nightly"}])),
    ] {
        assert_eq!(calls(&then(looked_at("nightly"), question)), json!([call]), "{question}");
    }
    // A change is never about what "it" might be.
    for command in ["delete it", "pause it", "set its grace to 10 minutes", "make it hourly", "tell ops about it"] {
        let answer = then(looked_at("nightly"), command);
        assert!(answer.text.starts_with("Which check?"), "{command}: {answer:?}");
    }
}

#[test]
fn what_was_spoken_of_comes_from_answers() {
    let pending = json!({"status": "PENDING", "number": 1, "summary": "s"});
    let done = json!({"status": "EXECUTED", "number": 1, "summary": "s"});
    let refused = json!({"error": {"code": "refused", "message": "There is no check \"b\"."}});
    for (calls_before, name) in [
        (vec![("list_checks", json!({}), json!({"checks": [{"name": "a"}]}))], Some("a")),
        (vec![("list_checks", json!({}), json!({"checks": [{"name": "a"}, {"name": "b"}]}))], None),
        (vec![("pause_check", json!({"check": "a"}), pending.clone())], Some("a")),
        (vec![("get_uptime", json!({"check": "id"}), json!({"check": "a"}))], Some("a")),
        (vec![("update_check", json!({"check": "a", "name": "b"}), done.clone())], Some("b")),
        (vec![("update_check", json!({"check": "a", "name": "b"}), pending.clone())], Some("a")),
        (vec![("create_check", json!({"name": "a"}), pending)], None),
        (vec![("create_check", json!({"name": "a"}), done)], Some("a")),
        (
            vec![
                ("get_check", json!({"check": "a"}), json!({"check": {"name": "a"}})),
                ("get_check", json!({"check": "b"}), refused),
            ],
            Some("a"),
        ),
    ] {
        let answer = then(past("x", &calls_before), "why is it down?");
        match name {
            Some(name) => assert_eq!(calls(&answer), json!([["get_check", {"check": name}]]), "{calls_before:?}"),
            None => assert!(answer.text.starts_with("Which check?"), "{calls_before:?}: {answer:?}"),
        }
    }
}

#[test]
fn who_was_told_without_a_check_looks_at_what_is_down() {
    let first = then(Vec::new(), "who was told?");
    assert_eq!(calls(&first), json!([["list_checks", {"state": "down"}]]));
    let after = |rows: Value| {
        let id = first.calls[0].id.clone();
        let content = json!({"checks": rows, "used": 9, "limit": 20});
        vec![
            Message::User("who was told?".to_owned()),
            Message::Assistant { text: String::new(), tool_calls: first.calls.clone() },
            Message::Tool { call_id: id, name: "list_checks".to_owned(), content },
        ]
    };
    let two = after(json!([{"name": "a", "status": "down"}, {"name": "b", "status": "down"}]));
    let second = ask(two.clone(), true);
    assert_eq!(calls(&second), json!([["get_check", {"check": "a"}], ["get_check", {"check": "b"}]]));
    let mut third = two;
    third.push(Message::Assistant { text: String::new(), tool_calls: second.calls.clone() });
    for call in &second.calls {
        let check = json!({"name": call.arguments["check"], "status": "down"});
        let content = json!({"check": check, "told": [], "channels": []});
        third.push(Message::Tool { call_id: call.id.clone(), name: call.name.clone(), content });
    }
    let text = ask(third, true).text;
    let told =
        "is down.\n- Nobody has been told of anything yet\n- It has no channels: nobody is told when it goes down";
    assert_eq!(text, format!("a {told}\n\nb {told}"));
    assert!(ask(after(json!([])), true).text.starts_with("No check is down. Ask about one check"));
    let many: Vec<Value> = (0..6).map(|n| json!({"name": format!("c{n}"), "status": "down"})).collect();
    let text = ask(after(many.into()), true).text;
    assert!(text.starts_with("6 checks are down:") && text.contains("Ask about one check"), "{text}");
}

/// After a crash before the first word, the history holds a message that was never answered.
#[test]
fn of_two_messages_in_a_row_the_newest_is_answered() {
    for older in ["delete X", "undo", "how is Y", "pause all tagged prod"] {
        let answer = then(vec![Message::User(older.to_owned())], "list");
        assert_eq!(calls(&answer), json!([["list_checks", {}]]), "{older}");
    }
    // Also in the second step of the answer, and the older one names nothing for it.
    let answer = then(vec![Message::User("how is Y".to_owned())], "why is it down?");
    assert!(answer.text.starts_with("Which check?"), "{answer:?}");
    let mut messages = vec![Message::User("why is X down?".to_owned())];
    let first = then(messages.clone(), "what is down?");
    messages.push(Message::User("what is down?".to_owned()));
    messages.push(Message::Assistant { text: String::new(), tool_calls: first.calls.clone() });
    messages.push(Message::Tool {
        call_id: first.calls[0].id.clone(),
        name: "list_checks".to_owned(),
        content: json!({"checks": [], "used": 0, "limit": 20}),
    });
    assert_eq!(ask(messages, true).text, "No check is down.");
}
