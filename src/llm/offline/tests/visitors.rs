//! Answers without tools: questions from the product text, and a refusal for everything that needs an account.

use super::{Message, ask, said};

fn visitor(text: &str) -> String {
    let answer = ask(vec![Message::User(text.to_owned())], false);
    assert!(answer.calls.is_empty(), "{text}: {answer:?}");
    answer.text
}

#[test]
fn questions_are_answered_from_the_product_text() {
    for (question, part) in [
        ("What is Flatline?", "watches jobs that should run regularly"),
        ("how do I send a ping?", "curl -fsS -m 10"),
        ("How can I ping from curl", "curl -fsS -m 10"),
        ("how do I report an exit status?", "`/0` to `/255`"),
        ("what does the start ping do", "`/start`"),
        ("why do I get a 429?", "Each plan has a floor"),
        ("what is a grace period", "**grace**"),
        ("how is grace counted", "**grace**"),
        ("can I use cron schedules?", "read as Debian's cron reads them"),
        ("what does late mean?", "the grace is still running"),
        ("which states are there", "**paused**"),
        ("what plans are there?", "**business**"),
        ("what are the limits of the free plan", "**free**: 20 checks"),
        ("what are the limits?", "**free**: 20 checks"),
        ("how do I confirm a change?", "tap Confirm"),
        ("how do I sign in?", "one-time link"),
        ("how many messages may I send?", "20 messages in any 10 minutes"),
        ("can I host it myself?", "cargo run"),
        ("does it work with postgres", "DATABASE_URL"),
        ("which commands does the operator have", "flatline token create"),
        ("how do I connect an OpenAI model", "OPENAI_API_KEY"),
        ("how do I embed the chat on my website?", "widget.js"),
    ] {
        let text = visitor(question);
        assert!(text.contains(part), "{question}: {text}");
    }
}

#[test]
fn changes_and_account_data_need_signing_in() {
    for phrase in [
        "create X every 5 minutes",
        "create",
        "please delete nightly-backup",
        "pause all tagged prod",
        "pause X until noonish",
        "rename X to Y",
        "list",
        "what is down",
        "why is nightly-backup down?",
        "how is nightly-backup",
        "show \"payroll\"",
        "my limits",
        "how many checks do I have left?",
        "who am I",
        "confirm 3",
        "yes",
        "undo",
        "uptime of nightly-backup",
        "who was told about nightly-backup?",
        "what happens if I set grace of nightly-backup to 10 minutes?",
        "tell ops about nightly-backup",
    ] {
        let text = visitor(phrase);
        assert!(text.starts_with("That needs you to be signed in, and nothing has been done."), "{phrase}: {text}");
        assert!(text.contains("flatline login-link NAME"), "{phrase}: {text}");
    }
}

#[test]
fn small_talk_says_what_it_is_and_what_a_visitor_can_do() {
    for question in ["what does it cost?", "is my data safe?", "what happened?", "who made this?"] {
        let text = visitor(question);
        assert!(text.starts_with("I did not understand"), "no section says: {question}: {text}");
    }
    for phrase in ["hello", "Hi there!", "help", "what can you do?", "xyzzy plugh"] {
        let text = visitor(phrase);
        assert!(text.contains("offline assistant"), "{phrase}: {text}");
        assert!(text.contains("You are not signed in"), "{phrase}: {text}");
        assert!(text.contains("- Sending pings"), "{phrase}: {text}");
    }
    assert!(visitor("xyzzy plugh").contains("I did not understand “xyzzy plugh”"));
    assert_eq!(visitor("thanks!"), "You are welcome.");
}

#[test]
fn users_ask_about_the_product_too() {
    for (question, part) in [
        ("how do I send a ping?", "curl -fsS"),
        ("how can I create a check?", "It prepares an action"),
        ("what is a check?", "ping URL of its own"),
        ("how do I pause a check", "pause all checks with a tag"),
        ("does the chat have limits?", "20 messages"),
        ("when is a check late?", "the grace is still running"),
    ] {
        let text = said(question);
        assert!(text.contains(part), "{question}: {text}");
    }
}
