//! The settings' values as text: what each kind accepts.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;

use super::FloodLimit;
use crate::limits::Policy;
use crate::llm::Timeouts;

/// A database of either kind.
pub(super) fn database_url(value: &str) -> Option<String> {
    let known = ["sqlite://", "postgres://", "postgresql://"];
    known.iter().any(|scheme| value.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty())).then(|| value.to_owned())
}

/// An origin: scheme, host, optional port, nothing else.
pub(super) fn origin(value: &str) -> Option<String> {
    let value = value.trim_end_matches('/');
    let uri = hyper::Uri::from_str(value).ok()?;
    let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"))?;
    let authority = uri.authority()?;
    (matches!(uri.path(), "" | "/") && uri.query().is_none() && !authority.as_str().contains('@'))
        .then(|| format!("{scheme}://{}", authority.as_str().to_ascii_lowercase()))
}

/// A network, or one address.
pub(super) fn network(value: &str) -> Option<IpNet> {
    value.parse().ok().or_else(|| value.parse::<IpAddr>().ok().map(IpNet::from))
}

/// A filter of the log library.
pub(super) fn log_filter(value: &str) -> Option<String> {
    tracing_subscriber::EnvFilter::try_new(value).ok().map(|_| value.to_owned())
}

/// `90s`, `15m`, `1h`; never zero.
pub(super) fn duration(value: &str) -> Option<Duration> {
    let unit = value.chars().last()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        _ => return None,
    };
    let count: u64 = value.strip_suffix(unit)?.parse().ok()?;
    (1..=31_536_000).contains(&count.checked_mul(seconds)?).then(|| Duration::from_secs(count * seconds))
}

/// A count and a window: `20/10m`.
pub(super) fn policy(prefix: &str, value: &str) -> Option<Policy> {
    let (limit, window) = value.split_once('/')?;
    let limit: u32 = limit.trim().parse().ok().filter(|limit| *limit <= 10_000)?;
    Some(Policy::named(prefix, limit, duration(window.trim())?))
}

/// A rate and a burst: `50/s burst 100`.
pub(super) fn flood_limit(value: &str) -> Option<FloodLimit> {
    let (rate, burst) = value.split_once(" burst ")?;
    let per_second = rate.strip_suffix("/s")?.parse().ok().filter(|n| *n > 0)?;
    let burst = burst.parse().ok().filter(|n| *n > 0)?;
    Some(FloodLimit { per_second, burst })
}

/// `connect=5s,…`: what is not named keeps its default.
pub(super) fn timeouts(value: &str) -> Option<Timeouts> {
    let mut timeouts = Timeouts::default();
    for part in value.split(',') {
        let (name, span) = part.split_once('=')?;
        let span = duration(span.trim())?;
        match name.trim() {
            "connect" => timeouts.connect = span,
            "first" => timeouts.first = span,
            "idle" => timeouts.idle = span,
            "turn" => timeouts.turn = span,
            _ => return None,
        }
    }
    Some(timeouts)
}
