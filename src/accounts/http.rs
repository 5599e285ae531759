//! Who is calling, found out from the request; signing in and out; `POST /api/session`.

use axum::Json;
use axum::extract::{FromRequestParts, Path, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, CACHE_CONTROL, COOKIE, LOCATION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Anonymous, Kind, SESSION_LIFE, charges, hash, mint_anonymous, store, tokens};
use crate::http::caller::Network;
use crate::http::origin::SESSION_HEADER;
use crate::http::request::ClientAddress;
use crate::http::{AppState, Caller, Problem, User};
use crate::limits::{self, Standing, Tier};

const SESSION_COOKIE: &str = "flatline_session";
const ANONYMOUS_COOKIE: &str = "flatline_anon";

/// Session and sign-in routes.
pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(session)).routes(routes!(sign_in_page, sign_in)).routes(routes!(sign_out))
}

impl FromRequestParts<AppState> for Caller {
    type Rejection = Problem;

    /// A credential of a user that is present but wrong is refused, never taken for a visitor. A visitor's token that
    /// is wrong or old carries no rights and is replaced.
    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let now = state.clock.now();
        if let Some(value) = parts.headers.get(AUTHORIZATION) {
            let token = value.to_str().ok().and_then(bearer).unwrap_or_default();
            let user = if tokens::looks_like(token, Kind::Api) {
                store::find_token_user(&state.db, &hash(token)).await?
            } else {
                None
            };
            let wrong = || Problem::unauthorized("That token is not known or was revoked.");
            return user.map(|id| Self::User(User(id))).ok_or_else(wrong);
        }
        if let Some(token) = cookie(&parts.headers, SESSION_COOKIE) {
            let user = if tokens::looks_like(&token, Kind::Session) {
                store::find_session_user(&state.db, &hash(&token), now).await?
            } else {
                None
            };
            let wrong =
                || Problem::unauthorized("Your session has ended. Sign in again, or sign out to go on as a visitor.");
            return user.map(|id| Self::User(User(id))).ok_or_else(wrong);
        }
        let address = parts.extensions.get::<ClientAddress>().map_or([0, 0, 0, 0].into(), |address| address.0);
        let network = Network::of(address);
        let header = parts.headers.get(SESSION_HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let token = header.or_else(|| cookie(&parts.headers, ANONYMOUS_COOKIE));
        if let Some(known) = token.and_then(|token| Anonymous::verify(&token, &state.secret, now)) {
            return Ok(Self::Anonymous { session: known.session, network, minted: None });
        }
        let (session, token) = mint_anonymous(&state.secret, now);
        Ok(Self::Anonymous { session, network, minted: Some(token) })
    }
}

impl FromRequestParts<AppState> for User {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        match Caller::from_request_parts(parts, state).await? {
            Caller::User(user) => Ok(user),
            Caller::Anonymous { .. } => Err(Problem::unauthorized("Sign in to use checks and actions.")),
        }
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value.to_owned())
}

/// Hands a session that this request minted to the visitor: as a cookie, and as a header for other sites' pages.
pub fn hand_out_session(state: &AppState, caller: &Caller, headers: &mut HeaderMap) {
    let Caller::Anonymous { minted: Some(token), .. } = caller else { return };
    if let Ok(value) = HeaderValue::from_str(token) {
        headers.insert(SESSION_HEADER, value);
    }
    let life = super::ANONYMOUS_LIFE.as_secs();
    headers.append(SET_COOKIE, set_cookie(state, ANONYMOUS_COOKIE, token, life));
}

fn set_cookie(state: &AppState, name: &str, value: &str, life_seconds: u64) -> HeaderValue {
    let secure = if state.public_url.starts_with("https://") { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; Max-Age={life_seconds}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static(""))
}

/// Who the caller is and what it may spend.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionView {
    /// `user` or `anonymous`.
    kind: &'static str,
    /// The user, if signed in.
    #[schema(required)]
    user: Option<UserView>,
    /// A visitor's token, for pages of other sites.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// Who answers.
    model: ModelView,
    /// How the caller stands.
    limits: Vec<LimitView>,
}

