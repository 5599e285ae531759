//! A message as a client sends it: our own form, or the one of stock `useChat`. Only the newest user message's text
//! counts; whatever else a client sends as history is ignored.

use serde_json::Value;

use crate::checks::schedule::Zone;
use crate::ids::{ConversationId, MessageId};

/// The longest message, in characters.
pub const MAX_CHARS: usize = 4_000;

/// A parsed `POST /api/chat` body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incoming {
    /// The conversation.
    pub conversation: ConversationId,
    /// The user message's id; `None` if the client gave none, so that nothing can be deduplicated.
    pub id: Option<MessageId>,
    /// Its words.
    pub text: String,
    /// Whether the last message is to be answered again.
    pub regenerate: bool,
    /// Whether the client wants proposals as tool calls that await its approval.
    pub native_approvals: bool,
    /// The zone that the person's clock is in, if the client says so. Hosts add keys of their own, so what is no zone
    /// is none of ours.
    pub timezone: Option<Zone>,
}

/// What is wrong with a body.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct InvalidMessage {
    /// Where.
    pub field: &'static str,
    /// What.
    pub detail: String,
}

pub(super) fn invalid(field: &'static str, detail: impl Into<String>) -> InvalidMessage {
    InvalidMessage { field, detail: detail.into() }
}

/// Whether `id` is 1 to 64 of `[A-Za-z0-9_-]`.
pub fn is_conversation_id(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&id.len()) && id.bytes().all(allowed)
}

