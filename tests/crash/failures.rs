//! Commands that fail: 1 with one line on standard error that says what to do, 2 for usage.

use std::net::TcpListener;

use tempfile::TempDir;

use crate::ground::{Ended, Ground, bare_command, run};

/// The one line on standard error of a command that failed and printed nothing.
fn failure(ended: &Ended) -> &str {
    assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{ended:?}");
    let line = ended.stderr.strip_suffix('\n').unwrap();
    assert!(line.starts_with("flatline: ") && !line.contains('\n'), "not one line: {line:?}");
    line
}

/// Runs a command in an empty folder with these settings.
async fn with(arguments: &[&str], settings: &[(&str, &str)]) -> Ended {
    in_folder(&tempfile::tempdir().unwrap(), arguments, settings).await
}

async fn in_folder(folder: &TempDir, arguments: &[&str], settings: &[(&str, &str)]) -> Ended {
    let mut command = bare_command(folder, arguments);
    command.envs(settings.iter().copied());
    run(command).await
}

on_both! {
    async fn names_and_tokens_that_are_not_there_or_taken(kind) {
        let ground = Ground::new(kind).await;
        ground.print(&["user", "add", "alice"]).await;
        let token = ground.token("alice").await;
        ground.print(&["token", "revoke", &token]).await;
        for (arguments, says) in [
            (&["token", "create", "nobody"][..], "`flatline user add nobody`"),
            (&["token", "list", "nobody"], "`flatline user add nobody`"),
            (&["login-link", "nobody"], "`flatline user add nobody`"),
            (&["user", "tier", "nobody", "pro"], "`flatline user add nobody`"),
            (&["user", "add", "alice"], "take another name"),
            (&["user", "add", "al ice"], "1 to 64 letters"),
            (&["user", "add", ""], "1 to 64 letters"),
            (&["token", "revoke", "flt_nothing"], "`flatline token list NAME`"),
            (&["token", "revoke", &token], "`flatline token list NAME`"),
        ] {
            let ended = ground.run(arguments).await;
            assert!(failure(&ended).contains(says), "{arguments:?}: {ended:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_usage_is_2_and_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, says) in [
        (&["user", "add", "alice", "--tier", "gold"][..], "free, pro and business"),
        (&["user", "tier", "alice", "gold"], "free, pro and business"),
        (&["user", "tier", "alice"], "Usage: flatline user tier"),
        (&["token", "create"], "Usage: flatline token create"),
        (&["token"], "Usage: flatline token"),
        (&["dance"], "Usage: flatline"),
        (&["--port", "80"], "Usage: flatline"),
        (&["migrate", "now"], "Usage: flatline migrate"),
    ] {
        let ended = in_folder(&folder, arguments, &[]).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.contains(says), "{arguments:?}: {}", ended.stderr);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_setting_is_named_with_its_value_and_what_is_allowed() {
    for (name, value, allowed) in [
        ("DATABASE_URL", "mysql://localhost/flatline", "sqlite://FILE or postgres://"),
        ("FLATLINE_ADDR", "localhost", "127.0.0.1:8080"),
        ("FLATLINE_PUBLIC_URL", "flatline.example", "https://flatline.example"),
        ("OPENAI_BASE_URL", "localhost:8081", "http://127.0.0.1:8081/v1"),
        ("FLATLINE_MODEL_TIMEOUTS", "5s", "connect=5s,first=30s"),
        ("FLATLINE_USER_LIMIT", "many", "20/10m"),
        ("FLATLINE_FLOOD_LIMIT", "none", "off"),
        ("FLATLINE_ACTION_TTL", "15", "15m"),
        ("FLATLINE_ALLOWED_ORIGINS", "*", "https://site.example"),
        ("FLATLINE_TRUSTED_PROXIES", "all", "10.0.0.0/8"),
        ("FLATLINE_METRICS_ADDR", "9090", "an address and port"),
        ("FLATLINE_PROMPTS_DIR", "/no/such/folder", "a folder"),
        ("FLATLINE_LOG_FORMAT", "xml", "text or json"),
        ("FLATLINE_SWEEP_INTERVAL", "0s", "5s"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        for arguments in [&["serve"][..], &["migrate"]] {
            let ended = in_folder(&folder, arguments, &[(name, value)]).await;
            let line = failure(&ended);
            assert!(line.contains(&format!("{name}={value:?}")) && line.contains(allowed), "{line}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    let secret = with(&["serve"], &[("FLATLINE_SECRET", "hunter2")]).await;
    assert!(failure(&secret).contains("FLATLINE_SECRET") && !secret.stderr.contains("hunter2"), "{secret:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_env_file_is_named_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(".env"), "FLATLINE_LOG=warn\nOPENAI_API_KEY=hunter2 hunter3\n").unwrap();
    let ended = in_folder(&folder, &["serve"], &[]).await;
    let line = failure(&ended);
    assert!(line.contains(".env") && line.contains("setting 2") && line.contains("NAME=value"), "{line}");
    assert!(!line.contains("hunter"), "{line}");
    std::fs::write(folder.path().join(".env"), "FLATLINE_ADDR=everywhere\n").unwrap();
    let ended = in_folder(&folder, &["migrate"], &[]).await;
    assert!(failure(&ended).contains("FLATLINE_ADDR=\"everywhere\""), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_in_use_is_named_with_its_setting() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = with(&[], &[("FLATLINE_ADDR", &address)]).await;
    let line = failure(&ended);
    assert!(line.contains("FLATLINE_ADDR") && line.contains(&address), "{line}");
    let ended = with(&[], &[("FLATLINE_ADDR", "127.0.0.1:0"), ("FLATLINE_METRICS_ADDR", &address)]).await;
    assert!(failure(&ended).contains("FLATLINE_METRICS_ADDR"), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_away_is_named_with_its_setting() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("letter.db"), "Dear database, ".repeat(100)).unwrap();
    // Nothing listens where this listener was.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let away = format!("postgres://flatline:hunter2@{closed}/flatline");
    for url in ["sqlite:///no/such/folder/flatline.db", "sqlite://letter.db", &away] {
        for arguments in [&["serve"][..], &["migrate"], &["token", "create", "owner"]] {
            let settings = [("DATABASE_URL", url), ("FLATLINE_ADDR", "127.0.0.1:0")];
            let ended = in_folder(&folder, arguments, &settings).await;
            let line = failure(&ended);
            assert!(line.contains("look at DATABASE_URL") && !line.contains("hunter2"), "{url}: {line}");
        }
    }
}
