//! Logs and metrics: how they are set up, and every metric's name.

use std::sync::OnceLock;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};

/// Requests answered; labels `route`, `status`.
pub const REQUESTS: &str = "flatline_http_requests_total";
/// Seconds until a request's answer began; label `route`.
pub const REQUEST_SECONDS: &str = "flatline_http_request_seconds";
/// Turns ended; label `status`.
pub const TURNS: &str = "flatline_turns_total";
/// Model calls that failed; labels `kind`, `status`.
pub const MODEL_ERRORS: &str = "flatline_model_errors_total";
/// Tokens as told by the provider; label `direction`.
pub const TOKENS: &str = "flatline_model_tokens_total";
/// Messages refused by a quota; label `policy`.
pub const QUOTA_REFUSALS: &str = "flatline_quota_refusals_total";
/// Actions that left PENDING or were made; label `event`.
pub const ACTIONS: &str = "flatline_actions_total";
/// Pings; label `outcome`.
pub const PINGS: &str = "flatline_pings_total";
/// Checks that the sweep found late and took down.
pub const SWEPT: &str = "flatline_checks_swept_total";
/// Attempts to deliver a notification; labels `kind`, `outcome`.
pub const DELIVERIES: &str = "flatline_deliveries_total";
/// Event streams open now.
pub const STREAMS: &str = "flatline_streams_open";

/// Sets up logging on standard error. Standard output is for answers to the operator.
pub fn init_logs(config: &Config) {
    let filter = EnvFilter::try_new(&config.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let set = match config.log_format {
        LogFormat::Text => subscriber.with_ansi(false).try_init(),
        LogFormat::Json => subscriber.json().flatten_event(true).try_init(),
    };
    if set.is_err() {
        tracing::debug!("a subscriber is already set");
    }
}

/// The process's metrics, installed at the first call; `None` if something else recorded them before.
pub fn metrics_handle() -> Option<PrometheusHandle> {
    static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();
    let install = || {
        let seconds = [0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 30.0];
        let builder = PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &seconds);
        builder.ok()?.install_recorder().ok()
    };
    HANDLE.get_or_init(install).clone()
}
