//! Channels over HTTP, and what was sent through them.

use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Refusal;
use super::channels::{self, ChannelChanges, ChannelKind, ChannelSpec, Made, TestError};
use super::http::CheckPath;
use super::notice::Event;
use super::store::channels::{Channel, find_channel, list_channels};
use super::store::deliveries::{DeliveryRow, list_of_channel, list_of_check};
use super::store::find_check;
use crate::clock::Millis;
use crate::http::{AppState, JsonBody, Nothing, OptionalJson, Page, Paging, Problem, User};
use crate::ids::{ChannelId, CheckId};

/// The routes of channels.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(update, delete))
        .routes(routes!(test))
        .routes(routes!(list_deliveries))
        .routes(routes!(list_notifications))
}

/// The channel that a path names. What is no uuid is no channel's id.
struct ChannelPath(ChannelId);

impl<S: Send + Sync> FromRequestParts<S> for ChannelPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let id = path.ok().and_then(|Path(text)| ChannelId::parse(&text));
        Ok(id.map(Self).ok_or_else(channels::not_found)?)
    }
}

/// A channel.
#[derive(Debug, Serialize, ToSchema)]
struct ChannelView {
    id: ChannelId,
    kind: ChannelKind,
    name: String,
    /// Of a webhook or slack.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Of email.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    created_at: Millis,
}

/// A new channel.
#[derive(Serialize, ToSchema)]
struct NewChannel {
    #[serde(flatten)]
    #[schema(inline)]
    channel: ChannelView,
    /// What a webhook's messages are signed with. Told this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// A page of channels.
#[derive(Debug, Serialize, ToSchema)]
struct ChannelList {
    channels: Vec<ChannelView>,
    #[schema(required)]
    next: Option<String>,
}

/// One message to one channel.
#[derive(Debug, Serialize, ToSchema)]
struct DeliveryView {
    /// The receiver sees it too, the same at every attempt.
    id: String,
    event: Event,
    channel: ChannelName,
    /// Null for a test.
    #[schema(required)]
    check_id: Option<CheckId>,
    /// `pending`, `sent` or `failed`.
    status: String,
    attempts: i64,
    created_at: Millis,
    /// When it was sent, or given up, or overtaken by something newer about its check.
    #[schema(required)]
    finished_at: Option<Millis>,
    /// While it is pending.
    #[schema(required)]
    next_attempt_at: Option<Millis>,
    /// Why the last attempt failed, or why there was none.
    #[schema(required)]
    last_error: Option<String>,
}

/// A channel by name.
#[derive(Debug, Serialize, ToSchema)]
struct ChannelName {
    id: ChannelId,
    name: String,
    kind: ChannelKind,
}

/// A page of what was sent through a channel.
#[derive(Debug, Serialize, ToSchema)]
struct DeliveryList {
    deliveries: Vec<DeliveryView>,
    #[schema(required)]
    next: Option<String>,
}

/// A page of what was sent about a check.
#[derive(Debug, Serialize, ToSchema)]
struct NotificationList {
    notifications: Vec<DeliveryView>,
    #[schema(required)]
    next: Option<String>,
}

/// Own channels, oldest first.
#[utoipa::path(get, path = "/api/channels", operation_id = "list_channels", tag = "channels", params(Paging), responses(
    (status = 200, body = ChannelList)))]
async fn list(State(state): State<AppState>, User(owner): User, paging: Paging) -> Result<Json<ChannelList>, Problem> {
    // There are few, and this list is oldest first: what comes after the page before is picked here.
    let (before, mut channels) = (paging.before()?, list_channels(&state.db, &owner).await?);
    channels.retain(|channel| before.as_deref().is_none_or(|before| channel.id.as_str() > before));
    let page = Page::cut(channels, paging.limit, |channel| channel.id.to_string());
    Ok(Json(ChannelList { channels: page.rows.into_iter().map(ChannelView::from).collect(), next: page.next }))
}

/// Makes a channel. Every check that is there tells it, unless `checks` is `none`.
#[utoipa::path(post, path = "/api/channels", operation_id = "create_channel", tag = "channels",
    request_body = ChannelSpec, responses((status = 201, body = NewChannel),
    (status = 409, description = "No place left, or the name is taken"),
    (status = 422, description = "A field does not fit, the address has a channel, or the site sends no mail")))]
async fn create(
    State(state): State<AppState>,
    User(owner): User,
    JsonBody(spec): JsonBody<ChannelSpec>,
) -> Result<(StatusCode, Json<NewChannel>), Problem> {
    let has_mail = state.config.smtp.is_some();
    let Made { channel, secret } = channels::create(&state.db, state.clock.now(), &owner, has_mail, spec).await?;
    Ok((StatusCode::CREATED, Json(NewChannel { channel: channel.into(), secret })))
}

/// Changes the named fields and no other.
#[utoipa::path(patch, path = "/api/channels/{id}", operation_id = "update_channel", tag = "channels",
    params(("id" = String, Path)), request_body = ChannelChanges, responses((status = 200, body = ChannelView),
    (status = 404, description = "Unknown, or somebody else's"), (status = 409, description = "The name is taken"),
    (status = 422, description = "A field does not fit, or the address has a channel")))]
