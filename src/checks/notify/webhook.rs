//! What makes a webhook's message one of ours: the headers that Standard Webhooks describes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::SendError;
use super::outgoing::{Headers, json_headers};
use crate::clock::Millis;

/// The prefix of a secret as people see it.
const PREFIX: &str = "whsec_";

/// `webhook-id` (the delivery's, the same at every attempt), `webhook-timestamp` (the attempt's, in seconds) and
/// `webhook-signature`, with the body's type.
pub fn headers(secret: &str, id: &str, now: Millis, body: &str) -> Result<Headers, SendError> {
    let timestamp = (now.0 / 1000).to_string();
    let signature = sign(secret, id, &timestamp, body).ok_or_else(|| SendError::last("the secret cannot be used"))?;
    let mut headers = json_headers();
    for (name, value) in [("webhook-id", id), ("webhook-timestamp", &timestamp), ("webhook-signature", &signature)] {
        let value = value.parse().map_err(|_| SendError::last("the message has no form"))?;
        headers.insert(name, value);
    }
    Ok(headers)
}

/// `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`; `None` if the secret is none.
fn sign(secret: &str, id: &str, timestamp: &str, body: &str) -> Option<String> {
    let key = STANDARD.decode(secret.strip_prefix(PREFIX)?).ok().filter(|key| !key.is_empty())?;
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).ok()?;
    mac.update(format!("{id}.{timestamp}.{body}").as_bytes());
    Some(format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's own libraries.
    #[test]
    fn a_signature_is_the_one_that_the_standard_gives() {
        let signature = sign(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "1614265330",
            "{\"test\": 2432232314}",
        );
        assert_eq!(signature.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
    }

    #[test]
    fn without_a_secret_nothing_is_signed() {
        for secret in ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_*"] {
            assert_eq!(sign(secret, "id", "0", ""), None, "{secret}");
        }
    }
}
