//! A running nginx as Debian ships it, with the server block of our own README.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

use crate::site::Site;

const PROGRAM: &str = "/usr/sbin/nginx";
const CONFIGURATION: &str = "/etc/nginx/nginx.conf";
const README: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md"));
/// The instances of README.
const UPSTREAMS: [&str; 2] = ["127.0.0.1:8081", "127.0.0.1:8082"];

/// A proxy before both instances of a site; stopped when dropped.
pub struct Proxy {
    /// Where clients find it.
    pub base: String,
    master: Child,
    folder: TempDir,
}

impl Proxy {
    /// Starts it and waits until it listens.
    pub async fn start(site: &Site) -> Self {
        assert!(Path::new(PROGRAM).exists(), "these tests need nginx: apt-get install nginx-light");
        let folder = tempfile::tempdir().unwrap();
        let address = free_address().await;
        let configuration = folder.path().join("nginx.conf");
        std::fs::write(&configuration, configured(folder.path(), &server_block(site, address))).unwrap();
        let log = std::fs::File::create(folder.path().join("stderr")).unwrap();
        let mut command = Command::new(PROGRAM);
        command.arg("-c").arg(&configuration).args(["-e", "stderr", "-g", "daemon off;"]);
        let master = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let mut proxy = Self { base: format!("http://{address}"), master, folder };
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(address).await.is_err() {
            let ended = proxy.master.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "nginx does not listen: {}", proxy.log());
            sleep(Duration::from_millis(10)).await;
        }
        proxy
    }

    /// What it complained about.
    fn log(&self) -> String {
        let read = |name| std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        read("stderr") + &read("error.log")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Asked, not killed: a master that is killed leaves its workers behind.
        let asked = Command::new("sh").args(["-c", &format!("kill -TERM {}", self.master.id())]).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.master.kill();
        }
        let _ = self.master.wait();
        if std::thread::panicking() {
            eprintln!("nginx' log:\n{}", self.log());
        }
    }
}

/// Debian's configuration with this server instead of its sites, and with its files in `folder`.
fn configured(folder: &Path, server: &str) -> String {
    let debian = std::fs::read_to_string(CONFIGURATION).unwrap();
    let file = |name: &str| folder.join(name).display().to_string();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {};\n", file(kind)))
        .concat();
    let replaced = [
        // The folder is the tests' own; without root the line means nothing.
        ("user www-data;", "user root;".to_owned()),
        ("pid /run/nginx.pid;", format!("pid {};", file("pid"))),
        ("error_log /var/log/nginx/error.log;", format!("error_log {};", file("error.log"))),
        ("access_log /var/log/nginx/access.log;", format!("access_log {};", file("access.log"))),
        ("include /etc/nginx/conf.d/*.conf;", temporary),
        ("include /etc/nginx/sites-enabled/*;", server.to_owned()),
    ];
    replaced.into_iter().fold(debian, |text, (line, by)| {
        assert_eq!(text.matches(line).count(), 1, "{CONFIGURATION} is not Debian's: {line}");
        text.replace(line, &by)
    })
}

/// README's block, with the addresses of this test.
fn server_block(site: &Site, address: SocketAddr) -> String {
    let (_, rest) = README.split_once("```nginx\n").expect("README has a block for nginx");
    let (block, _) = rest.split_once("```").expect("README's block ends");
    let name = "server_name flatline.example;";
    let own = format!("listen {address}; server_name {};", address.ip());
    let replaced = UPSTREAMS.into_iter().zip(&site.apps).map(|(line, app)| (line, app.addr.to_string()));
    replaced.chain([(name, own)]).fold(block.to_owned(), |text, (line, by)| {
        assert_eq!(text.matches(line).count(), 1, "README does not say {line}");
        text.replace(line, &by)
    })
}

/// On a loopback address of its own, so that nothing else takes the port between here and nginx' start.
async fn free_address() -> SocketAddr {
    let [a, b, c] = [(); 3].map(|()| rand::random_range(1..=254));
    TcpListener::bind(SocketAddr::from(([127, a, b, c], 0))).await.unwrap().local_addr().unwrap()
}
