//! The first start in an empty folder: no settings, two lines, one address each; and the `.env` file.

use reqwest::{Method, StatusCode};

use crate::child::{Child, address};
use crate::ground::{bare_command, run};
use crate::site::{client, json_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_settings_it_serves_a_visitor_and_its_owner_from_a_file_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = bare_command(&folder, &[]);
    command.env("FLATLINE_ADDR", "127.0.0.1:0");
    let mut child = Child::start(command, client()).await;
    assert!(folder.path().join("flatline.db").is_file());

    let visitor = child.visitor(None);
    let page = visitor.send(Method::GET, "/", None).await;
    assert_eq!(page.status(), StatusCode::OK);
    assert!(page.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    let session = json_of(visitor.send(Method::POST, "/api/session", None).await).await;
    assert_eq!((&session["kind"], &session["model"]["offline"]), (&"anonymous".into(), &true.into()));

    // The link is for the same place, works once, and is the owner's.
    let link = address(&child.lines[1]);
    let path = link.strip_prefix(&child.base()).unwrap();
    let signed_in = visitor.send(Method::POST, path, None).await;
    assert_eq!(signed_in.status(), StatusCode::SEE_OTHER);
    let cookie = signed_in.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(visitor.send(Method::POST, path, None).await.status(), StatusCode::GONE);
    let owner = child.visitor(Some(("cookie", cookie)));
    let checks = owner.get("/api/checks").await;
    assert!(!checks["checks"].as_array().unwrap().is_empty(), "the owner begins with a few checks");

    child.signal("TERM");
    assert_eq!(child.exit(std::time::Duration::from_secs(5)).await.code(), Some(0));
    assert_eq!(child.printed().lines().count(), 2, "{}", child.printed());
    for line in child.printed().lines() {
        assert_eq!(line.matches("http").count(), 1, "{line}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_start_has_the_same_owner_and_a_new_link() {
    let folder = tempfile::tempdir().unwrap();
    let start = || {
        let mut command = bare_command(&folder, &["serve"]);
        command.env("FLATLINE_ADDR", "127.0.0.1:0");
        Child::start(command, client())
    };
    let mut first = start().await;
    first.kill();
    let second = start().await;
    let token = |child: &Child| child.lines[1].rsplit('/').next().unwrap().to_owned();
    assert_ne!(token(&first), token(&second));
    let users = run(bare_command(&folder, &["user", "add", "owner"])).await;
    assert_eq!(users.code, 1, "{users:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_env_file_of_the_working_folder_counts_and_the_environment_wins() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "# where it is kept\nDATABASE_URL=sqlite://from_file.db\n\nFLATLINE_USER_LIMIT='7/10m'\n";
    std::fs::write(folder.path().join(".env"), settings).unwrap();
    let migrated = run(bare_command(&folder, &["migrate"])).await;
    assert_eq!((migrated.code, migrated.stderr.as_str()), (0, ""));
    assert!(folder.path().join("from_file.db").is_file() && !folder.path().join("flatline.db").exists());

    let mut command = bare_command(&folder, &["migrate"]);
    command.env("DATABASE_URL", "sqlite://from_environment.db");
    assert_eq!(run(command).await.code, 0);
    assert!(folder.path().join("from_environment.db").is_file());

    // An empty value is the same as none, so the default counts and not the file.
    let mut command = bare_command(&folder, &["migrate"]);
    command.env("DATABASE_URL", "");
    assert_eq!(run(command).await.code, 0);
    assert!(folder.path().join("flatline.db").is_file());

    let mut command = bare_command(&folder, &[]);
    command.env("FLATLINE_ADDR", "127.0.0.1:0");
    let child = Child::start(command, client()).await;
    let token = run(bare_command(&folder, &["token", "create", "owner"])).await.stdout.trim().to_owned();
    let session = json_of(child.user(&token).send(Method::POST, "/api/session", None).await).await;
    assert_eq!(session["limits"][0]["limit"], 7, "{session}");
}
