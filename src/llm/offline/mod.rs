//! The assistant that answers when no model is configured: built-in commands, and sections of the product text.
//!
//! It keeps nothing: every answer follows from the request alone, read newest message first. A person's message
//! becomes tool calls or an answer; tool results become sentences.

mod alerts;
mod answers;
mod clauses;
mod commands;
mod context;
mod creations;
mod durations;
mod edits;
mod ends;
mod fields;
mod forecasts;
mod inquiries;
mod intent;
mod lists;
mod lookups;
mod manners;
mod moments;
mod notices;
mod pauses;
mod phrase;
mod product;
mod proposals;
mod questions;
mod reasons;
mod reports;
mod schedules;
mod several;
mod spans;
mod suppositions;
mod telling;
#[cfg(test)]
mod tests;
mod timetables;
mod told;
mod uptimes;

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use jiff::{Timestamp, ZonedDateTime};

use super::{ChatModel, Delta, DeltaStream, Finish, Message, ModelError, ModelRequest, ToolCall};
use answers::Answered;
use intent::{Aspect, Call, Intent};
use product::Product;

/// Where "for 2 hours" counts from.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// The built-in assistant.
pub struct Offline {
    product: Product,
    now: Clock,
}

impl fmt::Debug for Offline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Offline").field("product", &self.product).finish_non_exhaustive()
    }
}

/// What the assistant does next.
#[derive(Debug, PartialEq)]
enum Reply {
    Say(String),
    Call(Vec<Call>),
}

const SIGN_IN: &str = "That needs you to be signed in, and nothing has been done. To sign in, open your one-time \
    sign-in link: Flatline prints one for the owner when it starts, and the command `flatline login-link NAME` makes \
    another. Then ask me again. Until then I can answer questions about Flatline.";

const COMMANDS: &str = "\
- list · what is down · what is late · list checks tagged prod · what was rejected by the floor
- how is \"nightly backup\" · why is \"nightly backup\" down · who was told about \"nightly backup\"
- when is the next run of \"nightly backup\" · uptime of \"nightly backup\" this month · outages of \"nightly backup\"
- what if \"nightly backup\" ran every 2 hours · when would cron \"*/5 * * * *\" in Europe/Berlin run
- create \"nightly backup\" every 5 minutes with grace 10 minutes tagged prod and tell ops
- create \"report\" daily at 02:30 Europe/Berlin · hourly · weekly · cron \"*/5 * * * *\" in Europe/Berlin
- rename \"report\" to \"daily report\" · tag \"report\" with prod, db · describe \"report\" as \"…\"
- set grace of \"report\" to 10 minutes · set \"report\" to every 10 minutes
- set channels of \"report\" to ops, dev · alert after 3 failures for \"report\" · remind me about \"report\" every 2 hours
- pause \"report\" for 2 hours · pause \"report\" until tomorrow 9:00 · pause all tagged prod · resume \"report\"
- rotate the ping key of \"report\" · delete \"report\" · undo · undo action 3
- my limits · my channels · help";

impl Offline {
    /// An assistant that knows `product` (the text of `prompts/product.md`) and asks `now` for the time.
    pub fn new(product: &str, now: Clock) -> Self {
        Self { product: Product::new(product), now }
    }

    fn reply(&self, request: &ModelRequest) -> Reply {
        let now = (self.now)().to_zoned_datetime(request.zone.clone());
        let question = request.messages.iter().rev().find_map(|message| match message {
            Message::User(text) => Some(text.as_str()),
            Message::Assistant { .. } | Message::Tool { .. } => None,
        });
        let intent = intent::read(question.unwrap_or("hello"), &now);
        let answered = last_results(&request.messages);
        let text = question.unwrap_or_default();
        if !answered.is_empty() {
            return match lookups::next(text, &intent, &answered) {
                calls if calls.is_empty() => Reply::Say(self.tell(text, &intent, &answered, &now)),
                calls => Reply::Call(calls),
            };
        }
        // No tools: nobody is signed in.
        if request.tools.is_empty() {
            Reply::Say(self.to_visitor(text, intent))
        } else {
            self.to_user(text, context::complete(intent, &request.messages))
        }
    }

    /// What the results say that `answered` holds.
    fn tell(&self, text: &str, intent: &Intent, answered: &[Answered], now: &ZonedDateTime) -> String {
        match (intent, answered) {
            // The question named none of the caller's checks.
            (Intent::Open, [one]) if lookups::is_lookup(intent, one) => self.about_flatline(text),
            (Intent::Read(call, _), [one]) if lookups::is_lookup(intent, one) => {
                let name = call.arguments.get("check").and_then(serde_json::Value::as_str).unwrap_or_default();
                self.on_topic(name, text).map_or_else(|| answers::missing(name), str::to_owned)
            }
            (Intent::Open, _) => format!(
                "I did not understand all of “{}”. This is what I know:\n\n{}",
                phrase::excerpt(text),
                answers::render(answered, inquiries::aspect(&phrase::words(text)), now)
            ),
            (Intent::Read(_, aspect), _) => answers::render(answered, *aspect, now),
            _ => answers::render(answered, Aspect::Status, now),
        }
    }

    /// The product text on a question that seemed to name a check, if the name is one of its topics.
    fn on_topic(&self, name: &str, text: &str) -> Option<&str> {
        self.product.names_topic(name).then(|| self.product.answer(text)).flatten()
    }

