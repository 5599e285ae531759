//! The chat over HTTP.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::approvals::approve;
use super::body_http::Posted;
use super::message::{InvalidMessage, is_conversation_id, is_message_id};
use super::quota_http::{describe, quota_exceeded};
use super::receive::{Answer, ReceiveError, receive, resume};
use super::stop::stop;
use super::store::{self, Conversation, find_conversation};
use super::{Chat, stored};
use crate::accounts::charges;
use crate::accounts::http::hand_out_session;
use crate::actions::confirm::DecisionError;
use crate::actions::store::reject_open_of_conversation;
use crate::clock::Millis;
use crate::db::DbError;
use crate::http::{AppState, Caller, OptionalJson, Page, Paging, Problem, sse};
use crate::ids::{ConversationId, MessageId};
use crate::limits::standings;
use crate::llm::ModelErrorKind;

/// The routes of the chat.
pub fn routes(chat: Chat) -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(post))
        .routes(routes!(get, delete))
        .routes(routes!(list))
        .routes(routes!(stream))
        .routes(routes!(stop_turn))
        .layer(Extension(Arc::new(chat)))
}

/// A conversation with its messages.
#[derive(Debug, Serialize, ToSchema)]
struct ConversationView {
    id: ConversationId,
    title: String,
    created_at: Millis,
    /// UI messages, oldest first.
    messages: Vec<Value>,
}

/// A conversation in a list.
#[derive(Debug, Serialize, ToSchema)]
struct ConversationLine {
    id: ConversationId,
    title: String,
    created_at: Millis,
    updated_at: Millis,
}

/// A page of conversations.
#[derive(Debug, Serialize, ToSchema)]
struct ConversationList {
    chats: Vec<ConversationLine>,
    #[schema(required)]
    next: Option<String>,
}

/// What to stop.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct StopBody {
    /// Only this answer, not a newer one.
    message_id: Option<MessageId>,
}

/// One message; answers a UI message stream.
#[utoipa::path(post, path = "/api/chat", tag = "chat", request_body(content = Object,
    description = "`{id, message}`, or as stock useChat sends it `{id, messages, trigger, messageId}`; with \
        `approvals: \"native\"` proposals await the client's own approvals"),
    responses((status = 200, content_type = "text/event-stream", body = String, description = "A UI message stream"),
    (status = 409, description = "turn_in_progress"), (status = 422, description = "invalid_message"),
    (status = 429, description = "quota_exceeded or too_many_streams"), (status = 502, description = "model_unavailable"),
    (status = 504, description = "model_timeout")))]
async fn post(
    State(state): State<AppState>,
    Extension(chat): Extension<Arc<Chat>>,
    caller: Caller,
    posted: Posted,
) -> Result<Response, Problem> {
    // In a task of its own: a client that leaves now must not leave a stored message without its turn.
    let (flow, asking) = (chat.clone(), caller.clone());
    let received = chat.turns.tasks.spawn(async move {
        match posted {
            Posted::Message(incoming) => receive(&flow, &asking, incoming).await,
            Posted::Approvals(approvals) => approve(&flow, &asking, approvals).await,
        }
    });
    let received = received.await;
    let answer = received.map_err(|error| Problem::internal(format!("the chat flow broke: {error}")))??;
    let mut response = respond(&chat, &caller, answer.opened().await?).await?;
    hand_out_session(&state, &caller, response.headers_mut());
    Ok(response)
}

/// Every stream tells how its caller stands, also one that cost nothing.
async fn respond(chat: &Chat, caller: &Caller, answer: Answer) -> Result<Response, Problem> {
    let standings = if answer.standings.is_empty() {
        let told = standings(&chat.db, chat.clock.as_ref(), &charges(&chat.config, caller)).await;
        // Headers only: what may have been decided before is not answered with a failure for them.
        told.unwrap_or_else(|error| {
            tracing::warn!(%error, "an answer could not tell its caller's quota");
            Vec::new()
        })
    } else {
        answer.standings
    };
    let mut response = sse::response(answer.chunks);
    describe(&standings, response.headers_mut());
    Ok(response)
}

/// One conversation's history as UI messages, each action with its state of now.
#[utoipa::path(get, path = "/api/chat/{id}", operation_id = "get_chat",
    tag = "chat", params(("id" = String, Path)), responses(
    (status = 200, body = ConversationView), (status = 404, description = "chat_not_found")))]
async fn get(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<ConversationId>,
) -> Result<Json<ConversationView>, Problem> {
    let conversation = require(&state, &caller, id).await?;
    let messages = stored::history(&state.db, &conversation.reference, state.clock.now()).await?;
    let Conversation { id, title, created_at, .. } = conversation;
    Ok(Json(ConversationView { id, title, created_at, messages }))
}

/// Own conversations, most recently used first.
#[utoipa::path(get, path = "/api/chats", operation_id = "list_chats",
    tag = "chat", params(Paging), responses((status = 200, body = ConversationList)))]
async fn list(
    State(state): State<AppState>,
    caller: Caller,
    paging: Paging,
) -> Result<Json<ConversationList>, Problem> {
    let before = paging.before_as(|cursor| {
        let (at, key) = cursor.split_once('.')?;
        Some((Millis(at.parse().ok()?), Uuid::try_parse(key).ok()?.to_string()))
    })?;
    let rows = store::list_conversations(&state.db, &caller.owner(), before, paging.limit + 1).await?;
    let page = Page::cut(rows, paging.limit, |row| format!("{}.{}", row.updated_at.0, row.reference));
    let line = |row: Conversation| ConversationLine {
        id: row.id,
        title: row.title,
        created_at: row.created_at,
        updated_at: row.updated_at,
    };
    Ok(Json(ConversationList { chats: page.rows.into_iter().map(line).collect(), next: page.next }))
}