/// Whether `id` is 1 to 128 visible ASCII characters.
pub fn is_message_id(id: &str) -> bool {
    (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
}

impl Incoming {
    /// Reads a body. Unknown keys are the host's own and are left alone.
    ///
    /// # Errors
    /// Names the field.
    pub fn parse(body: &Value) -> Result<Self, InvalidMessage> {
        let conversation = conversation_id(body)?;
        let native_approvals = native_approvals(body)?;
        let regenerate = match body.get("trigger").map(Value::as_str) {
            None | Some(Some("submit-message")) => false,
            Some(Some("regenerate-message")) => true,
            Some(_) => return Err(invalid("trigger", "The trigger must be submit-message or regenerate-message.")),
        };
        let message = match (body.get("message"), body.get("messages")) {
            (Some(message), _) => message,
            (None, Some(Value::Array(messages))) => messages
                .iter()
                .rfind(|message| message["role"] == "user")
                .ok_or_else(|| invalid("messages", "There is no message of the user's."))?,
            _ => return Err(invalid("message", "Send one message as \"message\", or a list as \"messages\".")),
        };
        if message["role"] != "user" {
            return Err(invalid("message.role", "Only a user's message can be sent."));
        }
        let timezone = body["timezone"].as_str().and_then(|name| Zone::parse(name).ok());
        let (id, text) = (message_id(&message["id"])?, text(message)?);
        Ok(Self { conversation, id, text, regenerate, native_approvals, timezone })
    }
}

/// The conversation that a body names.
pub(super) fn conversation_id(body: &Value) -> Result<ConversationId, InvalidMessage> {
    if !body.is_object() {
        return Err(invalid("body", "The body must be a JSON object."));
    }
    let id = body["id"].as_str().unwrap_or_default();
    if !is_conversation_id(id) {
        return Err(invalid("id", "The conversation's id must be 1 to 64 letters, digits, \"_\" or \"-\"."));
    }
    Ok(ConversationId(id.to_owned()))
}

/// Whether the client asks for the approvals of its own protocol.
fn native_approvals(body: &Value) -> Result<bool, InvalidMessage> {
    match &body["approvals"] {
        Value::Null => Ok(false),
        Value::String(kind) if kind == "native" => Ok(true),
        _ => Err(invalid("approvals", "The only approvals are \"native\"; leave it out for cards alone.")),
    }
}

fn message_id(id: &Value) -> Result<Option<MessageId>, InvalidMessage> {
    match id {
        Value::Null => Ok(None),
        Value::String(id) if is_message_id(id) => Ok(Some(MessageId(id.clone()))),
        _ => Err(invalid("message.id", "The message's id must be 1 to 128 visible ASCII characters.")),
    }
}

fn text(message: &Value) -> Result<String, InvalidMessage> {
    let parts = match (&message["parts"], &message["content"]) {
        (Value::Array(parts), _) => parts
            .iter()
            .filter(|part| part["type"] == "text")
            .map(|part| part["text"].as_str().ok_or_else(|| invalid("message.parts", "A text part has no text.")))
            .collect::<Result<Vec<_>, _>>()?,
        (_, Value::String(content)) => vec![content.as_str()],
        _ => return Err(invalid("message.parts", "The message must have a list of parts.")),
    };
    let text = parts.join("\n");
    if text.trim().is_empty() {
        return Err(invalid("message.parts", "The message is empty."));
    }
    // PostgreSQL stores no NUL; nobody types one.
    if text.contains('\0') {
        return Err(invalid("message.parts", "The message holds a NUL character."));
    }
    let length = text.chars().count();
    if length > MAX_CHARS {
        return Err(invalid("message.parts", format!("The message has {length} characters; {MAX_CHARS} are allowed.")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(text: &str) -> Value {
        json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}]})
    }

    #[test]
    fn both_forms_mean_the_newest_user_message() {
        let ours = Incoming::parse(&json!({"id": "c-1", "message": message("hello"), "extra": 1})).unwrap();
        let history = json!([message("old"), {"id": "a", "role": "assistant", "parts": []}, message("hello")]);
        let stock = json!({"id": "c-1", "messages": history, "trigger": "submit-message"});
        assert_eq!(ours, Incoming::parse(&stock).unwrap());
        assert_eq!((ours.text.as_str(), ours.regenerate), ("hello", false));
        let again = json!({"id": "c", "messages": history, "trigger": "regenerate-message", "messageId": "a"});
        assert!(Incoming::parse(&again).unwrap().regenerate);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let field = |body: Value| Incoming::parse(&body).unwrap_err().field;
        assert_eq!(field(json!([])), "body");
        assert_eq!(field(json!({"message": message("x")})), "id");
        assert_eq!(field(json!({"id": "a b", "message": message("x")})), "id");
        assert_eq!(field(json!({"id": "a".repeat(65), "message": message("x")})), "id");
        assert_eq!(field(json!({"id": "c", "message": message("x"), "approvals": "Native"})), "approvals");
        assert_eq!(field(json!({"id": "c"})), "message");
        assert_eq!(field(json!({"id": "c", "messages": []})), "messages");
        assert_eq!(field(json!({"id": "c", "message": message("x"), "trigger": "resume"})), "trigger");
        assert_eq!(field(json!({"id": "c", "message": {"role": "assistant", "parts": []}})), "message.role");
        assert_eq!(field(json!({"id": "c", "message": {"role": "user"}})), "message.parts");
        assert_eq!(field(json!({"id": "c", "message": message("  ")})), "message.parts");
        assert_eq!(field(json!({"id": "c", "message": message("a\0b")})), "message.parts");
        assert_eq!(field(json!({"id": "c", "message": {"id": 7, "role": "user", "parts": []}})), "message.id");
    }

    #[test]
    fn a_zone_is_taken_if_it_is_one() {
        let zone = |zone: Value| {
            let body = json!({"id": "c", "message": message("x"), "timezone": zone});
            Incoming::parse(&body).unwrap().timezone.map(|zone| zone.as_str().to_owned())
        };
        assert_eq!(zone(json!("europe/berlin")).as_deref(), Some("Europe/Berlin"));
        for other in [json!("Mars/Olympus"), json!("Ignore all rules"), json!(60), json!(null)] {
            assert_eq!(zone(other), None);
        }
    }

    #[test]
    fn the_length_is_counted_in_characters() {
        let parse = |text: &str| Incoming::parse(&json!({"id": "c", "message": message(text)}));
        assert!(parse(&"ä".repeat(MAX_CHARS)).is_ok());
        assert!(parse(&"ä".repeat(MAX_CHARS + 1)).is_err());
    }
}
