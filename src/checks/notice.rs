//! What people are told: one notice as data, and the words made of it for chats and mail. Pure. Never a ping URL.

use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Status;
use super::history::{FlipView, Reason};
use super::words::span;
use crate::clock::Millis;
use crate::ids::{ChannelId, CheckId};

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum Event {
    /// A check went down.
    #[serde(rename = "check.down")]
    CheckDown,
    /// It came up again.
    #[serde(rename = "check.up")]
    CheckUp,
    /// It is still down.
    #[serde(rename = "check.reminder")]
    CheckReminder,
    /// Somebody tries a channel.
    #[serde(rename = "channel.test")]
    ChannelTest,
}

impl Event {
    /// The word as stored and sent.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CheckDown => "check.down",
            Self::CheckUp => "check.up",
            Self::CheckReminder => "check.reminder",
            Self::ChannelTest => "channel.test",
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for Event {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        [Self::CheckDown, Self::CheckUp, Self::CheckReminder, Self::ChannelTest]
            .into_iter()
            .find(|event| event.as_str() == text)
            .ok_or_else(|| format!("deliveries.event holds {text:?}"))
    }
}

/// A notice, as a webhook's body: written with the flip, with the names of then, and not changed after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    /// What it is about.
    #[serde(rename = "type")]
    pub event: Event,
    /// When that happened.
    pub timestamp: Millis,
    /// The rest.
    pub data: Data,
}

/// A notice's facts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// The check, as it was then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<About>,
    /// The change of state; of a reminder the one that took the check down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flip: Option<FlipView>,
    /// How long it was down, or has been so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downtime_seconds: Option<i64>,
    /// When its ping was due, or is due next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_at: Option<Millis>,
    /// Its last accepted success or fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_ping_at: Option<Millis>,
    /// The channel, of a test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Named>,
    /// The page. Filled in when it is sent: the instance that noticed need not know where the site is reached.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
}

/// The check that a notice is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Its id.
    pub id: CheckId,
    /// Its name.
    pub name: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its state after the event.
    pub status: Status,
}

/// The channel that is tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// Its id.
    pub id: ChannelId,
    /// Its name.
    pub name: String,
}

impl Notice {
    /// One line: a mail's subject.
    pub fn headline(&self) -> String {
        self.headline_with(str::to_owned)
    }

    /// The headline, with the name as `written` writes it.
    fn headline_with(&self, written: impl Fn(&str) -> String) -> String {
        let check = || self.data.check.as_ref().map_or_else(|| "The check".to_owned(), |check| written(&check.name));
        match self.event {
            Event::CheckDown => format!("{} is down", check()),
            Event::CheckUp => format!("{} is up again", check()),
            Event::CheckReminder => format!("{} is still down", check()),
            Event::ChannelTest => {
                let channel = self.data.channel.as_ref();
                let name = channel.map_or_else(|| "this channel".to_owned(), |channel| written(&channel.name));
                format!("A test of {name}")
            }
        }
    }

    /// What there is to say beyond [`Self::headline`], in sentences.
    pub fn details(&self) -> String {
        let Data { flip, downtime_seconds, due_at, last_ping_at, .. } = &self.data;
        // Of a flip that is pruned by now nobody knows how long ago it was.
        let downtime = |begun: &str| downtime_seconds.map(|seconds| format!("{begun} {}.", span(seconds)));
        let mut sentences = match self.event {
            Event::CheckDown => vec![self.why()],
            Event::CheckUp => downtime("It was down for").into_iter().collect(),
            Event::CheckReminder => downtime("It has been down for").into_iter().chain([self.why()]).collect(),
            Event::ChannelTest => vec!["Alerts arrive here. Nothing is wrong.".to_owned()],
        };
        let is_timeout = flip.as_ref().is_some_and(|flip| flip.reason == Reason::Timeout);
        match (self.event, due_at, last_ping_at) {
            (Event::CheckUp, Some(due), _) => sentences.push(format!("The next ping is due at {}.", utc(*due))),
            (Event::CheckDown | Event::CheckReminder, _, Some(last)) if is_timeout => {
                sentences.push(format!("The last one came at {}.", utc(*last)));
            }
            _ => {}
        }
        sentences.retain(|sentence| !sentence.is_empty());
        sentences.join(" ")
    }

