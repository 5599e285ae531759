//! `/api/checks/{id}/snippets`: what to copy so that a job pings.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::http::{CheckPath, find};
use super::snippets::{Snippet, snippets};
use crate::http::{AppState, Problem, User};

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_snippets))
}

/// Pieces of text to copy.
#[derive(Debug, Serialize, ToSchema)]
struct Snippets {
    snippets: Vec<Snippet>,
}

/// How a job pings this check: curl, a crontab line, systemd, Python. They hold the ping URL, a secret.
#[utoipa::path(get, path = "/api/checks/{id}/snippets", tag = "checks", params(("id" = String, Path)), responses(
    (status = 200, body = Snippets), (status = 404, description = "Unknown, or somebody else's")))]
async fn get_snippets(
    State(state): State<AppState>,
    User(owner): User,
    CheckPath(id): CheckPath,
) -> Result<Json<Snippets>, Problem> {
    let check = find(&state, &owner, &id).await?;
    let ping_url = format!("{}/ping/{}", state.public_url, check.ping_key);
    Ok(Json(Snippets { snippets: snippets(&check, &ping_url) }))
}
