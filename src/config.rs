//! The settings: read once from the environment (and a `.env` file), checked, and never read again.

mod outgoing;
mod source;
mod values;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;

use crate::limits::Policy;
use crate::llm::Timeouts;
pub use outgoing::{Allowed, Smtp};
use outgoing::{allowed, smtp};
use source::{Source, env_file};
use values::{database_url, duration, flood_limit, log_filter, network, origin, policy, timeouts};

/// Every variable with its default as `.env.example` shows it, in the order of [`Config`]. A test compares.
pub const VARIABLES: &[(&str, &str)] = &[
    ("DATABASE_URL", "sqlite://flatline.db"),
    ("FLATLINE_ADDR", "127.0.0.1:8080"),
    ("FLATLINE_PUBLIC_URL", ""),
    ("FLATLINE_SECRET", ""),
    ("OPENAI_API_KEY", ""),
    ("OPENAI_BASE_URL", ""),
    ("FLATLINE_MODEL", "gpt-5-mini"),
    ("FLATLINE_MODEL_TIMEOUTS", "connect=5s,first=30s,idle=30s,turn=180s"),
    ("FLATLINE_USER_LIMIT", "20/10m"),
    ("FLATLINE_ANON_LIMIT", "30/1h"),
    ("FLATLINE_ANON_NETWORK_LIMIT", "120/1h"),
    ("FLATLINE_FLOOD_LIMIT", "50/s burst 100"),
    ("FLATLINE_ACTION_TTL", "15m"),
    ("FLATLINE_ALLOWED_ORIGINS", ""),
    ("FLATLINE_TRUSTED_PROXIES", ""),
    ("FLATLINE_METRICS_ADDR", ""),
    ("FLATLINE_OUTGOING_ALLOW", ""),
    ("FLATLINE_PROMPTS_DIR", ""),
    ("FLATLINE_LOG", "info"),
    ("FLATLINE_LOG_FORMAT", "text"),
    ("FLATLINE_SWEEP_INTERVAL", "5s"),
    ("SMTP_URL", ""),
    ("FLATLINE_MAIL_FROM", ""),
];

const OPENAI_API: &str = "https://api.openai.com/v1";

/// The settings.
#[derive(Clone)]
pub struct Config {
    /// `sqlite://…` or `postgres://…`.
    pub database_url: String,
    /// Where to listen; port 0 picks one.
    pub addr: SocketAddr,
    /// Where the site is reached, without a trailing slash; the listening address if unset.
    pub public_url: Option<String>,
    /// Signs sessions; kept in the database if unset.
    pub secret: Option<String>,
    /// The model server; `None` means the offline assistant.
    pub provider: Option<Provider>,
    /// How long each part of an answer may take.
    pub model_timeouts: Timeouts,
    /// Messages of a user.
    pub user_limit: Policy,
    /// Messages of an anonymous session.
    pub anon_limit: Policy,
    /// Messages of all anonymous sessions of one network.
    pub anon_network_limit: Policy,
    /// The flood guard; `None` is off.
    pub flood_limit: Option<FloodLimit>,
    /// Life of a pending action.
    pub action_ttl: Duration,
    /// Other sites that may call the API from a browser.
    pub allowed_origins: Vec<String>,
    /// Proxies whose `X-Forwarded-For` counts.
    pub trusted_proxies: Vec<IpNet>,
    /// Where Prometheus may ask; not served if unset.
    pub metrics_addr: Option<SocketAddr>,
    /// What notifications may reach although it is private.
    pub outgoing_allow: Vec<Allowed>,
    /// Prompts that replace the compiled ones.
    pub prompts_dir: Option<PathBuf>,
    /// The log filter.
    pub log: String,
    /// How log lines look.
    pub log_format: LogFormat,
    /// Time between two sweeps.
    pub sweep_interval: Duration,
    /// How mail is sent; `None`: there is none.
    pub smtp: Option<Smtp>,
}

