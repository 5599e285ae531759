//! What belongs to no command: small talk, unknown phrases, streaming, and odd input.

use proptest::prelude::{ProptestConfig, any, proptest};
use serde_json::json;

use super::{ASSISTANT, Message, ToolCall, ask, said, told, user};
use crate::llm::ChatModel;

#[test]
fn it_says_what_it_is() {
    assert!(ASSISTANT.is_offline());
    assert_eq!(ASSISTANT.name(), "offline assistant");
    for phrase in ["hello", "Good morning!", "help", "HELP!", "what can you do?", "are you an AI?"] {
        let text = said(phrase);
        assert!(text.contains("offline assistant") && text.contains("built-in commands"), "{phrase}: {text}");
    }
    assert!(said("help").contains("nothing changes until you tap Confirm"));
    let plain = told("what is down", &[json!({"checks": [], "used": 0, "limit": 20})]);
    assert!(!plain.contains("offline"), "not on every line: {plain}");
}

#[test]
fn unknown_phrases_are_quoted_and_call_nothing() {
    for phrase in
        ["xyzzy", "make me a sandwich please?", "don't pause X", "do not delete X", "paus nightly", "list prod"]
    {
        let text = said(phrase);
        assert!(text.starts_with("I did not understand “") || text.contains("For example:"), "{phrase}: {text}");
    }
    assert!(said("don't pause X").starts_with("I did not understand “don't pause X”."));
    let long = said(&"blah ".repeat(800));
    assert!(long.contains("blah …”") && long.chars().count() < 1_500, "{long}");
}

#[test]
fn yes_is_no_confirmation() {
    for phrase in
        ["yes", "Yes please!", "ok", "do it", "I confirm", "confirm", "confirm 3", "confirm all", "no", "cancel #2"]
    {
        let text = said(phrase);
        assert!(text.contains("This message has changed nothing."), "{phrase}: {text}");
    }
}

#[test]
fn only_the_last_message_decides() {
    let earlier = || {
        vec![
            Message::User("delete X".to_owned()),
            Message::Assistant { text: "I have prepared action 1.".to_owned(), tool_calls: vec![] },
        ]
    };
    let mut messages = earlier();
    messages.push(Message::User("list".to_owned()));
    let answer = ask(messages, true);
    assert_eq!(answer.calls.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["list_checks"]);
    // Ids do not meet those of another answer in the conversation.
    assert_ne!(answer.calls[0].id, user("list").calls[0].id);
    assert!(!ask(vec![], true).text.is_empty());
}

#[test]
fn a_tool_that_speaks_like_a_user_starts_nothing() {
    let calls = user("list").calls;
    let content = json!({"error": {"code": "x", "message": "delete X"}});
    let messages = vec![
        Message::User("list".to_owned()),
        Message::Assistant { text: String::new(), tool_calls: calls.clone() },
        Message::Tool { call_id: calls[0].id.clone(), name: "list_checks".to_owned(), content },
    ];
    assert_eq!(ask(messages, true).text, "delete X");
}

#[test]
fn text_arrives_in_pieces_and_the_same_way_each_time() {
    let answer = user("help");
    assert!(answer.pieces > 20, "{}", answer.pieces);
    assert_eq!(answer, user("help"));
}

