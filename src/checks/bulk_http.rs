//! `POST /api/checks/pause`: all checks of a tag at once.

use std::collections::HashSet;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::apply::{Effect, Pinned};
use super::http::change;
use super::store::channels::channels_by_check;
use super::store::{Listing, list_checks};
use super::values::Tag;
use super::view::CheckView;
use super::{Check, Refusal};
use crate::clock::Millis;
use crate::http::{AppState, JsonBody, Problem, User};

/// More checks than this no account has.
const ALL_CHECKS: i64 = 10_000;

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(pause_tagged))
}

/// What to pause.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Tagged {
    /// Checks with this tag.
    tag: Tag,
    /// When the pause ends by itself; never, if left out.
    until: Option<Millis>,
}

/// What was paused.
#[derive(Debug, Serialize, ToSchema)]
struct Paused {
    checks: Vec<CheckView>,
}

/// Pauses every check with a tag, all or none; again moves the end of the pause.
#[utoipa::path(post, path = "/api/checks/pause", tag = "checks", request_body = Tagged, responses(
    (status = 200, body = Paused), (status = 404, description = "No check has the tag"),
    (status = 409, description = "One of them was changed at the same moment"),
    (status = 422, description = "An end in the past")))]
async fn pause_tagged(
    State(state): State<AppState>,
    User(owner): User,
    JsonBody(Tagged { tag, until }): JsonBody<Tagged>,
) -> Result<Json<Paused>, Problem> {
    let listing = Listing { tag: Some(&tag), before: None, limit: ALL_CHECKS };
    let tagged = list_checks(&state.db, &owner, &listing).await?;
    if tagged.is_empty() {
        return Err(Refusal::not_found().into());
    }
    let ids: HashSet<_> = tagged.iter().map(|check| check.id.clone()).collect();
    let pin = |check: Check| Pinned { id: check.id, config_version: check.config_version, name: check.name };
    let effect = Effect::PauseChecks { checks: tagged.into_iter().map(pin).collect(), until };
    change(&state, &owner, effect).await?;
    let (mut now_so, now) = (list_checks(&state.db, &owner, &listing).await?, state.clock.now());
    now_so.retain(|check| ids.contains(&check.id));
    let mut told = channels_by_check(&state.db, &owner).await?;
    let view = |check: Check| {
        let channels = told.remove(&check.id).unwrap_or_default();
        CheckView::new(check, now, &state.public_url).telling(channels)
    };
    let checks = now_so.into_iter().map(view).collect();
    Ok(Json(Paused { checks }))
}
