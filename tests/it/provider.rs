//! A scriptable model provider on a real TCP port: what it answers, when, and what it received.

mod script;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use script::Step;
pub use script::{Gate, Script};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    /// Method and path, such as `POST /v1/chat/completions`.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as JSON.
    pub body: Value,
    /// When the request had been read.
    pub at: tokio::time::Instant,
    left: watch::Receiver<bool>,
}

impl Received {
    /// The value of a header; the name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether the client has gone before the script was over.
    pub fn client_left(&self) -> bool {
        *self.left.borrow()
    }

    /// Waits until the client has gone; panics after five seconds.
    pub async fn wait_for_client_to_leave(&self) {
        let mut left = self.left.clone();
        let waited = tokio::time::timeout(Duration::from_secs(5), left.wait_for(|left| *left)).await;
        waited.expect("the client is still connected").expect("the script ended before the client left");
    }
}

struct State {
    queue: Mutex<VecDeque<Script>>,
    default: Mutex<Script>,
    received: watch::Sender<Vec<Received>>,
}

/// The provider. Stops, with all its connections, when it is dropped.
pub struct FakeProvider {
    base_url: String,
    state: Arc<State>,
    _stop: DropGuard,
}

impl FakeProvider {
    /// Listens on a free port. Until told otherwise every answer is the text "ok".
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let state = Arc::new(State {
            queue: Mutex::default(),
            default: Mutex::new(Script::text("ok")),
            received: watch::channel(Vec::new()).0,
        });
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        tracker.spawn(stop.clone().run_until_cancelled_owned(accept(
            listener,
            state.clone(),
            tracker.clone(),
            stop.clone(),
        )));
        Self { base_url, state, _stop: stop.drop_guard() }
    }

    /// What to put before `/chat/completions`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Answers one further request with this script; scripts are used in order.
    pub fn push(&self, script: Script) {
        lock(&self.state.queue).push_back(script);
    }

    /// Answers with this script whenever no other is queued.
    pub fn default(&self, script: Script) {
        *lock(&self.state.default) = script;
    }

    /// All requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Received> {
        self.state.received.borrow().clone()
    }

    /// Waits until so many requests have come and returns the last of them; panics after ten seconds.
    pub async fn request(&self, number: usize) -> Received {
        let mut received = self.state.received.subscribe();
        let wait = received.wait_for(|received| received.len() >= number);
        let received = tokio::time::timeout(Duration::from_secs(10), wait).await;
        received.unwrap_or_else(|_| panic!("request {number} did not come")).unwrap()[number - 1].clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}

async fn accept(listener: TcpListener, state: Arc<State>, tracker: TaskTracker, stop: CancellationToken) {
    while let Ok((socket, _)) = listener.accept().await {
        let state = state.clone();
        tracker.spawn(stop.clone().run_until_cancelled_owned(async move {
            // A client that goes away ends its own connection, nothing else.
            let _ = serve(socket, &state).await;
        }));
    }
}

async fn serve(mut socket: TcpStream, state: &State) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let Some((target, headers, body)) = read_request(&mut socket).await? else { return Ok(()) };
    let (left, watching) = watch::channel(false);
    let script = {
        // Queue and list under one lock, so that the n-th request gets the n-th script.
        let mut queue = lock(&state.queue);
        let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let received = Received { target, headers, body, at: tokio::time::Instant::now(), left: watching };
        state.received.send_modify(|all| all.push(received));
        queue.pop_front().unwrap_or_else(|| lock(&state.default).clone())
    };
    let (mut reader, mut writer) = socket.split();
    let mut nothing = [0; 1];
    let outcome = tokio::select! {
        outcome = play(script, &mut writer) => outcome,
        _ = reader.read(&mut nothing) => Err(std::io::ErrorKind::ConnectionReset.into()),
    };
    match outcome {
        Ok(Ended::Reset) => socket.set_zero_linger(),
        Ok(Ended::Properly) => socket.shutdown().await,
        Err(_) => {
            left.send_replace(true);
            Ok(())
        }
    }
}

enum Ended {
    Properly,
    Reset,
}

async fn play(script: Script, writer: &mut (impl AsyncWriteExt + Unpin)) -> std::io::Result<Ended> {
    for step in script.steps {
        match step {
            Step::Head { status, headers } => {
                let own = [("connection", "close"), ("transfer-encoding", "chunked")];
                let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
                let lines = own.into_iter().chain(headers).map(|(name, value)| format!("{name}: {value}\r\n"));
                let head = format!("HTTP/1.1 {status} Scripted\r\n{}\r\n", lines.collect::<String>());
                writer.write_all(head.as_bytes()).await?;
            }
            Step::Write { bytes, .. } if bytes.is_empty() => {}
            Step::Write { bytes, times } => {
                let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat();
                for _ in 0..times {
                    writer.write_all(&chunk).await?;
                }
            }
            Step::Pause(pause) => tokio::time::sleep(pause).await,
            Step::Wait(gate) => gate.pass().await,
            Step::Hang => std::future::pending().await,
            Step::Reset => return Ok(Ended::Reset),
        }
    }
    writer.write_all(b"0\r\n\r\n").await?;
    Ok(Ended::Properly)
}

type Request = (String, Vec<(String, String)>, Vec<u8>);

/// Reads one request with a `content-length`; nothing if the client said nothing.
async fn read_request(socket: &mut TcpStream) -> std::io::Result<Option<Request>> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(position) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break position;
        }
        if socket.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.split("\r\n");
    let target = lines.next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<_> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        if socket.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some((target, headers, body)))
}
