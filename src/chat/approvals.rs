//! A stock client's answers to tool calls that await its approval: one more way to the one claim. The ids and a
//! boolean for each are all that is taken from what the client sends; what runs is what the row holds.

use std::collections::BTreeMap;

use futures::{StreamExt, stream};
use serde_json::{Value, json};

use super::Chat;
use super::awaiting::{outcome_chunk, sentence_chunks};
use super::message::{InvalidMessage, conversation_id, invalid};
use super::receive::{Answer, ReceiveError};
use super::store::find_conversation;
use super::stored::{find_awaiting, find_cards};
use crate::actions::Via;
use crate::actions::confirm::{Decision, DecisionError, confirm, reject};
use crate::http::Caller;
use crate::ids::{ActionId, ConversationId};

/// What a client answers.
#[derive(Debug, PartialEq, Eq)]
pub struct Approvals {
    conversation: ConversationId,
    /// As the client sent them; whether each is approved.
    verdicts: BTreeMap<String, bool>,
}

impl Approvals {
    /// The approvals that a body brings; `None` if its message of now is a user's, or has none.
    ///
    /// # Errors
    /// An approval without an id or a verdict, or two verdicts on one id.
    pub fn parse(body: &Value) -> Result<Option<Self>, InvalidMessage> {
        let conversation = conversation_id(body)?;
        if body["trigger"] == "regenerate-message" {
            return Ok(None);
        }
        // Clients name the answer that they go on with when it is not their last message.
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let named = messages.iter().rfind(|message| message["id"].is_string() && message["id"] == body["messageId"]);
        let newest = body.get("message").or(named).or(messages.last());
        let Some(message) = newest.filter(|message| message["role"] == "assistant") else {
            return Ok(None);
        };
        let mut verdicts = BTreeMap::new();
        let parts = message["parts"].as_array().into_iter().flatten();
        for approval in parts.filter(|part| part["state"] == "approval-responded").map(|part| &part["approval"]) {
            let (Some(id), Some(approved)) = (approval["id"].as_str(), approval["approved"].as_bool()) else {
                return Err(invalid("messages", "An approval must have an id, and \"approved\" as true or false."));
            };
            // One spelling for one id; what is no id at all is found out later.
            let id = ActionId::parse(id).map_or_else(|| id.to_owned(), |id| id.0);
            if verdicts.insert(id, approved).is_some_and(|before| before != approved) {
                return Err(invalid("messages", "One approval is both given and denied."));
            }
        }
        Ok((!verdicts.is_empty()).then_some(Self { conversation, verdicts }))
    }
}