/// Deletes a conversation. Its open actions are cancelled; decided ones stay on record. Gives no quota back.
#[utoipa::path(delete, path = "/api/chat/{id}", operation_id = "delete_chat",
    tag = "chat", params(("id" = String, Path)), responses(
    (status = 204, description = "Deleted"), (status = 404, description = "chat_not_found")))]
async fn delete(
    State(state): State<AppState>,
    Extension(chat): Extension<Arc<Chat>>,
    caller: Caller,
    Path(id): Path<ConversationId>,
) -> Result<StatusCode, Problem> {
    let conversation = require(&state, &caller, id).await?;
    stop(&chat, &conversation.reference, None).await?;
    let clock = state.clock.clone();
    let deleted = state
        .db
        .write::<_, DbError, _>(move |tx| {
            Box::pin(async move {
                // Its row first, as everywhere: whoever is about to propose in it waits, and then finds it gone.
                let deleted = store::delete_conversation(tx, &conversation.reference).await?;
                reject_open_of_conversation(tx, &conversation.reference, clock.now()).await?;
                Ok(deleted)
            })
        })
        .await?;
    if deleted { Ok(StatusCode::NO_CONTENT) } else { Err(Problem::not_found("chat_not_found", "conversation")) }
}

/// The turn in progress from its first chunk; 204 if none runs.
#[utoipa::path(get, path = "/api/chat/{id}/stream", tag = "chat", params(("id" = String, Path)), responses(
    (status = 200, content_type = "text/event-stream", body = String, description = "A UI message stream"),
    (status = 204, description = "Nothing runs")))]
async fn stream(
    State(state): State<AppState>,
    Extension(chat): Extension<Arc<Chat>>,
    caller: Caller,
    Path(id): Path<ConversationId>,
) -> Result<Response, Problem> {
    let conversation = match require(&state, &caller, id).await {
        Ok(conversation) => conversation,
        // Stock clients ask this of every new conversation before its first message.
        Err(problem) if problem.status() == StatusCode::NOT_FOUND => return Ok(StatusCode::NO_CONTENT.into_response()),
        Err(problem) => return Err(problem),
    };
    match resume(&chat, &caller, &conversation.reference).await? {
        Some(answer) => respond(&chat, &caller, answer.opened().await?).await,
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

/// Stops the running turn, or only the named one.
#[utoipa::path(post, path = "/api/chat/{id}/stop", tag = "chat", params(("id" = String, Path)),
    request_body(content = Option<StopBody>), responses((status = 204, description = "It does not run any more"),
    (status = 404, description = "chat_not_found")))]
async fn stop_turn(
    State(state): State<AppState>,
    Extension(chat): Extension<Arc<Chat>>,
    caller: Caller,
    Path(id): Path<ConversationId>,
    OptionalJson(body): OptionalJson<StopBody>,
) -> Result<StatusCode, Problem> {
    let conversation = require(&state, &caller, id).await?;
    let message = body.unwrap_or_default().message_id;
    if message.as_ref().is_some_and(|id| !is_message_id(id.as_str())) {
        return Err(Problem::invalid_field("message_id", "That is no message's id."));
    }
    stop(&chat, &conversation.reference, message.as_ref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn require(state: &AppState, caller: &Caller, id: ConversationId) -> Result<Conversation, Problem> {
    let missing = || Problem::not_found("chat_not_found", "conversation");
    if !is_conversation_id(id.as_str()) {
        return Err(missing());
    }
    find_conversation(&state.db, &caller.owner(), &id).await?.ok_or_else(missing)
}

impl From<InvalidMessage> for Problem {
    fn from(error: InvalidMessage) -> Self {
        let detail = error.to_string();
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_message", detail).with("field", error.field)
    }
}

impl From<ReceiveError> for Problem {
    fn from(error: ReceiveError) -> Self {
        match error {
            ReceiveError::TurnInProgress => {
                let detail = "The answer to your last message is still being written. Wait for it, or stop it.";
                Self::new(StatusCode::CONFLICT, "turn_in_progress", detail)
            }
            ReceiveError::TooManyStreams => {
                let detail = "You have too many answers open at once. Close one and try again.";
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", detail)
                    .wait(std::time::Duration::from_secs(1))
            }
            ReceiveError::QuotaExceeded(standings) => quota_exceeded(&standings),
            ReceiveError::Model(ModelErrorKind::Timeout) => {
                let detail = "The model did not answer in time. Your message was not counted; please try again.";
                Self::new(StatusCode::GATEWAY_TIMEOUT, "model_timeout", detail)
            }
            ReceiveError::Model(_) => {
                let detail = "The model cannot be reached. Your message was not counted; please try again.";
                Self::new(StatusCode::BAD_GATEWAY, "model_unavailable", detail)
            }
            ReceiveError::NothingToRegenerate => {
                let detail = "There is no message to answer again.";
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_message", detail).with("field", "trigger")
            }
            ReceiveError::ActionNotFound => DecisionError::NotFound.into(),
            ReceiveError::NotTheLast => {
                let detail = "Only the last message can be answered again.";
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_message", detail).with("field", "messageId")
            }
            ReceiveError::OtherWords => {
                let detail = "A message of that id was sent with other words. Send what you changed as a new message.";
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_message", detail).with("field", "message.id")
            }
            ReceiveError::NotAQuestion => {
                let detail = "That id belongs to an answer. Give every message an id of its own.";
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid_message", detail).with("field", "message.id")
            }
            ReceiveError::Db(error) => error.into(),
            ReceiveError::Unavailable => Self::unavailable("Your message could not be answered. Please try again."),
        }
    }
}
