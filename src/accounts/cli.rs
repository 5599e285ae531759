//! The commands on users, tokens and sign-in links. They work beside a running server.

use std::fmt::Write as _;

use clap::Subcommand;

use super::{AccountError, add_user, create_login_token, create_token, require_user, revoke_token, set_tier, store};
use crate::clock::Clock;
use crate::db::Db;
use crate::limits::Tier;

/// `flatline user …`
#[derive(Debug, Subcommand)]
pub enum UserCommand {
    /// Make a user.
    Add {
        /// A new, unique name.
        name: String,
        /// free, pro or business.
        #[arg(long, default_value = "free")]
        tier: Tier,
    },
    /// Move a user to another tier. Checks stay; the new limits count from now on.
    Tier {
        /// The user's name.
        name: String,
        /// free, pro or business.
        tier: Tier,
    },
}

/// `flatline token …`
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make an API token and print it: the only time that it is shown.
    Create {
        /// The user's name.
        name: String,
        /// What it is for.
        #[arg(long, default_value = "")]
        label: String,
    },
    /// List a user's tokens: id, label, when made, whether revoked.
    List {
        /// The user's name.
        name: String,
    },
    /// Revoke a token; it stops working at once.
    Revoke {
        /// The token, or its listed id.
        token: String,
    },
}

/// Runs a user command and returns what to print.
pub async fn run_user(db: &Db, clock: &dyn Clock, command: UserCommand) -> Result<String, AccountError> {
    match command {
        UserCommand::Add { name, tier } => {
            let account = add_user(db, clock, &name, tier).await?;
            Ok(format!("{} {} {}", account.id, account.name, account.tier))
        }
        UserCommand::Tier { name, tier } => {
            set_tier(db, clock, &name, tier).await?;
            Ok(format!("{name} {tier}"))
        }
    }
}

/// Runs a token command and returns what to print.
pub async fn run_token(db: &Db, clock: &dyn Clock, command: TokenCommand) -> Result<String, AccountError> {
    match command {
        TokenCommand::Create { name, label } => create_token(db, clock, &name, &label).await,
        TokenCommand::List { name } => {
            let account = require_user(db, &name).await?;
            let mut lines = String::new();
            for token in store::list_tokens(db, &account.id).await? {
                let state =
                    token.revoked_at.map_or_else(|| "in use".to_owned(), |at| format!("revoked {}", at.rfc3339()));
                let _ = writeln!(lines, "{}\t{}\t{}\t{state}", token.id, token.label, token.created_at.rfc3339());
            }
            Ok(lines.trim_end().to_owned())
        }
        TokenCommand::Revoke { token } => {
            revoke_token(db, clock, &token).await?;
            Ok("revoked".to_owned())
        }
    }
}

/// A one-time sign-in link for a user, good for ten minutes.
pub async fn login_link(db: &Db, clock: &dyn Clock, name: &str, public_url: &str) -> Result<String, AccountError> {
    let token = create_login_token(db, clock, name).await?;
    Ok(format!("{public_url}/sign-in/{token}"))
}
