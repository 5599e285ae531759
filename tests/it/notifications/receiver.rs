//! Somebody else's server: takes what is posted to it, and answers as it is told.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Received {
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
}

impl Received {
    pub fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

type Log = Arc<Mutex<Vec<Received>>>;
type Answer = dyn Fn(usize, &Received) -> Response + Send + Sync;

/// Stops when it is dropped.
pub struct Receiver {
    pub port: u16,
    received: Log,
    held: Arc<Semaphore>,
    _serving: JoinSet<()>,
}

impl Receiver {
    /// Answers the nth request (from 0) with `answer(n, request)`.
    pub async fn start(answer: impl Fn(usize, &Received) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Log::default();
        let held = Arc::new(Semaphore::new(0));
        let state = (Arc::clone(&received), Arc::clone(&held), Arc::new(answer) as Arc<Answer>);
        let router = Router::new().fallback(take).with_state(state);
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { port, received, held, _serving: serving }
    }

    /// Lets every request to `/held` have its answer; until then they wait.
    pub fn release(&self) {
        self.held.close();
    }

    /// Takes everything.
    pub async fn willing() -> Self {
        Self::start(|_, _| answer(200)).await
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.received.lock().unwrap().len()
    }
}

async fn take(
    State((received, held, answer)): State<(Log, Arc<Semaphore>, Arc<Answer>)>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = Received { path: uri.path().to_owned(), headers, body: String::from_utf8(body.to_vec()).unwrap() };
    let nth = {
        let mut received = received.lock().unwrap();
        received.push(request.clone());
        received.len() - 1
    };
    if request.path == "/held" {
        let _ = held.acquire().await;
    }
    answer(nth, &request)
}

/// An empty answer.
pub fn answer(status: u16) -> Response {
    Response::builder().status(status).body("not for the log".into()).unwrap()
}

/// A redirect.
pub fn redirect(status: u16, to: &str) -> Response {
    Response::builder().status(status).header("location", to).body("".into()).unwrap()
}
