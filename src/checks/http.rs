//! Checks over HTTP: the same checks without the assistant, changed through the same `apply`.

use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::alerts::AlertChanges;
use super::apply::{Applied, Effect, apply};
use super::config::{CheckChanges, changes_from};
use super::history::{FlipView, PingView};
use super::store::{self, Listing, channels, flips, pings};
use super::values::Tag;
use super::view::CheckView;
use super::{Check, CheckError, Refusal};
use crate::clock::{Millis, SharedClock};
use crate::http::{AppState, JsonBody, Listed, Nothing, OptionalJson, Page, Paging, Problem, User};
use crate::ids::{CheckId, UserId};

/// The routes of checks.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get, update, delete))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(rotate))
        .routes(routes!(list_flips))
        .routes(routes!(list_pings))
}

/// The check that a path names. What is no uuid is no check's id.
pub(super) struct CheckPath(pub(super) CheckId);

impl<S: Send + Sync> FromRequestParts<S> for CheckPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let id = path.ok().and_then(|Path(text)| CheckId::parse(&text));
        Ok(id.map(Self).ok_or_else(Refusal::not_found)?)
    }
}

/// A page of checks.
#[derive(Debug, Serialize, ToSchema)]
struct CheckList {
    checks: Vec<CheckView>,
    #[schema(required)]
    next: Option<String>,
}

/// A page of flips.
#[derive(Debug, Serialize, ToSchema)]
struct FlipList {
    flips: Vec<FlipView>,
    #[schema(required)]
    next: Option<String>,
}

/// A page of pings.
#[derive(Debug, Serialize, ToSchema)]
struct PingList {
    pings: Vec<PingView>,
    #[schema(required)]
    next: Option<String>,
}

/// Which checks.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Which {
    /// Only those with this tag.
    #[param(required = false, value_type = String)]
    tag: Option<Tag>,
}

/// What `PATCH` takes: what is left out stays.
#[derive(ToSchema)]
#[expect(dead_code, reason = "tells the contract what the handler takes apart itself")]
struct CheckPatch {
    /// The version that the change was made for; another one is refused.
    config_version: Option<i64>,
    #[schema(inline)]
    #[serde(flatten)]
    changes: CheckChanges,
    #[schema(inline)]
    #[serde(flatten)]
    alerts: AlertChanges,
}

/// How long to pause.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Pause {
    /// When the pause ends by itself; never, if left out.
    until: Option<Millis>,
}

/// Own checks, newest first.
#[utoipa::path(get, path = "/api/checks", operation_id = "list_checks",
    tag = "checks", params(Which, Paging), responses((status = 200, body = CheckList)))]
async fn list(
    State(state): State<AppState>,
    User(owner): User,
    Listed(Which { tag }, paging): Listed<Which>,
) -> Result<Json<CheckList>, Problem> {
    let before = paging.before()?;
    let listing = Listing { tag: tag.as_ref(), before: before.as_deref(), limit: paging.limit + 1 };
    let checks = store::list_checks(&state.db, &owner, &listing).await?;
    let page = Page::cut(checks, paging.limit, |check| check.id.to_string());
    let now = state.clock.now();
    let mut told = channels::channels_by_check(&state.db, &owner).await?;
    let view = |check: Check| {
        let channels = told.remove(&check.id).unwrap_or_default();
        CheckView::new(check, now, &state.public_url).telling(channels)
    };
    let checks = page.rows.into_iter().map(view).collect();
    Ok(Json(CheckList { checks, next: page.next }))
}

/// One own check.
#[utoipa::path(get, path = "/api/checks/{id}", operation_id = "get_check",
    tag = "checks", params(("id" = String, Path)), responses(
    (status = 200, body = CheckView), (status = 404, description = "Unknown, or somebody else's")))]
async fn get(
    State(state): State<AppState>,
    User(owner): User,
    CheckPath(id): CheckPath,
) -> Result<Json<CheckView>, Problem> {
    view(&state, &owner, &id).await
}

/// Changes the named fields and no other.
#[utoipa::path(patch, path = "/api/checks/{id}", tag = "checks", params(("id" = String, Path)),
    request_body = CheckPatch, responses((status = 200, body = CheckView),
    (status = 404, description = "Unknown, or somebody else's"),
    (status = 409, description = "At another version, or the name is taken"),
    (status = 422, description = "A field does not fit, or the floor is broken")))]
async fn update(
    State(state): State<AppState>,
    User(owner): User,
    CheckPath(id): CheckPath,
    JsonBody(mut fields): JsonBody<Map<String, Value>>,
) -> Result<Json<CheckView>, Problem> {
    let config_version = match fields.shift_remove("config_version").unwrap_or_default() {
        Value::Null => None,
        version => {
            let wrong = || Problem::invalid_field("config_version", "config_version is a whole number.");
            Some(version.as_i64().ok_or_else(wrong)?)
        }
    };
    let alerts = AlertChanges::take_from(&mut fields)?;
    let changes = changes_from(fields)?;
    let update = Effect::UpdateCheck { check: id.clone(), config_version, changes, alerts, shown: None };
    change(&state, &owner, update).await?;
    view(&state, &owner, &id).await
}

/// Deletes a check with its history.
#[utoipa::path(delete, path = "/api/checks/{id}", operation_id = "delete_check",
    tag = "checks", params(("id" = String, Path)), responses(
    (status = 204, description = "Deleted"), (status = 404, description = "Unknown, or somebody else's")))]
