//! The accept loop: every connection has a place, a deadline for its heads, and an end when the process stops.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use super::stall::StallGuard;

/// A partial head is cut after this; so is an idle connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that has acknowledged nothing for this long is gone.
#[cfg(target_os = "linux")]
const VANISHED: Duration = Duration::from_secs(30);
/// Connections at once; one more waits in the listener's backlog. Below the usual limit of open files.
const MAX_CONNECTIONS: usize = 900;
/// After a failed accept (out of file descriptors, mostly) the loop breathes.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` until `stop`; then finishes what runs, each connection on its own, in `tasks`.
pub async fn serve(listener: TcpListener, router: Router, tasks: TaskTracker, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (router, stop) = (router.clone(), stop.clone());
                tasks.spawn(async move {
                    handle(stream, peer, router, stop).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "accept failed");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn handle(stream: TcpStream, peer: SocketAddr, router: Router, stop: CancellationToken) {
    // Deltas are small; waiting to fill a segment would hold them back.
    let _ = stream.set_nodelay(true);
    // A peer that vanished acknowledges nothing, and our heartbeats would fill the socket's buffer for minutes.
    #[cfg(target_os = "linux")]
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(VANISHED));
    let service = router.map_request(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        request
    });
    let io = TokioIo::new(StallGuard::new(stream));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(io, TowerToHyperService::new(service));
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection ended");
    }
}