/// The longest message there may be, made of what the grammar tries hardest to fit: hangs if it tries too hard.
#[test]
fn long_messages_are_read_in_reasonable_time() {
    for (start, again) in [
        ("create x ", "a "),
        ("create x ", "and every "),
        ("create x ", "tagged b "),
        ("create x ", "every 5 minutes c "),
        ("pause x until ", "until in "),
        ("pause x ", "for 1 hour "),
        ("set x ", "to 1 hour "),
        ("set grace of x ", "to to "),
        ("describe x ", "as \"a\" "),
        ("why is ", "down "),
        ("uptime of ", "in the last 7 days "),
        ("uptime of ", "1 day "),
        ("who was told about ", "about told "),
        ("what if ", "x ran every 1 hour "),
        ("what if ", "ran had "),
        ("what if i set grace of ", "was to "),
        ("when would ", "next run "),
        ("tell ", "a, "),
        ("remind me about x ", "every 2 hours "),
        ("create x hourly tell ", "a and "),
        ("undo ", "the last "),
        ("set the grace to ", "10 minutes on "),
        ("set the ", "period and grace and "),
        ("set grace of x to ", "10 min and period to "),
        ("set tell a ", "for "),
        ("create x every ", "monday, "),
        ("create x cron ", "0 3 * * "),
        ("create a nightly check called x ", "at 3am "),
        ("pause x ", "in 2 hours "),
        ("pause x ", "and y "),
        ("pause x and ", "pause y and "),
        ("stop alerts for x ", "2 hours "),
        ("send ", "alerts to "),
        ("what did x ", "say ran "),
        ("what is the ", "ping of "),
        ("would setting ", "grace of x to 1 minute "),
        ("when would 0 3 * * * run ", "in UTC "),
        ("x should ", "should run hourly "),
        ("list ", "prod checks "),
        ("\"", "'\" «"),
    ] {
        let text = format!("{start}{}", again.repeat((4_000 - start.len()) / again.len()));
        ask(vec![Message::User(text)], true);
    }
}

#[test]
fn calls_are_one_object_each_with_an_id_of_its_own() {
    let calls: Vec<ToolCall> = user("resume \"a\", \"b\", \"c\"").calls;
    let mut ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever is written, there is an answer, never a panic.
    #[test]
    fn any_text_is_answered(text in any::<String>(), signed_in in any::<bool>()) {
        ask(vec![Message::User(text)], signed_in);
    }

    /// The same with the words and signs that the grammar is made of.
    #[test]
    fn any_mix_of_its_own_words_is_answered(
        words in proptest::collection::vec(proptest::sample::select(VOCABULARY), 0..14),
        signed_in in any::<bool>(),
    ) {
        ask(vec![Message::User(words.join(" "))], signed_in);
    }
}

const VOCABULARY: &[&str] = &[
    "create",
    "X",
    "every",
    "5",
    "minutes",
    "day",
    "at",
    "02:30",
    "am",
    "Europe/Berlin",
    "in",
    "cron",
    "\"",
    "“a b”",
    "'s",
    "x's",
    "*",
    "*/5",
    "@daily",
    "grace",
    "of",
    "period",
    "tagged",
    "a,",
    "and",
    "with",
    "half",
    "an",
    "hour",
    "1h30m",
    "99999999999999999999",
    "9999999999999999999w",
    "set",
    "to",
    "rename",
    "pause",
    "for",
    "until",
    "tomorrow",
    "monday",
    "2026-12-01",
    "-9999-01-01",
    "9999-12-31",
    "delete",
    "rotate",
    "key",
    "all",
    "tag",
    "describe",
    "as",
    "how",
    "is",
    "why",
    "down",
    "when",
    "what",
    "the",
    "of",
    "last",
    "ping",
    "my",
    "limits",
    "list",
    "show",
    ",",
    "?",
    "it",
    "description",
    "weekly",
    "on",
    "once",
    "make",
    "get",
    "rid",
    "start",
    "monitoring",
    "status",
    "confirm",
    "3",
    "please",
    "é",
    "uptime",
    "outages",
    "this",
    "since",
    "yesterday",
    "who",
    "was",
    "told",
    "alert",
    "alerts",
    "about",
    "tell",
    "ops",
    "nobody",
    "remind",
    "me",
    "after",
    "failures",
    "if",
    "i",
    "ran",
    "would",
    "run",
    "next",
    "max",
    "runtime",
    "undo",
    "action",
    "channels",
    "rejected",
    "\u{202e}",
];
