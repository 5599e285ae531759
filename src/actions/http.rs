//! Actions over HTTP: list, look, confirm, reject.

use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::confirm::{Decided, Decision, DecisionError, confirm, reject};
use super::store::{Filter, find_action, list_actions};
use super::{ActionView, Status, Via};
use crate::http::{AppState, Listed, OptionalJson, Page, Paging, Problem, User};
use crate::ids::{ActionId, UserId};

/// The routes of actions.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(confirm_action))
        .routes(routes!(reject_action))
}

/// The action that a path names. What is no uuid names none.
struct ActionPath(ActionId);

impl<S: Send + Sync> FromRequestParts<S> for ActionPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let id = path.ok().and_then(|Path(text)| ActionId::parse(&text));
        Ok(id.map(Self).ok_or(DecisionError::NotFound)?)
    }
}

/// A page of actions.
#[derive(Debug, Serialize, ToSchema)]
struct ActionList {
    actions: Vec<ActionView>,
    #[schema(required)]
    next: Option<String>,
}

/// Which actions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Which {
    /// Only this state, in upper or lower case.
    #[param(required = false, value_type = String)]
    status: Option<String>,
    /// Only this conversation.
    #[param(required = false, value_type = String)]
    conversation: Option<String>,
}

/// What the button sends.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Shown {
    /// The digest that the card showed; another one is refused.
    digest: Option<String>,
}

/// A decided action.
#[derive(Debug, Serialize, ToSchema)]
struct DecidedView {
    action: ActionView,
    /// Whether it had been decided before, the same way.
    replayed: bool,
}

/// Own actions, newest first.
#[utoipa::path(get, path = "/api/actions", operation_id = "list_actions",
    tag = "actions", params(Which, Paging), responses((status = 200, body = ActionList)))]
async fn list(
    State(state): State<AppState>,
    User(owner): User,
    Listed(which, paging): Listed<Which>,
) -> Result<Json<ActionList>, Problem> {
    let status = match which.status {
        None => None,
        Some(text) => Some(
            Status::try_from(text.to_ascii_uppercase())
                .map_err(|_| Problem::invalid_field("status", format!("{text:?} is no state of an action.")))?,
        ),
    };
    // Whatever this is, it does not reach the database: PostgreSQL stores no NUL.
    if which.conversation.as_ref().is_some_and(|id| !id.bytes().all(|byte| byte.is_ascii_graphic())) {
        return Err(Problem::invalid_field("conversation", "That is no conversation's id."));
    }
    let now = state.clock.now();
    let before = paging.before()?;
    let filter = Filter { status, conversation: which.conversation, before, limit: paging.limit + 1 };
    let actions = list_actions(&state.db, &owner, &filter, now).await?;
    let page = Page::cut(actions, paging.limit, |action| action.id.to_string());
    let actions = page.rows.into_iter().map(|action| ActionView::new(action, now)).collect();
    Ok(Json(ActionList { actions, next: page.next }))
}

/// One own action.
#[utoipa::path(get, path = "/api/actions/{id}", operation_id = "get_action",
    tag = "actions", params(("id" = String, Path)), responses(
    (status = 200, body = ActionView), (status = 404, description = "Unknown, or somebody else's")))]
async fn get(
    State(state): State<AppState>,
    User(owner): User,
    ActionPath(id): ActionPath,
) -> Result<Json<ActionView>, Problem> {
    let action = find_action(&state.db, &owner, &id).await?.ok_or(DecisionError::NotFound)?;
    Ok(Json(ActionView::new(action, state.clock.now())))
}

/// Runs a pending action, once; again answers the stored outcome.
#[utoipa::path(post, path = "/api/actions/{id}/confirm", tag = "actions", params(("id" = String, Path)),
    request_body(content = Option<Shown>), responses((status = 200, body = DecidedView),
    (status = 404, description = "Unknown, or somebody else's"), (status = 409, description = "Rejected, or changed"),
    (status = 410, description = "Expired or superseded")))]
async fn confirm_action(
    State(state): State<AppState>,
    User(owner): User,
    ActionPath(id): ActionPath,
    OptionalJson(shown): OptionalJson<Shown>,
) -> Result<Json<DecidedView>, Problem> {
    let decided = confirm(&state.db, &state.clock, decision(owner, id, shown)).await?;
    Ok(view(&state, decided))
}

/// Turns a pending action down.
#[utoipa::path(post, path = "/api/actions/{id}/reject", tag = "actions", params(("id" = String, Path)),
    request_body(content = Option<Shown>), responses((status = 200, body = DecidedView),
    (status = 404, description = "Unknown, or somebody else's"), (status = 409, description = "Executed, or changed"),
    (status = 410, description = "Expired or superseded")))]
async fn reject_action(
    State(state): State<AppState>,
    User(owner): User,
    ActionPath(id): ActionPath,
    OptionalJson(shown): OptionalJson<Shown>,
) -> Result<Json<DecidedView>, Problem> {
    let decided = reject(&state.db, &state.clock, decision(owner, id, shown)).await?;
    Ok(view(&state, decided))
}

fn decision(owner: UserId, action: ActionId, shown: Option<Shown>) -> Decision {
    // What is no digest at all is none of ours, and does not reach the database: PostgreSQL stores no NUL.
    let is_hex = |text: &String| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digest = shown.and_then(|shown| shown.digest).map(|text| if is_hex(&text) { text } else { String::new() });
    let via = if digest.is_some() { Via::Button } else { Via::Api };
    Decision { owner, action, via, digest }
}

fn view(state: &AppState, decided: Decided) -> Json<DecidedView> {
    let action = ActionView::new(decided.action, state.clock.now());
    Json(DecidedView { action, replayed: decided.replayed })
}

impl From<DecisionError> for Problem {
    fn from(error: DecisionError) -> Self {
        let action = match error {
            DecisionError::NotFound => return Self::not_found("action_not_found", "action"),
            DecisionError::Changed => {
                let detail = "The action is not what your page showed. Look at it again before you confirm.";
                return Self::new(StatusCode::CONFLICT, "action_changed", detail);
            }
            DecisionError::Db(error) => return error.into(),
            DecisionError::Over(action) => action,
        };
        let number = action.number;
        match action.status {
            Status::Rejected => {
                let detail = format!("Action {number} was cancelled. Ask for it again if you want it.");
                Self::new(StatusCode::CONFLICT, "action_rejected", detail)
            }
            Status::Executed | Status::Failed => {
                let detail = format!("Action {number} was confirmed already.");
                Self::new(StatusCode::CONFLICT, "action_executed", detail)
            }
            Status::Superseded => {
                let detail = format!("A newer proposal took the place of action {number}.");
                Self::new(StatusCode::GONE, "action_superseded", detail)
            }
            Status::Expired | Status::Pending | Status::Claimed => {
                let detail = format!("Action {number} has expired. Ask for it again if you want it.");
                Self::new(StatusCode::GONE, "action_expired", detail)
            }
        }
    }
}