/// A signed-in user.
#[derive(Debug, Serialize, ToSchema)]
pub struct UserView {
    id: String,
    name: String,
    tier: Tier,
}

/// Who answers.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelView {
    name: String,
    offline: bool,
}

/// How a caller stands under one policy.
#[derive(Debug, Serialize, ToSchema)]
pub struct LimitView {
    policy: String,
    limit: u32,
    window_seconds: u64,
    remaining: u32,
    retry_after_seconds: u64,
}

impl From<Standing> for LimitView {
    fn from(standing: Standing) -> Self {
        Self {
            limit: standing.policy.limit,
            window_seconds: standing.policy.window.as_secs(),
            remaining: standing.remaining,
            retry_after_seconds: u64::try_from(standing.wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX),
            policy: standing.policy.name,
        }
    }
}

/// Who am I: the caller's kind, quota left, the model's name. Mints an anonymous session if there is none.
#[utoipa::path(post, path = "/api/session", tag = "session", responses((status = 200, body = SessionView)))]
async fn session(State(state): State<AppState>, caller: Caller, headers: HeaderMap) -> Result<Response, Problem> {
    let user = match caller.user() {
        Some(id) => store::find_account(&state.db, id).await?,
        None => None,
    };
    let standings = limits::standings(&state.db, state.clock.as_ref(), &charges(&state.config, &caller)).await?;
    let token = match &caller {
        Caller::User(_) => None,
        Caller::Anonymous { minted: Some(token), .. } => Some(token.clone()),
        Caller::Anonymous { minted: None, .. } => headers
            .get(SESSION_HEADER)
            .and_then(|value| value.to_str().ok().map(str::to_owned))
            .or_else(|| cookie(&headers, ANONYMOUS_COOKIE)),
    };
    let view = SessionView {
        kind: if user.is_some() { "user" } else { "anonymous" },
        user: user.map(|account| UserView { id: account.id.0, name: account.name, tier: account.tier }),
        token,
        model: ModelView { name: state.model.name().to_owned(), offline: state.model.is_offline() },
        limits: standings.into_iter().map(LimitView::from).collect(),
    };
    let mut response = Json(view).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    hand_out_session(&state, &caller, response.headers_mut());
    Ok(response)
}

/// A page that posts at once: a link preview that only reads uses nothing up.
#[utoipa::path(get, path = "/sign-in/{token}", tag = "session", params(("token" = String, Path)),
    responses((status = 200, description = "A page with a button")))]
async fn sign_in_page() -> impl IntoResponse {
    crate::widget::sign_in_page()
}

/// Uses the link up and signs the browser in.
#[utoipa::path(post, path = "/sign-in/{token}", tag = "session", params(("token" = String, Path)),
    responses((status = 303, description = "Signed in"), (status = 410, description = "Used or expired")))]
async fn sign_in(
    State(state): State<AppState>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let Some(session) = super::sign_in(&state.db, state.clock.as_ref(), &token).await? else {
        let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if accepts.contains("text/html") {
            return Ok((StatusCode::GONE, crate::widget::sign_in_used_page()).into_response());
        }
        let detail = "This sign-in link was used already or has expired. Ask for a new one.";
        return Err(Problem::new(StatusCode::GONE, "link_expired", detail));
    };
    let cookie = set_cookie(&state, SESSION_COOKIE, &session, SESSION_LIFE.as_secs());
    Ok(to_front_page(cookie))
}

/// Ends the browser's session. Works with a cookie that has ended, too.
#[utoipa::path(post, path = "/sign-out", tag = "session", responses((status = 303, description = "Signed out")))]
async fn sign_out(State(state): State<AppState>, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(session) = cookie(&headers, SESSION_COOKIE) {
        super::sign_out(&state.db, &session).await?;
    }
    Ok(to_front_page(set_cookie(&state, SESSION_COOKIE, "", 0)))
}

fn to_front_page(cookie: HeaderValue) -> Response {
    let headers = [(LOCATION, HeaderValue::from_static("/")), (SET_COOKIE, cookie)];
    (StatusCode::SEE_OTHER, headers).into_response()
}
