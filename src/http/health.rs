//! Whether the process is up, and whether it should get requests.

use axum::extract::State;
use axum::http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{AppState, Problem};

/// `/healthz` and `/readyz`.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz))
}

/// The process is up.
#[utoipa::path(get, path = "/healthz", tag = "operations", responses((status = 200, description = "Up")))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// The database answers and is migrated, and the process is not stopping.
#[utoipa::path(get, path = "/readyz", tag = "operations", responses(
    (status = 200, description = "Ready"), (status = 503, description = "Not ready")))]
async fn readyz(State(state): State<AppState>) -> Result<&'static str, Problem> {
    if state.stopping.is_cancelled() {
        return Err(Problem::unavailable("The server is stopping."));
    }
    match state.db.check_ready().await {
        Ok(()) => Ok("ready\n"),
        Err(error) => {
            tracing::warn!(%error, "not ready");
            let detail = "The database does not answer or is not migrated.";
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", detail).retry_after(2))
        }
    }
}