    fn about_flatline(&self, text: &str) -> String {
        self.product.answer(text).map_or_else(|| unknown(text), str::to_owned)
    }

    fn to_user(&self, text: &str, intent: Intent) -> Reply {
        match intent {
            Intent::Read(call, _) => Reply::Call(vec![call]),
            Intent::Account { .. } => Reply::Call(vec![Call::new("get_account")]),
            Intent::Propose(calls) => Reply::Call(calls),
            Intent::Unclear(sentence) => Reply::Say(format!("{sentence}\n\nNothing has changed.")),
            Intent::Question => Reply::Say(self.about_flatline(text)),
            Intent::Open => Reply::Call(vec![Call::new("list_checks")]),
            Intent::Unknown => Reply::Say(unknown(text)),
            Intent::Hello => Reply::Say(format!("Hello. {} Say help to see them, or try: list.", introduction())),
            Intent::Help => Reply::Say(format!(
                "{} These work:\n{COMMANDS}\n\nChanges are only prepared: nothing changes until you tap Confirm or type \
                 confirm. Questions about Flatline work too, such as: how do I send a ping?",
                introduction()
            )),
            Intent::Thanks => Reply::Say("You are welcome.".to_owned()),
            Intent::Consent => Reply::Say(
                "Only you can decide that: tap Confirm or Cancel on the card, or type exactly `confirm` or `cancel`, with \
                 the number (`confirm 3`) when several are open. This message has changed nothing."
                    .to_owned(),
            ),
        }
    }

    fn to_visitor(&self, text: &str, intent: Intent) -> String {
        match intent {
            // "how is grace counted" reads like a question about a check called "grace counted".
            Intent::Read(call, _) if call.tool == "get_check" => {
                let name = call.arguments.get("check").and_then(serde_json::Value::as_str).unwrap_or_default();
                self.on_topic(name, text).unwrap_or(SIGN_IN).to_owned()
            }
            Intent::Account { personal: false } => self.product.answer(text).unwrap_or(SIGN_IN).to_owned(),
            Intent::Account { personal: true }
            | Intent::Read(..)
            | Intent::Propose(_)
            | Intent::Unclear(_)
            | Intent::Consent => SIGN_IN.to_owned(),
            Intent::Question | Intent::Open | Intent::Unknown => self
                .product
                .answer(text)
                .map_or_else(|| format!("{} {}", not_understood(text), self.topics()), str::to_owned),
            Intent::Hello => format!("Hello. {} {}", introduction(), self.topics()),
            Intent::Help => format!("{} {}", introduction(), self.topics()),
            Intent::Thanks => "You are welcome.".to_owned(),
        }
    }

    fn topics(&self) -> String {
        let headings: Vec<String> = self.product.headings().map(|heading| format!("- {heading}")).collect();
        format!(
            "You are not signed in, so I can answer questions about Flatline but see no checks and prepare no changes. \
             Ask me about:\n{}",
            headings.join("\n")
        )
    }
}

fn introduction() -> &'static str {
    "I am Flatline's offline assistant: no language model is connected, so I know a set of built-in commands."
}

fn not_understood(text: &str) -> String {
    format!("I did not understand “{}”. {}", phrase::excerpt(text), introduction())
}

fn unknown(text: &str) -> String {
    format!("{} Try one of these:\n{COMMANDS}", not_understood(text))
}

/// The tool results at the end of the conversation, each with its call.
fn last_results(messages: &[Message]) -> Vec<Answered<'_>> {
    let is_result = |message: &&Message| matches!(message, Message::Tool { .. });
    let count = messages.iter().rev().take_while(is_result).count();
    let (before, results) = messages.split_at(messages.len() - count);
    let calls: &[ToolCall] = match before.last() {
        Some(Message::Assistant { tool_calls, .. }) => tool_calls,
        _ => &[],
    };
    results
        .iter()
        .filter_map(|message| match message {
            Message::Tool { call_id, name, content } => Some(Answered {
                tool: name,
                arguments: calls.iter().find(|call| call.id == *call_id).map(|call| &call.arguments),
                result: content,
            }),
            Message::User(_) | Message::Assistant { .. } => None,
        })
        .collect()
}

impl ChatModel for Offline {
    fn open<'a>(&'a self, request: &'a ModelRequest) -> BoxFuture<'a, Result<DeltaStream, ModelError>> {
        let deltas: Vec<Delta> = match self.reply(request) {
            // In words, so that the text is seen to arrive.
            Reply::Say(text) => text.split_inclusive(' ').map(|word| Delta::Text(word.to_owned())).collect(),
            Reply::Call(calls) => (1..)
                .zip(calls)
                // The count of messages keeps ids of different answers in one conversation apart.
                .map(|(number, call)| ToolCall {
                    id: format!("offline-{}-{number}", request.messages.len()),
                    name: call.tool.to_owned(),
                    arguments: call.arguments,
                })
                .map(Delta::ToolCall)
                .collect(),
        };
        let deltas = deltas.into_iter().chain([Delta::Finished(Finish::Complete)]).map(Ok);
        futures::future::ready(Ok(stream::iter(deltas.collect::<Vec<_>>()).boxed())).boxed()
    }

    fn name(&self) -> &'static str {
        "offline assistant"
    }

    fn is_offline(&self) -> bool {
        true
    }
}