/// A model server that speaks OpenAI's Chat Completions.
#[derive(Clone)]
pub struct Provider {
    /// The key; some local servers want none.
    pub api_key: Option<String>,
    /// The API's address, up to `/v1`.
    pub base_url: String,
    /// The model's name.
    pub model: String,
}

/// Requests of one network that the flood guard lets pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FloodLimit {
    /// Per second, in the long run.
    pub per_second: u32,
    /// At once.
    pub burst: u32,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For machines, one object a line.
    Json,
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{variable}={value:?} is not usable: it must be {allowed}")]
pub struct ConfigError {
    variable: &'static str,
    value: String,
    allowed: &'static str,
}

impl Config {
    /// Reads the process's environment, and `.env` in the working folder for what is not set there.
    ///
    /// # Errors
    /// Names the variable, its value and what is allowed.
    pub fn from_environment() -> Result<Self, ConfigError> {
        let file = env_file()?;
        // A value that is no text is no setting either: it is refused like any other.
        let environment = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Self::load(&|name| environment(name).or_else(|| file.get(name).cloned()))
    }

    /// Reads settings from `lookup`. An empty value is the same as none.
    ///
    /// # Errors
    /// As [`Self::from_environment`].
    pub fn load(lookup: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let source = Source { lookup };
        let limit = |prefix, name| source.parse(name, "a count and a window like 20/10m, 30/1h", |v| policy(prefix, v));
        let span = |name| source.parse(name, "a time like 5s, 15m or 1h", duration);
        let addresses = "comma-separated addresses or networks like 10.0.0.0/8";
        Ok(Self {
            database_url: source.parse("DATABASE_URL", "sqlite://FILE or postgres://…", database_url)?,
            addr: source.parse("FLATLINE_ADDR", "an address and port like 127.0.0.1:8080", |v| v.parse().ok())?,
            public_url: source.optional("FLATLINE_PUBLIC_URL", "an address like https://flatline.example", origin)?,
            secret: source
                .secret("FLATLINE_SECRET", "at least 32 characters", |v| (v.len() >= 32).then(|| v.into()))?,
            provider: provider(&source)?,
            model_timeouts: source.parse(
                "FLATLINE_MODEL_TIMEOUTS",
                "times like connect=5s,first=30s,idle=30s,turn=180s",
                timeouts,
            )?,
            user_limit: limit("user", "FLATLINE_USER_LIMIT")?,
            anon_limit: limit("anon", "FLATLINE_ANON_LIMIT")?,
            anon_network_limit: limit("anon-net", "FLATLINE_ANON_NETWORK_LIMIT")?,
            flood_limit: source.parse("FLATLINE_FLOOD_LIMIT", "a rate like 50/s burst 100, or off", |v| {
                if v == "off" { Some(None) } else { flood_limit(v).map(Some) }
            })?,
            action_ttl: span("FLATLINE_ACTION_TTL")?,
            allowed_origins: source.list(
                "FLATLINE_ALLOWED_ORIGINS",
                "comma-separated origins like https://site.example",
                origin,
            )?,
            trusted_proxies: source.list("FLATLINE_TRUSTED_PROXIES", addresses, network)?,
            metrics_addr: source.optional("FLATLINE_METRICS_ADDR", "an address and port", |v| v.parse().ok())?,
            outgoing_allow: source.list(
                "FLATLINE_OUTGOING_ALLOW",
                "comma-separated networks like 10.0.0.0/8, or hosts with a port like hooks.internal:8080",
                allowed,
            )?,
            prompts_dir: source.optional("FLATLINE_PROMPTS_DIR", "a folder", |v| {
                let path = PathBuf::from(v);
                path.is_dir().then_some(path)
            })?,
            log: source.parse("FLATLINE_LOG", "a level or filter like info or flatline=debug,info", log_filter)?,
            log_format: source.parse("FLATLINE_LOG_FORMAT", "text or json", |v| match v {
                "text" => Some(LogFormat::Text),
                "json" => Some(LogFormat::Json),
                _ => None,
            })?,
            sweep_interval: span("FLATLINE_SWEEP_INTERVAL")?,
            smtp: smtp(&source)?,
        })
    }
}

