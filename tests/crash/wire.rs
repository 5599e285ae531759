//! HTTP by hand, for what a client library hides: a request whose body is still on its way, and answers cut short.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A request that the server has let in and whose body it waits for.
pub struct Begun {
    connection: TcpStream,
    body: String,
}

impl Begun {
    /// Sends a POST's head and waits until a handler wants its body. `address` is host and port.
    pub async fn post(address: &str, path: &str, token: &str, body: String) -> Self {
        let mut connection = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nexpect: 100-continue\r\n\
            content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        connection.write_all(head.as_bytes()).await.unwrap();
        let mut answer = [0; CONTINUE.len()];
        connection.read_exact(&mut answer).await.unwrap();
        assert_eq!(answer, CONTINUE, "{}", String::from_utf8_lossy(&answer));
        Self { connection, body }
    }

    /// Sends the body; returns the answer's status and JSON.
    pub async fn finish(mut self) -> (u16, Value) {
        self.connection.write_all(self.body.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        self.connection.read_to_end(&mut answer).await.unwrap();
        parse(&answer).expect("a whole answer")
    }
}

/// Asks on a connection of its own. `None` if not a byte of an answer came; panics if only a part of one did.
pub async fn get(address: &str, path: &str) -> Option<(u16, Value)> {
    let mut connection = TcpStream::connect(address).await.ok()?;
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    connection.write_all(head.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    // A reset ends the answer as a close does; what matters is what had come by then.
    let _ = connection.read_to_end(&mut answer).await;
    if answer.is_empty() {
        return None;
    }
    Some(parse(&answer).unwrap_or_else(|| panic!("half an answer: {}", String::from_utf8_lossy(&answer))))
}

/// An answer's status and JSON, if all that its head announces is there.
fn parse(answer: &[u8]) -> Option<(u16, Value)> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length: usize = head.lines().find_map(|line| line.strip_prefix("content-length: "))?.parse().ok()?;
    let status = head.strip_prefix("http/1.1 ")?.get(..3)?.parse().ok()?;
    let body = &answer[end + 4..];
    (body.len() == length).then(|| (status, serde_json::from_slice(body).unwrap_or(Value::Null)))
}
