//! The secrets that callers hold: random ones that are stored hashed, and the signed one of a visitor.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use crate::clock::Millis;
use crate::ids::{SessionId, hex};

/// A visitor's token is good for this long; then it carries no rights and is replaced.
pub const ANONYMOUS_LIFE: Duration = Duration::from_hours(30 * 24);

/// Kinds of secrets. Each has a prefix of its own, so that none passes for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An API token.
    Api,
    /// A browser's session.
    Session,
    /// A one-time sign-in link.
    Link,
    /// The key that signs visitors' tokens.
    Secret,
}

impl Kind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Api => "flt_",
            Self::Session => "fls_",
            Self::Link => "fll_",
            Self::Secret => "flk_",
        }
    }
}

/// A new secret of 256 random bits.
pub fn random(kind: Kind) -> String {
    let bytes: [u8; 32] = rand::random();
    format!("{}{}", kind.prefix(), URL_SAFE_NO_PAD.encode(bytes))
}

/// Whether `token` has the prefix of `kind`: a cheap refusal before the database is asked.
pub fn looks_like(token: &str, kind: Kind) -> bool {
    token.starts_with(kind.prefix()) && token.len() <= 128
}

/// What is stored of a secret: SHA-256 in hex. Enough for 256 random bits, and it can be looked up by an index.
pub fn hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

/// What a visitor's token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anonymous {
    /// Whose conversation and quota.
    pub session: SessionId,
    /// When it was minted.
    pub issued_at: Millis,
}

impl Anonymous {
    /// `fla_<session>.<issued>.<mac>`.
    pub fn sign(&self, secret: &[u8]) -> String {
        let payload = format!("{}.{}", self.session, self.issued_at.0);
        let mac = mac(secret, &payload).map(|mac| URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()));
        format!("fla_{payload}.{}", mac.unwrap_or_default())
    }

    /// What `token` says, if we signed it and it is not too old.
    pub fn verify(token: &str, secret: &[u8], now: Millis) -> Option<Self> {
        let (payload, signature) = token.strip_prefix("fla_").filter(|t| t.len() <= 256)?.rsplit_once('.')?;
        mac(secret, payload)?.verify_slice(&URL_SAFE_NO_PAD.decode(signature).ok()?).ok()?;
        let (session, issued_at) = payload.split_once('.')?;
        let issued_at = Millis(issued_at.parse().ok()?);
        (now < issued_at.plus(ANONYMOUS_LIFE)).then(|| Self { session: SessionId(session.to_owned()), issued_at })
    }
}

/// The purpose is part of what is signed: the secret may sign other things one day.
fn mac(secret: &[u8], payload: &str) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(b"flatline anonymous session v1:");
    mac.update(payload.as_bytes());
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitors_token_is_ours_unaltered_and_fresh() {
        let now = Millis(1_790_000_000_000);
        let said = Anonymous { session: SessionId("s".to_owned()), issued_at: now };
        let token = said.sign(b"secret");
        assert_eq!(Anonymous::verify(&token, b"secret", now), Some(said.clone()));
        assert_eq!(Anonymous::verify(&token, b"another", now), None);
        assert_eq!(Anonymous::verify(&token.replace("fla_s", "fla_t"), b"secret", now), None);
        assert_eq!(Anonymous::verify(&token, b"secret", now.plus(ANONYMOUS_LIFE)), None);
        for wrong in ["", "fla_", "fla_s.1", "fla_s.1.", "flt_abc", &format!("{token}A")] {
            assert_eq!(Anonymous::verify(wrong, b"secret", now), None, "{wrong}");
        }
    }

    #[test]
    fn kinds_do_not_pass_for_each_other() {
        let link = random(Kind::Link);
        assert!(looks_like(&link, Kind::Link) && !looks_like(&link, Kind::Api) && !looks_like(&link, Kind::Session));
        assert_eq!(hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
