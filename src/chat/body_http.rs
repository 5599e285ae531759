//! The body of `POST /api/chat`: bounded by what counts in it. A stock client sends its whole history with every
//! message; the server has its own, so that part may be longer and is dropped here.

use axum::extract::{FromRequest, Request};
use serde_json::Value;

use super::approvals::Approvals;
use super::message::Incoming;
use crate::http::{MAX_BODY, Problem, parse_value, read_body, require_json, too_large};

/// The largest body with a client's history in it.
const MAX_WITH_HISTORY: usize = 512 * 1024;

/// What a client posts.
#[derive(Debug)]
pub(super) enum Posted {
    /// A message to be answered.
    Message(Incoming),
    /// Its answers to calls that awaited them.
    Approvals(Approvals),
}

impl<S: Send + Sync> FromRequest<S> for Posted {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        require_json(&request)?;
        let bytes = read_body(request, MAX_WITH_HISTORY).await?;
        // Parsed and dropped between two awaits: as many such values as there are threads exist at a time.
        let body: Value = match parse_value(&bytes) {
            Ok(body) if bytes.len() <= MAX_BODY || bytes.len().saturating_sub(size_of_history(&body)) <= MAX_BODY => {
                body
            }
            Err(problem) if bytes.len() <= MAX_BODY => return Err(problem),
            Ok(_) | Err(_) => return Err(too_large(MAX_BODY)),
        };
        Ok(match Approvals::parse(&body)? {
            Some(approvals) => Self::Approvals(approvals),
            None => Self::Message(Incoming::parse(&body)?),
        })
    }
}

/// Bytes of all messages but the user's newest one: nothing is read of them but approvals, which are short.
fn size_of_history(body: &Value) -> usize {
    let alone = body.get("message").filter(|message| message["role"] != "user");
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let newest = messages.iter().rposition(|message| message["role"] == "user");
    let history = messages.iter().enumerate().filter(|(index, _)| Some(*index) != newest);
    history.map(|(_, message)| message).chain(alone).map(|message| message.to_string().len()).sum()
}
