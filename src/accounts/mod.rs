//! Users, their credentials and sessions, and what a caller may spend.

pub mod cli;
pub mod http;
pub mod store;
mod tokens;

use std::time::Duration;

use crate::checks::tier::follow_floor;
use crate::clock::{Clock, Millis};
use crate::config::Config;
use crate::db::{Db, DbError};
use crate::http::Caller;
use crate::ids::{SessionId, UserId, new_v7};
use crate::limits::{Charge, Tier};

pub use tokens::{ANONYMOUS_LIFE, Anonymous, Kind, hash};

/// The user that a fresh database starts with.
pub const OWNER: &str = "owner";
/// A sign-in link works once, within this.
pub const LINK_LIFE: Duration = Duration::from_mins(10);
/// A browser stays signed in for this long.
pub const SESSION_LIFE: Duration = Duration::from_hours(30 * 24);

/// An account, which is one user.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Account {
    /// Its id.
    pub id: UserId,
    /// Unique, chosen by the operator.
    pub name: String,
    /// What it may.
    #[sqlx(try_from = "String")]
    pub tier: Tier,
}

/// Why an account could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// No user of that name.
    #[error("there is no user {0:?}; `flatline user add {0}` makes one")]
    Unknown(String),
    /// The name is in use.
    #[error("there is a user {0:?} already; take another name, or move it with `flatline user tier {0} TIER`")]
    Taken(String),
    /// The name cannot be used.
    #[error("a user's name is 1 to 64 letters, digits, dots, dashes, underscores or @; not {0:?}")]
    BadName(String),
    /// No such token, or it is revoked.
    #[error("there is no such token in use; `flatline token list NAME` lists a user's")]
    UnknownToken,
    /// The database's failure.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// Makes a user.
pub async fn add_user(db: &Db, clock: &dyn Clock, name: &str, tier: Tier) -> Result<Account, AccountError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '@');
    if name.is_empty() || name.len() > 64 || !name.chars().all(allowed) {
        return Err(AccountError::BadName(name.to_owned()));
    }
    let now = clock.now();
    let account = Account { id: UserId::new(now), name: name.to_owned(), tier };
    if store::insert_account(db, &account, now).await? {
        Ok(account)
    } else {
        Err(AccountError::Taken(name.to_owned()))
    }
}

/// Moves a user to another tier; their checks stay, and follow its floor.
pub async fn set_tier(db: &Db, clock: &dyn Clock, name: &str, tier: Tier) -> Result<(), AccountError> {
    let (now, named) = (clock.now(), name.to_owned());
    let is_known = db
        .write::<_, DbError, _>(move |tx| {
            Box::pin(async move {
                // The account first, then its checks, as everywhere.
                let Some(owner) = store::hold_account(tx, &named).await? else { return Ok(false) };
                follow_floor(tx, &owner, tier, now).await?;
                store::update_tier(tx, &owner, tier).await?;
                Ok(true)
            })
        })
        .await?;
    if is_known { Ok(()) } else { Err(AccountError::Unknown(name.to_owned())) }
}

/// The user called `name`.
pub async fn require_user(db: &Db, name: &str) -> Result<Account, AccountError> {
    store::find_account_by_name(db, name).await?.ok_or_else(|| AccountError::Unknown(name.to_owned()))
}

/// Makes an API token and returns it; only its hash is kept.
pub async fn create_token(db: &Db, clock: &dyn Clock, name: &str, label: &str) -> Result<String, AccountError> {
    let account = require_user(db, name).await?;
    let token = tokens::random(Kind::Api);
    let now = clock.now();
    store::insert_token(db, &new_v7(now), &account.id, label, &hash(&token), now).await?;
    Ok(token)
}

/// Revokes a token, named by itself or by its listed id. It stops working at once.
pub async fn revoke_token(db: &Db, clock: &dyn Clock, token_or_id: &str) -> Result<(), AccountError> {
    let revoked = store::revoke_token(db, token_or_id, &hash(token_or_id), clock.now()).await?;
    if revoked { Ok(()) } else { Err(AccountError::UnknownToken) }
}

/// Makes a one-time sign-in token for `/sign-in/{token}`.
pub async fn create_login_token(db: &Db, clock: &dyn Clock, name: &str) -> Result<String, AccountError> {
    let account = require_user(db, name).await?;
    let token = tokens::random(Kind::Link);
    let now = clock.now();
    store::insert_link(db, &hash(&token), &account.id, now, now.plus(LINK_LIFE)).await?;
    Ok(token)
}

/// Uses a sign-in token up and returns a session token; `None` if it was used, has expired or never was.
pub async fn sign_in(db: &Db, clock: &dyn Clock, link: &str) -> Result<Option<String>, DbError> {
    if !tokens::looks_like(link, Kind::Link) {
        return Ok(None);
    }
    let (link, session) = (hash(link), tokens::random(Kind::Session));
    let (now, session_hash) = (clock.now(), hash(&session));
    let signed_in = db
        .write::<_, DbError, _>(move |tx| {
            Box::pin(async move {
                let Some(user) = store::claim_link(tx, &link, now).await? else { return Ok(false) };
                store::insert_session(tx, &session_hash, &user, now, now.plus(SESSION_LIFE)).await?;
                Ok(true)
            })
        })
        .await?;
    Ok(signed_in.then_some(session))
}

/// Ends a browser's session.
pub async fn sign_out(db: &Db, session: &str) -> Result<(), DbError> {
    store::delete_session(db, &hash(session)).await
}

/// The key that signs anonymous sessions: the setting, or one kept in the database and made on first start.
pub async fn secret(db: &Db, config: &Config) -> Result<Vec<u8>, DbError> {
    if let Some(secret) = &config.secret {
        return Ok(secret.clone().into_bytes());
    }
    let made = tokens::random(Kind::Secret);
    Ok(store::find_or_insert_setting(db, "secret", &made).await?.into_bytes())
}

/// What a message costs this caller: users by name, visitors by session and by network together.
pub fn charges(config: &Config, caller: &Caller) -> Vec<Charge> {
    match caller {
        Caller::User(user) => vec![Charge::new(&config.user_limit, user.0.as_str())],
        Caller::Anonymous { session, network, .. } => vec![
            Charge::new(&config.anon_limit, session.as_str()),
            Charge::new(&config.anon_network_limit, &network.to_string()),
        ],
    }
}

/// A new anonymous session and its token.
pub fn mint_anonymous(secret: &[u8], now: Millis) -> (SessionId, String) {
    let session = SessionId(new_v7(now));
    let token = Anonymous { session: session.clone(), issued_at: now }.sign(secret);
    (session, token)
}
