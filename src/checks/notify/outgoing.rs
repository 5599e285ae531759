//! Posting to a URL that a user chose: only to addresses that may be reached, and only for so long.
//!
//! The resolver is ours, so the address that was checked is the one that is connected to: a name that answers
//! differently the next time gains nothing. Redirects are followed here, each target checked like the first.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Response, StatusCode, Url, redirect};
use tokio::time::timeout;

use super::SendError;
use super::addresses::Policy;

/// All of an attempt but the rest of the reply, redirects included.
const PATIENCE: Duration = Duration::from_secs(9);
/// What is read of a reply, and for how long: only so that the other side sees its reply taken.
const REPLY: usize = 16 << 10;
const REPLY_PATIENCE: Duration = Duration::from_secs(1);
/// Redirects that are followed.
const REDIRECTS: usize = 3;
/// The longest URL, in its normal form.
const MAX_URL: usize = 2_000;

/// The headers of a message.
pub type Headers = HeaderMap;

/// No client could be built.
#[derive(Debug, thiserror::Error)]
#[error("no HTTPS client for notifications: {0}")]
pub struct ClientError(#[from] reqwest::Error);

/// Posts to users' URLs.
pub struct Outgoing {
    /// Connects only to admitted addresses.
    guarded: Client,
    /// For the sites that the operator lists by name and port.
    trusted: Client,
    policy: Policy,
    patience: Duration,
}

impl Outgoing {
    /// Prepares the clients; connects to nothing. Proxies from the environment are not used: they would connect for us.
    pub fn new(policy: Policy) -> Result<Self, ClientError> {
        // reqwest is built without a TLS provider of its own. Being second is fine: it is the same for all of us.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let builder = || {
            let builder = Client::builder().no_proxy().redirect(redirect::Policy::none()).user_agent("Flatline");
            // Every attempt makes a connection of its own, so every attempt is checked.
            builder.pool_max_idle_per_host(0)
        };
        let guarded = builder().dns_resolver(Guard(policy.clone())).build()?;
        Ok(Self { guarded, trusted: builder().build()?, policy, patience: PATIENCE })
    }

    /// With another patience than 9 s, for tests.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Posts `body`; a 2xx is success.
    pub async fn post(&self, url: &str, headers: &Headers, body: &str) -> Result<(), SendError> {
        let answered = timeout(self.patience, self.follow(url, headers, body)).await;
        let response = answered.unwrap_or_else(|_| Err(SendError::retry("no answer in time")))?;
        // It was taken; whatever the rest is or does not do is of no interest.
        let _ = timeout(REPLY_PATIENCE, drain(response)).await;
        Ok(())
    }

    /// The 2xx at the end of at most three redirects.
    async fn follow(&self, url: &str, headers: &Headers, body: &str) -> Result<Response, SendError> {
        let mut url = usable(url).map_err(SendError::retry)?;
        for _ in 0..=REDIRECTS {
            let request = self.client(&url)?.post(url.clone()).headers(headers.clone()).body(body.to_owned());
            let response = request.send().await.map_err(|error| SendError::retry(reason(&error)))?;
            let status = response.status();
            if status.is_success() {
                return Ok(response);
            }
            if !matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
                return Err(refusal(status));
            }
            let next = response.headers().get(LOCATION).and_then(|location| location.to_str().ok());
            let next = next.and_then(|location| url.join(location).ok());
            let next = next.ok_or_else(|| SendError::retry("a redirect to nowhere"))?;
            if url.scheme() == "https" && next.scheme() != "https" {
                return Err(SendError::retry("a redirect from https to http"));
            }
            url = usable(next.as_str()).map_err(|_| SendError::retry("a redirect to a URL that cannot be used"))?;
        }
        Err(SendError::retry(format!("more than {REDIRECTS} redirects")))
    }

    /// The client for a URL. No resolver is asked about an address that stands in the URL, so it is checked here.
    fn client(&self, url: &Url) -> Result<&Client, SendError> {
        // The parser has made one form of every way to write an address: decimal, octal, hex, shortened.
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        if self.policy.names(host, url.port_or_known_default().unwrap_or_default()) {
            return Ok(&self.trusted);
        }
        match host.parse::<IpAddr>() {
            Ok(address) if !self.policy.admits(address) => Err(SendError::retry(NOT_ALLOWED)),
            Ok(_) | Err(_) => Ok(&self.guarded),
        }
    }
}

/// The headers of a body of JSON.
pub fn json_headers() -> Headers {
    Headers::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))])
}

/// The form in which a URL is stored, if notifications may have it as their target.
///
/// # Errors
/// What is wrong with it.
pub fn parse_target(text: &str) -> Result<String, String> {
    usable(text.trim()).map(Into::into)
}

fn usable(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|_| "This is no URL like https://example.org/hook.".to_owned())?;
    // As it is stored and sent: `ä` is six characters there, and what was accepted must be again.
    if url.as_str().len() > MAX_URL {
        return Err(format!("A URL has at most {MAX_URL} characters, with %C3%A4 for ä."));
    }
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("The URL begins with https:// or http://.".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("The URL holds no user and password.".to_owned());
    }
    Ok(url)
}

