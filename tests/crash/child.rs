//! A serving child process: started, asked, signalled, killed.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use reqwest::Client;
use tempfile::TempDir;

use crate::ground::until;
use crate::site::Visitor;

/// A running `flatline serve`; killed when dropped.
pub struct Child {
    /// The two lines that it printed.
    pub lines: [String; 2],
    process: std::process::Child,
    output: TempDir,
    client: Client,
}

impl Child {
    /// Starts it and waits for its two lines. Visitors ask through `client`.
    pub async fn start(mut command: Command, client: Client) -> Self {
        let output = tempfile::tempdir().unwrap();
        let file = |name: &str| Stdio::from(File::create(output.path().join(name)).unwrap());
        let process = command.stdin(Stdio::null()).stdout(file("stdout")).stderr(file("stderr")).spawn().unwrap();
        let mut child = Self { lines: [String::new(), String::new()], process, output, client };
        child.lines = until("two lines on standard output", async || {
            let ended = child.process.try_wait().unwrap();
            assert!(ended.is_none(), "the server ended: {ended:?}\n{}", child.log());
            let printed = child.printed();
            let lines: Vec<&str> = printed.split_inclusive('\n').filter(|line| line.ends_with('\n')).collect();
            let [first, second] = lines[..] else { return None };
            Some([first.trim_end().to_owned(), second.trim_end().to_owned()])
        })
        .await;
        child
    }

    /// Where visitors find it.
    pub fn base(&self) -> String {
        address(&self.lines[0]).to_owned()
    }

    /// A user with this API token.
    pub fn user(&self, token: &str) -> Visitor {
        self.visitor(Some(("authorization", format!("Bearer {token}"))))
    }

    /// Somebody with that header, or none.
    pub fn visitor(&self, credential: Option<(&'static str, String)>) -> Visitor {
        Visitor::new(self.client.clone(), self.base(), credential)
    }

    /// All that it printed on standard output.
    pub fn printed(&self) -> String {
        std::fs::read_to_string(self.file("stdout")).unwrap()
    }

    /// All that it logged on standard error.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.file("stderr")).unwrap()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.output.path().join(name)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// SIGKILL: it does nothing more from here on.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Sends a signal, such as `TERM`.
    pub fn signal(&self, name: &str) {
        let kill = format!("kill -{name} {}", self.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success(), "{kill}");
    }

    /// Waits for its end; panics if that takes longer than `within`.
    pub async fn exit(&mut self, within: Duration) -> ExitStatus {
        let exit = until("the process ends", async || self.process.try_wait().unwrap());
        tokio::time::timeout(within, exit).await.expect("the process takes too long to end")
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended already; either way nothing of it stays.
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            eprintln!("the server's log:\n{}", self.log());
        }
    }
}

/// The one http address in a line.
pub fn address(line: &str) -> &str {
    let addresses: Vec<&str> = line.split_whitespace().filter(|word| word.starts_with("http")).collect();
    let [address] = addresses[..] else { panic!("not one address in {line:?}") };
    address
}