    fn why(&self) -> String {
        let Some(flip) = &self.data.flip else { return String::new() };
        let at = utc(flip.at);
        match (flip.reason, self.data.due_at) {
            (Reason::Timeout, Some(due)) => format!("No ping came by {at}; it was due at {}.", utc(due)),
            (Reason::Timeout, None) => format!("No ping came by {at}."),
            (Reason::Fail, _) => format!("Its job reported a failure at {at}."),
            (Reason::Exit, _) => format!("Its job ended with an error at {at}."),
            (Reason::Recovered | Reason::FirstPing, _) => String::new(),
        }
    }

    /// The text for a chat that reads `&`, `<` and `>` as Slack does. The name is code, in which neither Slack nor what
    /// reads Markdown finds a link or somebody to call.
    pub fn chat_text(&self) -> String {
        let text = format!("{}. {}", self.headline_with(code), self.details());
        let text = format!("{}\n{}", text.trim_end(), self.data.url);
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
    }

    /// The text of a mail.
    pub fn mail_text(&self) -> String {
        format!("{}.\n\n{}\n\n{}\n", self.headline(), self.details(), self.data.url)
    }
}

/// Text between backticks, which it can neither end nor leave by a new line.
fn code(text: &str) -> String {
    let inner: String = text.chars().map(|c| if c == '`' || c.is_control() { ' ' } else { c }).collect();
    format!("`{inner}`")
}

/// `2026-12-01 14:00:00 UTC`: a notice is read whenever, so it names the day.
fn utc(at: Millis) -> String {
    at.timestamp().strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(event: Event, reason: Reason, name: &str) -> Notice {
        let at = Millis(1_790_000_000_000);
        let (from, to) = if event == Event::CheckUp { (Status::Down, Status::Up) } else { (Status::Up, Status::Down) };
        let check = About { id: CheckId("c".to_owned()), name: name.to_owned(), tags: Vec::new(), status: to };
        let data = Data {
            check: Some(check),
            flip: Some(FlipView { at, from, to, reason }),
            downtime_seconds: (event != Event::CheckDown).then_some(5_400),
            due_at: Some(at),
            last_ping_at: Some(at),
            channel: None,
            url: "https://flatline.example/".to_owned(),
        };
        Notice { event, timestamp: at, data }
    }

    #[test]
    fn it_reads_like_a_sentence() {
        let text = |event, reason| notice(event, reason, "backup").chat_text();
        assert_eq!(
            text(Event::CheckDown, Reason::Timeout),
            "`backup` is down. No ping came by 2026-09-21 14:13:20 UTC; it was due at 2026-09-21 14:13:20 UTC. The last \
             one came at 2026-09-21 14:13:20 UTC.\nhttps://flatline.example/"
        );
        assert_eq!(
            text(Event::CheckUp, Reason::Recovered),
            "`backup` is up again. It was down for 1 hour 30 minutes. The next ping is due at 2026-09-21 14:13:20 UTC.\n\
             https://flatline.example/"
        );
        assert_eq!(
            text(Event::CheckReminder, Reason::Exit),
            "`backup` is still down. It has been down for 1 hour 30 minutes. Its job ended with an error at 2026-09-21 \
             14:13:20 UTC.\nhttps://flatline.example/"
        );
    }

    #[test]
    fn what_nobody_knows_is_not_told() {
        let mut up = notice(Event::CheckUp, Reason::Recovered, "backup");
        up.data.downtime_seconds = None;
        assert_eq!(up.details(), "The next ping is due at 2026-09-21 14:13:20 UTC.");
        up.data.due_at = None;
        assert_eq!(up.details(), "");
    }

    #[test]
    fn a_hostile_name_calls_nobody_in_a_chat() {
        let text = notice(Event::CheckDown, Reason::Fail, "<!channel> & <https://evil.example|here>").chat_text();
        assert!(text.starts_with("`&lt;!channel&gt; &amp; &lt;https://evil.example|here&gt;` is down."), "{text}");
        let text = notice(Event::CheckDown, Reason::Fail, "`[x](https://evil.example)\n@all").chat_text();
        assert!(text.starts_with("` [x](https://evil.example) @all` is down."), "{text}");
    }

    #[test]
    fn what_is_stored_is_what_is_read() {
        let before = notice(Event::CheckReminder, Reason::Timeout, "a\"b");
        let json = serde_json::to_value(&before).unwrap();
        assert_eq!(json["type"], "check.reminder");
        assert_eq!(serde_json::from_value::<Notice>(json).unwrap(), before);
    }
}
