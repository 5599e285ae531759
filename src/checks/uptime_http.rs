//! `/api/checks/{id}/uptime`: how a check did in a span of time.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::http::{CheckPath, find};
use super::read::uptime::{MAX_DAYS, USUAL_DAYS, measured};
use super::uptime::{Span, Uptime};
use crate::clock::Millis;
use crate::http::{AppState, Params, Problem, User};

/// The span unless another one is asked for.
const USUAL: Duration = Duration::from_hours(24 * USUAL_DAYS);
/// How far back a span may reach.
const FURTHEST: Duration = Duration::from_hours(24 * MAX_DAYS);

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_uptime))
}

/// Which span.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Asked {
    /// Its beginning, at most 400 days ago; 30 days before its end, if left out.
    #[param(required = false, value_type = String, format = DateTime)]
    from: Option<String>,
    /// Its end; now, if left out or later.
    #[param(required = false, value_type = String, format = DateTime)]
    to: Option<String>,
}

impl Asked {
    /// The span as of `now`, or which of the two does not fit.
    fn span(&self, now: Millis) -> Result<Span, Problem> {
        let furthest = now.minus(FURTHEST);
        let to = time("to", self.to.as_deref())?.map_or(now, |to| to.min(now));
        let from = time("from", self.from.as_deref())?;
        let (from, at_fault) = from.map_or_else(|| (to.minus(USUAL).max(furthest), "to"), |from| (from, "from"));
        if from < furthest {
            return Err(Problem::invalid_field("from", "History is told of the last 400 days."));
        }
        if from >= to {
            return Err(Problem::invalid_field(at_fault, "A span begins before its end, within the last 400 days."));
        }
        Ok(Span { from, to })
    }
}

fn time(field: &str, text: Option<&str>) -> Result<Option<Millis>, Problem> {
    let wrong = || Problem::invalid_field(field, format!("{field} is a time such as 2026-12-01T14:00:00Z."));
    text.map(|text| Millis::parse(text).ok_or_else(wrong)).transpose()
}

/// A check's uptime and outages in a span. Time before the first ping, and time in which the check was paused or this
/// service was away ("no data"), is not part of the uptime.
#[utoipa::path(get, path = "/api/checks/{id}/uptime", tag = "checks", params(("id" = String, Path), Asked), responses(
    (status = 200, body = Uptime), (status = 404, description = "Unknown, or somebody else's"),
    (status = 422, description = "No such span, or too much happened in it")))]
async fn get_uptime(
    State(state): State<AppState>,
    User(owner): User,
    CheckPath(id): CheckPath,
    Params(asked): Params<Asked>,
) -> Result<Json<Uptime>, Problem> {
    let check = find(&state, &owner, &id).await?;
    let span = asked.span(state.clock.now())?;
    Ok(Json(measured(&state.db, &check, span).await?.0))
}
