//! The settings of what leaves the site: what notifications may reach, and the mail server.

use std::net::IpAddr;

use ipnet::IpNet;

use super::ConfigError;
use super::source::Source;
use super::values::network;

/// What notifications may reach although it is private.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// Every address of a network.
    Network(IpNet),
    /// One port of a host, whatever its addresses are.
    Site {
        /// A name in lower case, or an address in its normal form, without brackets.
        host: String,
        /// The port.
        port: u16,
    },
}

/// How mail is sent.
#[derive(Clone)]
pub struct Smtp {
    /// `smtp://…` or `smtps://…`, with user and password if the server wants them.
    pub url: String,
    /// Whom it is from.
    pub from: String,
}

/// Both or none: mail needs a server and a sender.
pub(super) fn smtp(source: &Source<'_>) -> Result<Option<Smtp>, ConfigError> {
    let form = "an address like smtps://user:password@mail.example, or smtp://mail.example?tls=required";
    let Some(url) = source.secret("SMTP_URL", form, smtp_url)? else { return Ok(None) };
    // Read as one that must be there: without it no mail has a sender.
    let form = "an address like Flatline <alerts@example.org>, because SMTP_URL is set";
    let from = source.parse("FLATLINE_MAIL_FROM", form, |value| value.contains('@').then(|| value.to_owned()))?;
    Ok(Some(Smtp { url, from }))
}

/// A network, one address, or a host with a port.
pub(super) fn allowed(value: &str) -> Option<Allowed> {
    if let Some(network) = network(value) {
        return Some(Allowed::Network(network));
    }
    let (host, port) = value.rsplit_once(':')?;
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    let port = port.parse().ok().filter(|port| *port > 0)?;
    if let Ok(address) = host.parse::<IpAddr>() {
        return Some(Allowed::Site { host: address.to_string(), port });
    }
    let is_name = !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    // What ends in a number is an address in a URL (127.1 is 127.0.0.1), so it would be listed in vain as a name.
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with("0x") || last.bytes().all(|b| b.is_ascii_digit());
    (is_name && !is_number).then_some(Allowed::Site { host, port })
}

/// A mail server. What else must be right about it is told at the start.
fn smtp_url(value: &str) -> Option<String> {
    let rest = value.strip_prefix("smtp://").or_else(|| value.strip_prefix("smtps://"))?;
    (!rest.is_empty()).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::Config;
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::load(&|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn mail_needs_a_server_and_a_sender() {
        assert!(with(&[("FLATLINE_MAIL_FROM", "a@b.example")]).unwrap().smtp.is_none());
        let error = with(&[("SMTP_URL", "smtps://u:hunter2@h")]).err().unwrap().to_string();
        assert!(error.contains("FLATLINE_MAIL_FROM"), "{error}");
        let error = with(&[("SMTP_URL", "u:hunter2@h")]).err().unwrap().to_string();
        assert!(error.contains("SMTP_URL") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn what_may_be_reached_is_a_network_or_a_host_with_a_port() {
        let listed = "10.0.0.0/8, 192.168.1.5,Hooks.Internal:8080, 127.0.0.1:9000,[0:0:0:0:0:0:0:1]:9000,fd00::/8";
        let site = |host: &str, port| Allowed::Site { host: host.to_owned(), port };
        let network = |text: &str| Allowed::Network(text.parse().unwrap());
        let expected = vec![
            network("10.0.0.0/8"),
            network("192.168.1.5/32"),
            site("hooks.internal", 8080),
            site("127.0.0.1", 9000),
            site("::1", 9000),
            network("fd00::/8"),
        ];
        assert_eq!(with(&[("FLATLINE_OUTGOING_ALLOW", listed)]).unwrap().outgoing_allow, expected);
    }
}