async fn delete(
    State(state): State<AppState>,
    User(owner): User,
    CheckPath(id): CheckPath,
) -> Result<StatusCode, Problem> {
    change(&state, &owner, Effect::DeleteCheck { check: id, config_version: None }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pauses a check; again moves the end of the pause.
#[utoipa::path(post, path = "/api/checks/{id}/pause", tag = "checks", params(("id" = String, Path)),
    request_body(content = Option<Pause>), responses((status = 200, body = CheckView),
    (status = 404, description = "Unknown, or somebody else's"), (status = 422, description = "An end in the past")))]
async fn pause(
    State(state): State<AppState>,
    User(owner): User,
    CheckPath(id): CheckPath,
    OptionalJson(pause): OptionalJson<Pause>,
) -> Result<Json<CheckView>, Problem> {
    let until = pause.unwrap_or_default().until;
    change(&state, &owner, Effect::PauseCheck { check: id.clone(), config_version: None, until }).await?;
    view(&state, &owner, &id).await
}

/// Ends a check's pause; one that is not paused stays as it is.
#[utoipa::path(post, path = "/api/checks/{id}/resume", tag = "checks", params(("id" = String, Path)),
    request_body(content = Option<Nothing>), responses((status = 200, body = CheckView), (status = 404, description = "Unknown, or somebody else's")))]
async fn resume(
    State(state): State<AppState>,
    User(owner): User,
    CheckPath(id): CheckPath,
    _: OptionalJson<Nothing>,
) -> Result<Json<CheckView>, Problem> {
    change(&state, &owner, Effect::ResumeCheck { check: id.clone(), config_version: None }).await?;
    view(&state, &owner, &id).await
}

/// Replaces a check's ping URL; the old one stops working at once.
#[utoipa::path(post, path = "/api/checks/{id}/rotate", tag = "checks", params(("id" = String, Path)), responses(
    (status = 200, body = CheckView), (status = 404, description = "Unknown, or somebody else's")))]
async fn rotate(
    State(state): State<AppState>,
    User(owner): User,
    CheckPath(id): CheckPath,
) -> Result<Json<CheckView>, Problem> {
    change(&state, &owner, Effect::RotatePingKey { check: id.clone(), config_version: None }).await?;
    view(&state, &owner, &id).await
}

/// A check's changes of state, newest first.
#[utoipa::path(get, path = "/api/checks/{id}/flips", tag = "checks", params(("id" = String, Path), Paging), responses(
    (status = 200, body = FlipList), (status = 404, description = "Unknown, or somebody else's")))]
async fn list_flips(
    State(state): State<AppState>,
    User(owner): User,
    CheckPath(id): CheckPath,
    paging: Paging,
) -> Result<Json<FlipList>, Problem> {
    find(&state, &owner, &id).await?;
    let rows = flips::list_flips(&state.db, &owner, &id, paging.before()?.as_deref(), paging.limit + 1).await?;
    let page = Page::cut(rows, paging.limit, |row| row.id.clone());
    Ok(Json(FlipList { flips: page.rows.into_iter().map(FlipView::from).collect(), next: page.next }))
}

/// A check's pings, newest first.
#[utoipa::path(get, path = "/api/checks/{id}/pings", tag = "checks", params(("id" = String, Path), Paging), responses(
    (status = 200, body = PingList), (status = 404, description = "Unknown, or somebody else's")))]
async fn list_pings(
    State(state): State<AppState>,
    User(owner): User,
    CheckPath(id): CheckPath,
    paging: Paging,
) -> Result<Json<PingList>, Problem> {
    find(&state, &owner, &id).await?;
    let rows = pings::list_pings(&state.db, &owner, &id, paging.before()?.as_deref(), paging.limit + 1).await?;
    let page = Page::cut(rows, paging.limit, |row| row.id.clone());
    Ok(Json(PingList { pings: page.rows.into_iter().map(PingView::from).collect(), next: page.next }))
}

/// Applies an effect in a transaction of its own.
pub(super) async fn change(state: &AppState, owner: &UserId, effect: Effect) -> Result<Applied, CheckError> {
    let (owner, clock) = (owner.clone(), SharedClock::clone(&state.clock));
    state.db.write(move |tx| Box::pin(async move { apply(tx, clock.now(), &owner, &effect).await })).await
}

/// The check as it is now.
pub(super) async fn view(state: &AppState, owner: &UserId, id: &CheckId) -> Result<Json<CheckView>, Problem> {
    let check = find(state, owner, id).await?;
    let channels = channels::channels_of_check(&state.db, id).await?;
    Ok(Json(CheckView::new(check, state.clock.now(), &state.public_url).telling(channels)))
}

/// The owner's check, or 404.
pub(super) async fn find(state: &AppState, owner: &UserId, id: &CheckId) -> Result<Check, Problem> {
    Ok(store::find_check(&state.db, owner, id).await?.ok_or_else(Refusal::not_found)?)
}

impl From<CheckError> for Problem {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Refused(refusal) => refusal.into(),
            CheckError::Db(error) => error.into(),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(Refusal { code, message, field }: Refusal) -> Self {
        match code.as_str() {
            "check_not_found" => Self::not_found("check_not_found", "check"),
            "account_not_found" => Self::unauthorized(message),
            "check_changed" => Self::new(StatusCode::CONFLICT, "check_changed", message),
            "check_limit_reached" => Self::new(StatusCode::CONFLICT, "check_limit_reached", message),
            "channel_not_found" => Self::not_found("channel_not_found", "channel"),
            "channel_limit_reached" => Self::new(StatusCode::CONFLICT, "channel_limit_reached", message),
            "name_taken" => Self::new(StatusCode::CONFLICT, "name_taken", message).with("field", "name"),
            "unknown_field" => {
                let problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_field", message);
                problem.with("field", field.unwrap_or_default())
            }
            _ => Self::invalid_field(&field.unwrap_or_default(), message),
        }
    }
}
