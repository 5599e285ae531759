//! A mail server of a few lines: it says to every recipient what it is told to say, and counts what it takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use flatline::checks::notify::Sender;
use flatline::config::Smtp;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::rig::Rig;

/// Stops when it is dropped.
pub struct MailStub {
    port: u16,
    taken: Arc<AtomicUsize>,
    _serving: JoinSet<()>,
}

impl MailStub {
    /// Answers each `RCPT` with `reply`.
    pub async fn start(reply: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let taken = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&taken);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut talks = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                talks.spawn(talk(stream, reply, Arc::clone(&counted)));
            }
        });
        Self { port, taken, _serving: serving }
    }

    /// A sender that sends its mail here.
    pub fn sender(&self, rig: &Rig) -> Sender {
        let smtp = Smtp { url: format!("smtp://127.0.0.1:{}", self.port), from: "a@b.example".to_owned() };
        Sender::new(rig.db().clone(), rig.shared_clock(), "https://flatline.example", Vec::new(), Some(&smtp)).unwrap()
    }

    /// How many mails it took.
    pub fn count(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }
}

/// One connection, until the other side has had enough.
async fn talk(stream: TcpStream, reply: &'static str, taken: Arc<AtomicUsize>) {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    let mut say = "220 stub".to_owned();
    loop {
        if write.write_all(format!("{say}\r\n").as_bytes()).await.is_err() {
            return;
        }
        let Ok(Some(line)) = lines.next_line().await else { return };
        say = match line.split(' ').next().unwrap() {
            "RCPT" => reply.to_owned(),
            "DATA" => {
                write.write_all(b"354 go on\r\n").await.unwrap();
                while lines.next_line().await.unwrap().is_some_and(|line| line != ".") {}
                taken.fetch_add(1, Ordering::SeqCst);
                "250 taken".to_owned()
            }
            _ => "250 well".to_owned(),
        };
    }
}
