//! `POST /api/checks`: a new check, or with `unique` the one of its name made so.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Refusal;
use super::alerts::AlertChanges;
use super::apply::Effect;
use super::config::{CheckSpec, changes_from, from_object};
use super::http::{change, view};
use super::upsert::{Wanted, upsert};
use super::view::CheckView;
use crate::clock::SharedClock;
use crate::http::{AppState, JsonBody, Problem, User};

/// The route of this file.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(create))
}

/// What `POST` takes.
#[derive(ToSchema)]
#[expect(dead_code, reason = "tells the contract what the handler takes apart itself")]
struct NewCheck {
    #[schema(inline)]
    #[serde(flatten)]
    spec: CheckSpec,
    #[schema(inline)]
    #[serde(flatten)]
    alerts: AlertChanges,
    /// `["name"]`: if there is a check of that name, change what is named here instead of refusing.
    unique: Option<Vec<String>>,
}

/// Makes a check. With `unique: ["name"]` the check of that name is changed if there is one.
#[utoipa::path(post, path = "/api/checks", tag = "checks", request_body = NewCheck, responses(
    (status = 201, body = CheckView), (status = 200, body = CheckView, description = "It was there and is changed"),
    (status = 409, description = "No place left, or the name is taken"),
    (status = 422, description = "A field does not fit, or the floor is broken")))]
async fn create(
    State(state): State<AppState>,
    User(owner): User,
    JsonBody(mut fields): JsonBody<Map<String, Value>>,
) -> Result<(StatusCode, Json<CheckView>), Problem> {
    let by_name = is_by_name(fields.shift_remove("unique"))?;
    let take = if by_name { AlertChanges::take_from } else { AlertChanges::take_new };
    let alerts = take(&mut fields)?;
    let now = state.clock.now();
    let (applied, is_new) = if by_name {
        let changes = changes_from(fields.clone())?;
        let name = changes.name.as_ref().ok_or_else(|| Refusal::invalid("name", "The field \"name\" is missing."))?;
        let settings = from_object(fields).and_then(|spec: CheckSpec| spec.settle(now));
        let wanted = Wanted { name: name.to_string(), settings, changes: changes.clone(), alerts };
        let (clock, owner) = (SharedClock::clone(&state.clock), owner.clone());
        let upserting =
            state.db.write(move |tx| Box::pin(async move { upsert(tx, clock.now(), &owner, wanted).await }));
        upserting.await?
    } else {
        let spec: CheckSpec = from_object(fields)?;
        let effect = Effect::CreateCheck { settings: spec.settle(now)?, alerts, shown: None };
        (change(&state, &owner, effect).await?, true)
    };
    let id = applied.check_id.ok_or_else(Refusal::not_found)?;
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, view(&state, &owner, &id).await?))
}

fn is_by_name(unique: Option<Value>) -> Result<bool, Refusal> {
    match unique {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Array(fields)) if fields.is_empty() => Ok(false),
        Some(Value::Array(fields)) if fields.iter().all(|field| field == "name") => Ok(true),
        Some(_) => Err(Refusal::invalid("unique", "Checks are unique by name alone: [\"name\"].")),
    }
}