async fn update(
    State(state): State<AppState>,
    User(owner): User,
    ChannelPath(id): ChannelPath,
    JsonBody(changes): JsonBody<ChannelChanges>,
) -> Result<Json<ChannelView>, Problem> {
    Ok(Json(channels::update(&state.db, &owner, &id, changes).await?.into()))
}

/// Deletes a channel, and with it what was or is to be sent there.
#[utoipa::path(delete, path = "/api/channels/{id}", operation_id = "delete_channel", tag = "channels",
    params(("id" = String, Path)), responses((status = 204, description = "Deleted"),
    (status = 404, description = "Unknown, or somebody else's")))]
async fn delete(
    State(state): State<AppState>,
    User(owner): User,
    ChannelPath(id): ChannelPath,
) -> Result<StatusCode, Problem> {
    channels::delete(&state.db, state.clock.now(), &owner, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends a test message; how it went stands in the channel's deliveries.
#[utoipa::path(post, path = "/api/channels/{id}/test", operation_id = "test_channel", tag = "channels",
    params(("id" = String, Path)), request_body(content = Option<Nothing>), responses((status = 202, body = DeliveryView),
    (status = 404, description = "Unknown, or somebody else's"),
    (status = 429, description = "`quota_exceeded`: 5 in any 10 minutes")))]
async fn test(
    State(state): State<AppState>,
    User(owner): User,
    ChannelPath(id): ChannelPath,
    _: OptionalJson<Nothing>,
) -> Result<(StatusCode, Json<DeliveryView>), Problem> {
    let delivery = channels::test(&state.db, &state.clock, &owner, &id).await?;
    Ok((StatusCode::ACCEPTED, Json(delivery.into())))
}

/// What was sent through a channel, or is to be; newest first.
#[utoipa::path(get, path = "/api/channels/{id}/deliveries", tag = "channels", params(("id" = String, Path), Paging),
    responses((status = 200, body = DeliveryList), (status = 404, description = "Unknown, or somebody else's")))]
async fn list_deliveries(
    State(state): State<AppState>,
    User(owner): User,
    ChannelPath(id): ChannelPath,
    paging: Paging,
) -> Result<Json<DeliveryList>, Problem> {
    find_channel(&state.db, &owner, &id).await?.ok_or_else(channels::not_found)?;
    let rows = list_of_channel(&state.db, &owner, &id, paging.before()?.as_deref(), paging.limit + 1).await?;
    let page = Page::cut(rows, paging.limit, |row| row.id.clone());
    Ok(Json(DeliveryList { deliveries: page.rows.into_iter().map(DeliveryView::from).collect(), next: page.next }))
}

/// Who was told of a check, and how that went; newest first.
#[utoipa::path(get, path = "/api/checks/{id}/notifications", tag = "checks", params(("id" = String, Path), Paging),
    responses((status = 200, body = NotificationList), (status = 404, description = "Unknown, or somebody else's")))]
async fn list_notifications(
    State(state): State<AppState>,
    User(owner): User,
    CheckPath(id): CheckPath,
    paging: Paging,
) -> Result<Json<NotificationList>, Problem> {
    find_check(&state.db, &owner, &id).await?.ok_or_else(Refusal::not_found)?;
    let rows = list_of_check(&state.db, &owner, &id, paging.before()?.as_deref(), paging.limit + 1).await?;
    let page = Page::cut(rows, paging.limit, |row| row.id.clone());
    let notifications = page.rows.into_iter().map(DeliveryView::from).collect();
    Ok(Json(NotificationList { notifications, next: page.next }))
}

impl From<Channel> for ChannelView {
    fn from(Channel { id, kind, name, target, created_at }: Channel) -> Self {
        let (url, address) = match kind {
            ChannelKind::Webhook | ChannelKind::Slack => (Some(target), None),
            ChannelKind::Email => (None, Some(target)),
        };
        Self { id, kind, name, url, address, created_at }
    }
}

impl From<DeliveryRow> for DeliveryView {
    fn from(row: DeliveryRow) -> Self {
        let channel = ChannelName { id: row.channel_id, name: row.channel_name, kind: row.channel_kind };
        let next_attempt_at = (row.status == "pending").then_some(row.next_attempt_at);
        let DeliveryRow { id, event, check_id, status, attempts, created_at, finished_at, last_error, .. } = row;
        Self { id, event, channel, check_id, status, attempts, created_at, finished_at, next_attempt_at, last_error }
    }
}

impl From<TestError> for Problem {
    fn from(error: TestError) -> Self {
        match error {
            TestError::Check(error) => error.into(),
            TestError::TooOften(standings) => {
                let wait = standings.first().map(|standing| standing.wait).unwrap_or_default();
                let detail = "A channel is tested at most 5 times in 10 minutes.";
                Self::new(StatusCode::TOO_MANY_REQUESTS, "quota_exceeded", detail).wait(wait)
            }
        }
    }
}