/// Decides each action and answers with what became of it, as the continuation of the message that proposed it. An
/// action that was decided before is not decided again: its outcome is told again.
///
/// # Errors
/// [`ReceiveError::ActionNotFound`] if one of the approvals is of no action that awaits one here; nothing is decided
/// then.
pub async fn approve(chat: &Chat, caller: &Caller, approvals: Approvals) -> Result<Answer, ReceiveError> {
    let user = caller.user().ok_or(ReceiveError::ActionNotFound)?;
    let conversation = find_conversation(&chat.db, &caller.owner(), &approvals.conversation).await?;
    let conversation = conversation.ok_or(ReceiveError::ActionNotFound)?.reference;
    let verdicts: Option<BTreeMap<ActionId, bool>> =
        approvals.verdicts.iter().map(|(id, approved)| Some((ActionId::parse(id)?, *approved))).collect();
    let verdicts = verdicts.ok_or(ReceiveError::ActionNotFound)?;
    let ids: Vec<ActionId> = verdicts.keys().cloned().collect();
    let found = find_awaiting(&chat.db, &conversation, &ids).await?;
    let mut answer = found.ok_or(ReceiveError::ActionNotFound)?;
    let mut any_decided = false;
    for (id, approved) in &verdicts {
        let decision = Decision { owner: user.clone(), action: id.clone(), via: Via::Api, digest: None };
        let decided = match approved {
            true => confirm(&chat.db, &chat.clock, decision).await,
            false => reject(&chat.db, &chat.clock, decision).await,
        };
        match decided {
            // Over: decided otherwise or too late. The row tells, below.
            Ok(_) | Err(DecisionError::Over(_) | DecisionError::Changed) => any_decided = true,
            Err(DecisionError::NotFound) => return Err(ReceiveError::ActionNotFound),
            Err(DecisionError::Db(error)) => return Err(ReceiveError::undecided(error, any_decided)),
        }
    }
    let cards = find_cards(&chat.db, &conversation, chat.clock.now()).await;
    answer.actions = cards.map_err(|error| ReceiveError::undecided(error, true))?;
    let answered = answer;
    let is_asked = |id: &ActionId| verdicts.contains_key(id);
    let mut chunks = vec![json!({"type": "start", "messageId": answered.message_id})];
    let calls = answered.awaiting().filter(|(_, id)| is_asked(id));
    chunks.extend(calls.filter_map(|(call_id, id)| outcome_chunk(call_id, answered.actions.get(id))));
    let decided: Vec<_> = answered.verdicts().filter(|(id, _)| is_asked(id)).collect();
    chunks.extend(decided.iter().map(|(id, action)| json!({"type": "data-action", "id": id, "data": action})));
    chunks.extend(decided.iter().flat_map(|(id, action)| sentence_chunks(id, action)));
    chunks.push(json!({"type": "finish"}));
    Ok(Answer { chunks: stream::iter(chunks).boxed(), standings: Vec::new(), turn: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(messages: &Value) -> Value {
        json!({"id": "c", "approvals": "native", "trigger": "submit-message", "messages": messages})
    }

    fn answer(id: &Value, approved: &Value) -> Value {
        let approval = json!({"id": id, "approved": approved, "reason": "x"});
        let part = json!({"type": "tool-pause_check", "toolCallId": "t", "state": "approval-responded",
            "input": {"check": "forged"}, "approval": approval});
        json!({"id": "a", "role": "assistant", "parts": [{"type": "step-start"}, part]})
    }

    fn parse(body: &Value) -> Option<Vec<(String, bool)>> {
        Approvals::parse(body).unwrap().map(|approvals| approvals.verdicts.into_iter().collect())
    }

    #[test]
    fn an_id_and_a_boolean_are_all_that_counts() {
        let given = answer(&json!("7"), &json!(true));
        let user = json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": "hi"}]});
        let expected = Some(vec![("7".to_owned(), true)]);
        assert_eq!(parse(&body(&json!([user, given]))), expected);
        let alone = json!({"id": "c", "message": given});
        assert_eq!(parse(&alone), expected);
        // An earlier answer counts only if it is named; a user's message after it is a message.
        let earlier = json!([given, user]);
        assert_eq!(parse(&body(&earlier)), None);
        let mut named = body(&earlier);
        named["messageId"] = "a".into();
        assert_eq!(parse(&named), expected);
        // Clients may ask for native approvals with single messages only; the answer to one is an answer all the same.
        let mut without = body(&json!([given]));
        without["approvals"] = Value::Null;
        assert_eq!(parse(&without), expected);
        let mut again = body(&json!([given]));
        again["trigger"] = "regenerate-message".into();
        assert_eq!(parse(&again), None);
        let mut over = given.clone();
        over["parts"][1]["state"] = "output-available".into();
        assert_eq!(parse(&body(&json!([over]))), None);
    }

    #[test]
    fn what_is_no_boolean_or_no_id_is_refused() {
        for (id, approved) in [
            (json!("7"), json!("true")),
            (json!("7"), json!(1)),
            (json!("7"), Value::Null),
            (json!(7), json!(true)),
            (Value::Null, json!(true)),
        ] {
            let error = Approvals::parse(&body(&json!([answer(&id, &approved)]))).unwrap_err();
            assert_eq!(error.field, "messages", "{id} {approved}");
        }
        let mut both = answer(&json!("7"), &json!(true));
        let denied = answer(&json!("7"), &json!(false))["parts"][1].clone();
        both["parts"].as_array_mut().unwrap().push(denied);
        assert!(Approvals::parse(&body(&json!([both]))).is_err());
    }
}
