//! `/badge/{key}.svg` and `.json`: a check's state for anybody who has the address. The key is the right to see it.

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::badge::Badge;
use super::store;
use crate::http::{AppState, Problem};

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(badge))
}

/// A check's name and state: a picture at `….svg`, data at `….json`.
#[utoipa::path(get, path = "/badge/{key}", operation_id = "get_badge", tag = "badges",
    params(("key" = String, Path, description = "The badge's key, then `.svg` or `.json`")), responses(
    (status = 200, description = "The badge", content((Badge = "application/json"), (String = "image/svg+xml"))),
    (status = 404, description = "`badge_not_found`")))]
async fn badge(State(state): State<AppState>, file: Result<Path<String>, PathRejection>) -> Result<Response, Problem> {
    let unknown = || Problem::not_found("badge_not_found", "badge");
    let Path(file) = file.map_err(|_| unknown())?;
    let (key, is_picture) = match file.rsplit_once('.') {
        Some((key, "svg")) => (key, true),
        Some((key, "json")) => (key, false),
        _ => return Err(unknown()),
    };
    // What is no uuid is nobody's key, and does not reach the database.
    let key = Uuid::parse_str(key).map_err(|_| unknown())?.to_string();
    let check = store::find_by_badge(&state.db, &key).await?.ok_or_else(unknown)?;
    let badge = Badge::new(check, state.clock.now());
    // Proxies of pictures keep one for hours unless told to ask again.
    let fresh = (CACHE_CONTROL, "no-cache");
    if !is_picture {
        return Ok(([fresh], Json(badge)).into_response());
    }
    let headers = [
        fresh,
        (CONTENT_TYPE, "image/svg+xml; charset=utf-8"),
        // Opened by itself it is a document of our origin: it may do nothing there.
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
    ];
    // A picture is made to be shown on other sites.
    Ok((headers, [("cross-origin-resource-policy", "cross-origin")], badge.svg()).into_response())
}