/// Never shows what must stay secret.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = self.database_url.split("://").next().unwrap_or_default();
        f.debug_struct("Config")
            .field("database", &database)
            .field("addr", &self.addr)
            .field("public_url", &self.public_url)
            .field("model", &self.provider.as_ref().map(|p| &p.model))
            .finish_non_exhaustive()
    }
}

fn provider(source: &Source<'_>) -> Result<Option<Provider>, ConfigError> {
    let api_key = source.find("OPENAI_API_KEY");
    let base_url = source.optional("OPENAI_BASE_URL", "an address like http://127.0.0.1:8081/v1", |value| {
        let rest = value.strip_prefix("https://").or_else(|| value.strip_prefix("http://"))?;
        (!rest.is_empty() && !rest.contains(char::is_whitespace)).then(|| value.trim_end_matches('/').to_owned())
    })?;
    if api_key.is_none() && base_url.is_none() {
        return Ok(None);
    }
    let model = source.parse("FLATLINE_MODEL", "a model's name", |value| Some(value.to_owned()))?;
    Ok(Some(Provider { api_key, base_url: base_url.unwrap_or_else(|| OPENAI_API.to_owned()), model }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::load(&|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn no_settings_are_the_defaults() {
        let config = with(&[]).unwrap();
        assert_eq!(config.addr.to_string(), "127.0.0.1:8080");
        assert_eq!(config.user_limit, Policy::named("user", 20, Duration::from_mins(10)));
        assert!(config.provider.is_none());
        assert_eq!(config.flood_limit, Some(FloodLimit { per_second: 50, burst: 100 }));
    }

    #[test]
    fn a_wrong_value_is_named_with_what_is_allowed() {
        for (name, value) in [
            ("DATABASE_URL", "mysql://x"),
            ("FLATLINE_ADDR", "8080"),
            ("FLATLINE_PUBLIC_URL", "flatline.example"),
            ("FLATLINE_USER_LIMIT", "20"),
            ("FLATLINE_USER_LIMIT", "-1/10m"),
            ("FLATLINE_USER_LIMIT", "20/0m"),
            ("FLATLINE_FLOOD_LIMIT", "50"),
            ("FLATLINE_ACTION_TTL", "15"),
            ("FLATLINE_ALLOWED_ORIGINS", "https://a.example/path"),
            ("FLATLINE_ALLOWED_ORIGINS", "*"),
            ("FLATLINE_ALLOWED_ORIGINS", "null"),
            ("FLATLINE_TRUSTED_PROXIES", "everyone"),
            ("FLATLINE_LOG_FORMAT", "xml"),
            ("FLATLINE_MODEL_TIMEOUTS", "connect=5"),
            ("OPENAI_BASE_URL", "localhost:8081"),
            ("FLATLINE_OUTGOING_ALLOW", "everything"),
            ("FLATLINE_OUTGOING_ALLOW", "10.0.0.0/33"),
            ("FLATLINE_OUTGOING_ALLOW", "hooks.internal:0"),
            ("FLATLINE_OUTGOING_ALLOW", "127.1:9000"),
            ("FLATLINE_OUTGOING_ALLOW", "0x7f.1:9000"),
        ] {
            let error = with(&[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(value) && error.contains("must be"), "{error}");
        }
    }

    #[test]
    fn a_wrong_secret_is_not_repeated() {
        let error = with(&[("FLATLINE_SECRET", "hunter2")]).unwrap_err().to_string();
        assert!(error.contains("FLATLINE_SECRET") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn debug_shows_no_secret() {
        let secrets = [
            ("OPENAI_API_KEY", "sk-secret"),
            ("DATABASE_URL", "postgres://u:pw@h/d"),
            ("SMTP_URL", "smtps://u:pw@h"),
            ("FLATLINE_MAIL_FROM", "a@b.example"),
        ];
        let shown = format!("{:?}", with(&secrets).unwrap());
        assert!(!shown.contains("sk-secret") && !shown.contains("pw"), "{shown}");
    }
}
