//! Every route on one screen, then the layers, each with its reason.

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::get;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;

use crate::chat::Chat;
use crate::http::flood::FloodGuard;
use crate::http::{AppState, Problem, contract, flood, health, origin, request};
use crate::{accounts, actions, chat, checks, widget};

#[derive(OpenApi)]
#[openapi(info(
    title = "Flatline",
    description = "Heartbeat monitoring with an assistant whose changes a person confirms."
))]
struct Contract;

/// The router.
pub fn router(state: AppState, chat: Chat, flood_guard: Option<FloodGuard>) -> Router {
    let (routes, api) = OpenApiRouter::with_openapi(Contract::openapi())
        .merge(chat::http::routes(chat))
        .merge(actions::http::routes())
        .merge(checks::http::routes())
        .merge(checks::create_http::routes())
        .merge(checks::bulk_http::routes())
        .merge(checks::snippets_http::routes())
        .merge(checks::ping_http::routes())
        .merge(checks::uptime_http::routes())
        .merge(checks::badge_http::routes())
        .merge(checks::channels_http::routes())
        .merge(accounts::http::routes())
        .merge(health::routes())
        .split_for_parts();
    let allowed = state.config.allowed_origins.clone();
    let contract = contract::document(&api);
    routes
        .route("/openapi.json", get(|| async move { ([("content-type", "application/json")], contract) }))
        .merge(widget::routes(&allowed))
        .fallback(|| async { Problem::new(StatusCode::NOT_FOUND, "not_found", "There is nothing at this address.") })
        // From the inside out. No write from a page that may not make it:
        .layer(from_fn_with_state(state.clone(), origin::guard))
        // a panic is one 500, never the process:
        .layer(CatchPanicLayer::custom(|_| Problem::internal("a handler panicked").into_response()))
        // floods end before anything is looked up:
        .layer(from_fn_with_state(flood_guard, flood::guard))
        // listed origins may read answers, these refusals too, and preflights end here:
        .layer(origin::cors(&allowed))
        // every request has an id, an address and a line in the log; problems become bodies:
        .layer(from_fn_with_state(state.clone(), request::observe))
        .with_state(state)
}
