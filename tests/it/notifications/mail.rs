//! Mail, through a real mail server: aiosmtpd, which puts what it gets into a folder.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use flatline::checks::channels::test;
use flatline::checks::history::Kind;
use flatline::checks::notify::Sender;
use flatline::config::Smtp;
use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};

use super::post::{channel, rows, until};
use super::smtp::MailStub;
use crate::rig::Rig;
use crate::site::{Plan, Visitor, json_of};

/// Ends with the test.
struct MailServer {
    port: u16,
    folder: TempDir,
    child: Child,
}

impl MailServer {
    async fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new("aiosmtpd")
            .args(["--nosetuid", "--listen", &format!("127.0.0.1:{port}"), "--class", "aiosmtpd.handlers.Mailbox"])
            .arg(folder.path().join("mail"))
            .stdout(Stdio::null())
            .spawn()
            .expect("these tests need aiosmtpd: apt-get install python3-aiosmtpd");
        let server = Self { port, folder, child };
        until("the mail server listens", async || TcpStream::connect(("127.0.0.1", port)).await.is_ok()).await;
        server
    }

    /// The mails that have arrived, whole.
    fn mails(&self) -> Vec<String> {
        let new = Path::new(self.folder.path()).join("mail/new");
        let files = std::fs::read_dir(new).map(|files| files.map(|file| file.unwrap().path()).collect::<Vec<_>>());
        files.unwrap_or_default().iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
    }

    fn settings(&self) -> Smtp {
        let from = "Flatline <alerts@flatline.example>".to_owned();
        Smtp { url: format!("smtp://127.0.0.1:{}", self.port), from }
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn make(user: &Visitor, path: &str, body: Value) -> Value {
    let made = user.send(Method::POST, path, Some(body)).await;
    assert_eq!(made.status(), StatusCode::CREATED, "{path}");
    json_of(made).await
}

on_both! {
    async fn an_alert_arrives_by_mail(kind) {
        let server = MailServer::start().await;
        let smtp = server.settings();
        let site = Plan::new(kind).config(|config| config.smtp = Some(smtp)).start().await;
        let user = site.user("ann", Tier::Free).await;
        let check = make(&user, "/api/checks", json!({"name": "Sicherung: größe & <b>", "period_seconds": 3_600})).await;
        let channel = json!({"kind": "email", "name": "me", "address": "ann@example.org"});
        let channel = make(&user, "/api/channels", channel).await;
        assert_eq!((channel["address"].as_str(), channel.get("secret")), (Some("ann@example.org"), None));
        let ping = check["ping_url"].as_str().unwrap().strip_prefix(&site.base(0)).unwrap().to_owned();
        user.post(&format!("{ping}/fail")).await;
        until("the mail arrives", async || server.mails().len() == 1).await;
        let told = format!("/api/checks/{}/notifications", check["id"].as_str().unwrap());
        until("it is told as sent", async || user.get(&told).await["notifications"][0]["status"] == "sent").await;
        let told = user.get(&told).await["notifications"][0].clone();
        let [mail] = server.mails().try_into().unwrap();
        let (head, body) = mail.split_once("\n\n").unwrap();
        assert!(head.contains("From: Flatline <alerts@flatline.example>"), "{mail}");
        assert!(head.contains("To: ann@example.org"), "{mail}");
        assert!(head.contains("X-RcptTo: ann@example.org"), "{mail}");
        assert!(head.contains(&format!("Message-ID: <{}@flatline.example>", told["id"].as_str().unwrap())), "{mail}");
        assert!(head.contains("Subject: [Flatline] Sicherung: =?utf-8?"), "{mail}");
        assert!(body.contains("Its job reported a failure at 20"), "{mail}");
        assert!(!mail.contains(ping.trim_start_matches("/ping/")), "{mail}");
        site.shutdown().await;
    }

    /// Past the rules of names: the mail still has the recipient and the headers that it should, and no others.
    async fn a_name_with_line_breaks_adds_no_recipient(kind) {
        let server = MailServer::start().await;
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.new_check().await;
        channel(&rig, json!({"kind": "email", "name": "me", "address": "ann@example.org"})).await;
        let name = "x\r\nBcc: ben@example.org\r\nSubject: y\r\n\r\nz";
        let sql = "UPDATE checks SET name = $2 WHERE id = $1";
        flatline::on_db!(rig.db().autocommit(), pool =>
            sqlx::query(sql).bind(&check.id).bind(name).execute(pool).await.map(|_| ())).unwrap();
        rig.ping(&check, Kind::Fail).await;
        let smtp = server.settings();
        let sender = Sender::new(rig.db().clone(), rig.shared_clock(), "https://flatline.example", Vec::new(), Some(&smtp)).unwrap();
        assert_eq!(sender.deliver_due().await.unwrap(), 1);
        let [mail] = server.mails().try_into().unwrap();
        let (head, _) = mail.split_once("\n\n").unwrap();
        let named = |name: &str| head.lines().filter(|line| line.to_lowercase().starts_with(name)).count();
        assert_eq!((named("bcc:"), named("subject:"), named("to:"), named("x-rcptto: ann@example.org")), (0, 1, 1, 1), "{mail}");
    }

    async fn a_server_that_is_away_is_tried_again(kind) {
        let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let rig = Rig::new(kind, Tier::Free).await;
        let check = rig.new_check().await;
        channel(&rig, json!({"kind": "email", "name": "me", "address": "ann@example.org"})).await;
        rig.ping(&check, Kind::Fail).await;
        let smtp = Smtp { url: format!("smtp://{nobody}"), from: "a@b.example".to_owned() };
        let sender = Sender::new(rig.db().clone(), rig.shared_clock(), "https://flatline.example", Vec::new(), Some(&smtp)).unwrap();
        assert_eq!(sender.deliver_due().await.unwrap(), 1);
        let row = rows(rig.db()).await.remove(0);
        assert_eq!((row.status.as_str(), row.last_error.as_deref()), ("pending", Some("the mail server cannot be reached")));
    }

    /// Only a mailbox that does not exist is given up at once: the same 550 is said by relays, blocklists and policies.
    async fn a_refusal_is_final_if_it_is_about_the_address(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        for (nth, (reply, status, reason)) in [
            ("550 5.1.1 no such user", "failed", "SMTP 550"),
            ("553-5.1.3 no\r\n553 5.1.3 address", "failed", "SMTP 553"),
            ("550 5.7.1 relaying denied", "pending", "SMTP 550"),
            ("550 blocked", "pending", "SMTP 550"),
            ("551 who", "pending", "SMTP 551"),
            ("450 4.1.1 later", "pending", "SMTP 450"),
        ].into_iter().enumerate() {
            let stub = MailStub::start(reply).await;
            let address = format!("ann{nth}@example.org");
            let made = channel(&rig, json!({"kind": "email", "name": address, "address": address})).await;
            test(rig.db(), &rig.shared_clock(), &rig.owner, &made.channel.id).await.unwrap();
            assert_eq!(stub.sender(&rig).deliver_due().await.unwrap(), 1);
            let row = rows(rig.db()).await.into_iter().find(|row| row.channel_id == made.channel.id.as_str()).unwrap();
            assert_eq!((row.status.as_str(), row.last_error.as_deref()), (status, Some(reason)), "{reply}");
            assert_eq!(stub.count(), 0);
        }
    }
}