async fn drain(mut response: Response) {
    let mut read = 0;
    while let Ok(Some(chunk)) = response.chunk().await {
        read += chunk.len();
        if read >= REPLY {
            return;
        }
    }
}

fn refusal(status: StatusCode) -> SendError {
    let reason = format!("HTTP {}", status.as_u16());
    match status {
        // The receiver's own word for never again.
        StatusCode::GONE => SendError::last(reason),
        _ if status.is_redirection() => SendError::retry(format!("{reason}: only 307 and 308 are followed")),
        _ => SendError::retry(reason),
    }
}

const NOT_ALLOWED: &str = "address not allowed";

/// Resolves names to those of their addresses that may be reached.
struct Guard(Policy);

#[derive(Debug, thiserror::Error)]
enum Unresolved {
    #[error("address not allowed")]
    NotAllowed,
    #[error("no such host")]
    Unknown(#[source] io::Error),
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.0.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await.map_err(Unresolved::Unknown)?;
            let admitted: Vec<SocketAddr> = found.filter(|address| policy.admits(address.ip())).collect();
            if admitted.is_empty() {
                return Err(Unresolved::NotAllowed.into());
            }
            Ok(Box::new(admitted.into_iter()) as Addrs)
        })
    }
}

/// Why a request failed, in our words: what the other side says may be anything.
fn reason(error: &reqwest::Error) -> &'static str {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if let Some(unresolved) = current.downcast_ref::<Unresolved>() {
            return match unresolved {
                Unresolved::NotAllowed => NOT_ALLOWED,
                Unresolved::Unknown(_) => "no such host",
            };
        }
        if current.is::<rustls::Error>() {
            return "the TLS certificate or handshake failed";
        }
        match current.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => return "connection refused",
            Some(io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof) => return "connection broke off",
            Some(io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable) => return "host unreachable",
            _ => {}
        }
        // An io::Error hides what it wraps behind its own source.
        let inner = current.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match inner {
            Some(inner) => Some(inner as &(dyn Error + 'static)),
            None => current.source(),
        };
    }
    if error.is_timeout() {
        "no answer in time"
    } else if error.is_connect() {
        "no connection"
    } else {
        "connection broke off"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Allowed;

    fn client_for(allowed: Vec<Allowed>, url: &str) -> Result<bool, String> {
        let outgoing = Outgoing::new(Policy::new(allowed)).unwrap();
        let url = usable(url)?;
        let client = outgoing.client(&url).map_err(|error| error.reason)?;
        Ok(std::ptr::eq(client, &raw const outgoing.trusted))
    }

    #[test]
    fn an_address_in_a_url_is_checked_however_it_is_written() {
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "017700000001",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[64:ff9b::7f00:1]",
            "[fe80::1]",
            "0",
            "169.254.169.254",
            "0xa9fea9fe",
            "2852039166",
            "127.0.0.1.",
            "１２７.０.０.１",
            "①②⑦.0.0.1",
        ] {
            let refused = client_for(Vec::new(), &format!("http://{host}/"));
            assert_eq!(refused, Err(NOT_ALLOWED.to_owned()), "{host}");
        }
        assert_eq!(client_for(Vec::new(), "http://93.184.215.14/"), Ok(false));
        assert_eq!(client_for(Vec::new(), "https://example.org/"), Ok(false), "its resolver checks");
    }

    #[test]
    fn a_listed_site_is_trusted_with_its_port_only() {
        let allowed = || vec![Allowed::Site { host: "127.0.0.1".to_owned(), port: 9000 }];
        assert_eq!(client_for(allowed(), "http://127.0.0.1:9000/"), Ok(true));
        assert_eq!(client_for(allowed(), "http://2130706433:9000/"), Ok(true));
        assert_eq!(client_for(allowed(), "http://127.0.0.1:9001/"), Err(NOT_ALLOWED.to_owned()));
        let address = || vec![Allowed::Site { host: "::ffff:1.2.3.4".to_owned(), port: 9000 }];
        assert_eq!(client_for(address(), "http://[0:0::ffff:102:304]:9000/"), Ok(true), "however either writes it");
        let network = || vec![Allowed::Network("127.0.0.0/8".parse().unwrap())];
        assert_eq!(client_for(network(), "http://127.0.0.1:9001/"), Ok(false));
    }

    #[test]
    fn a_target_is_an_ordinary_url() {
        assert_eq!(parse_target(" HTTPS://Example.org/a b "), Ok("https://example.org/a%20b".to_owned()));
        let long = format!("https://example.org/{}", "a".repeat(MAX_URL));
        let grows = format!("https://example.org/{}", "ä".repeat(MAX_URL / 3));
        let fits = parse_target(&format!("https://example.org/{}", "ä".repeat(330))).unwrap();
        assert_eq!((fits.len(), parse_target(&fits)), (2_000, Ok(fits.clone())), "what is stored is accepted again");
        for text in [
            "",
            "example.org/hook",
            "ftp://example.org/",
            "file:///etc/passwd",
            "https://",
            "https://u@example.org/",
            "https://u:p@example.org/",
            "https://:p@example.org/",
            "gopher://example.org/",
            &long,
            &grows,
        ] {
            assert!(parse_target(text).is_err(), "{text}");
        }
    }
}
