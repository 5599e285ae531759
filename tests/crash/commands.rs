//! The commands: what they print, before the first start and beside a running server.

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::child::{Child, address};
use crate::ground::{Ground, bare_command, run};
use crate::site::json_of;

/// Who the holder of this token is, or the refusal's status.
async fn who(child: &Child, token: &str) -> Result<Value, StatusCode> {
    let answer = child.user(token).send(Method::POST, "/api/session", None).await;
    if answer.status() == StatusCode::OK { Ok(json_of(answer).await["user"].clone()) } else { Err(answer.status()) }
}

/// The only line of what a command printed.
fn line(printed: &str) -> &str {
    let line = printed.strip_suffix('\n').unwrap();
    assert!(!line.is_empty() && !line.contains(char::is_whitespace), "not one word alone: {printed:?}");
    line
}

/// The rows of `token list`: id, label, when made, whether in use.
async fn list(ground: &Ground, user: &str) -> Vec<[String; 4]> {
    let printed = ground.print(&["token", "list", user]).await;
    let columns = |row: &str| <[String; 4]>::try_from(row.split('\t').map(str::to_owned).collect::<Vec<_>>()).unwrap();
    printed.lines().map(columns).collect()
}

on_both! {
    async fn they_work_before_the_first_start_and_the_server_finds_what_they_made(kind) {
        let ground = Ground::new(kind).await.set("FLATLINE_PUBLIC_URL", "https://flatline.example/");
        let added = ground.print(&["user", "add", "alice", "--tier", "pro"]).await;
        assert!(added.ends_with(" alice pro\n"), "{added}");
        assert_eq!(ground.print(&["token", "list", "alice"]).await, "");
        let token = ground.print(&["token", "create", "alice", "--label", "nightly job"]).await;
        let token = line(&token);
        assert!(token.starts_with("flt_"), "{token}");
        let listed = list(&ground, "alice").await;
        assert_eq!((listed.len(), listed[0][1].as_str(), listed[0][3].as_str()), (1, "nightly job", "in use"));
        assert!(!listed[0].concat().contains(token), "a token is shown once");
        let link = ground.print(&["login-link", "alice"]).await;
        assert!(line(&link).starts_with("https://flatline.example/sign-in/"), "{link}");
        assert_eq!(ground.print(&["user", "tier", "alice", "business"]).await, "alice business\n");
        assert_eq!(ground.print(&["migrate"]).await.lines().count(), 1);

        let child = ground.serve().await;
        assert_eq!(address(&child.lines[0]), "https://flatline.example");
        assert!(address(&child.lines[1]).starts_with("https://flatline.example/sign-in/"), "there is an owner, too");
    }

    async fn they_work_beside_a_running_server_and_at_once(kind) {
        let ground = Ground::new(kind).await;
        let child = ground.serve().await;
        let tokens = [ground.token("owner").await, ground.token("owner").await];
        for token in &tokens {
            let user = who(&child, token).await.unwrap();
            assert_eq!((&user["name"], &user["tier"]), (&"owner".into(), &"free".into()));
        }
        ground.print(&["user", "tier", "owner", "pro"]).await;
        assert_eq!(who(&child, &tokens[0]).await.unwrap()["tier"], "pro");

        // By itself, then by its id.
        ground.print(&["token", "revoke", &tokens[0]]).await;
        assert_eq!(who(&child, &tokens[0]).await, Err(StatusCode::UNAUTHORIZED));
        let listed = list(&ground, "owner").await;
        let (revoked, in_use): (Vec<_>, Vec<_>) = listed.iter().partition(|row| row[3].starts_with("revoked "));
        assert_eq!((revoked.len(), in_use.len(), in_use[0][3].as_str()), (1, 1, "in use"));
        assert!(who(&child, &tokens[1]).await.is_ok());
        ground.print(&["token", "revoke", &in_use[0][0]]).await;
        assert_eq!(who(&child, &tokens[1]).await, Err(StatusCode::UNAUTHORIZED));

        // A link from a command signs in at the server, once.
        let link = ground.print(&["login-link", "owner"]).await;
        let path = &line(&link)[line(&link).find("/sign-in/").unwrap()..];
        let visitor = child.visitor(None);
        assert_eq!(visitor.send(Method::POST, path, None).await.status(), StatusCode::SEE_OTHER);
        assert_eq!(visitor.send(Method::POST, path, None).await.status(), StatusCode::GONE);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_has_its_help_and_there_is_a_version() {
    let folder = tempfile::tempdir().unwrap();
    for command in [
        &[][..],
        &["serve"],
        &["migrate"],
        &["user"],
        &["user", "add"],
        &["user", "tier"],
        &["token"],
        &["token", "create"],
        &["token", "list"],
        &["token", "revoke"],
        &["login-link"],
    ] {
        let help = run(bare_command(&folder, &[command, &["--help"]].concat())).await;
        assert_eq!((help.code, help.stderr.as_str()), (0, ""), "{command:?}");
        let usage = format!("Usage: {}", [&["flatline"], command].concat().join(" "));
        assert!(help.stdout.contains(&usage), "{command:?}: {}", help.stdout);
    }
    let version = run(bare_command(&folder, &["--version"])).await;
    assert_eq!(version.stdout, format!("flatline {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "asking for help makes no database");
}
