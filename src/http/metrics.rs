//! Prometheus' view, on an address of its own that visitors never reach.

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::telemetry::metrics_handle;

/// Serves `/metrics` on `listener` until `stop`.
pub async fn serve(listener: TcpListener, stop: CancellationToken) {
    let render = || async {
        let handle = metrics_handle();
        handle
            .map(|handle| {
                handle.run_upkeep();
                handle.render()
            })
            .unwrap_or_default()
    };
    let router = Router::new().route("/metrics", get(render));
    if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await {
        tracing::error!(%error, "metrics are no longer served");
    }
}
