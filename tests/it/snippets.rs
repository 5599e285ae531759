//! What is copied so that a job pings is run as it is, against a site, and against servers that misbehave.

use std::process::{Command, Output};

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::asking::problem;
use crate::proposals::new_check;
use crate::site::{Site, Visitor, json_of};

/// A check's snippet of that name.
async fn snippet(who: &Visitor, check: &Value, name: &str) -> String {
    let snippets = who.get(&format!("/api/checks/{}/snippets", check["id"].as_str().unwrap())).await;
    let found = snippets["snippets"].as_array().unwrap().iter().find(|snippet| snippet["name"] == name).unwrap();
    found["text"].as_str().unwrap().to_owned()
}

async fn run(program: &'static str, arguments: Vec<String>, environment: Vec<(&'static str, &'static str)>) -> Output {
    let running = move || Command::new(program).args(arguments).envs(environment).output().unwrap();
    tokio::task::spawn_blocking(running).await.unwrap()
}

async fn shell(script: String) -> Output {
    run("sh", vec!["-c".to_owned(), script], Vec::new()).await
}

async fn look(who: &Visitor, check: &Value) -> Value {
    who.get(&format!("/api/checks/{}", check["id"].as_str().unwrap())).await
}

/// The last ping of a check.
async fn last(who: &Visitor, check: &Value) -> Value {
    who.get(&format!("/api/checks/{}/pings?limit=1", check["id"].as_str().unwrap())).await["pings"][0].clone()
}

on_both! {
    async fn curl_and_python_ping(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Pro).await;
        let check = new_check(&user, "backup", json!({})).await;
        for name in ["curl", "crontab", "systemd", "python"] {
            assert!(snippet(&user, &check, name).await.contains(check["ping_url"].as_str().unwrap()), "{name}");
        }
        let path = format!("/api/checks/{}/snippets", check["id"].as_str().unwrap());
        problem(site.user("bob", Tier::Free).await.send(Method::GET, &path, None).await, 404, "check_not_found").await;
        // A refusal never makes the job fail.
        let curl = snippet(&user, &check, "curl").await;
        assert!(curl.contains("--retry-max-time 30"));
        let script = curl.replacen("curl", "sh -c 'exit 3'; curl", 1).replace("--retry 3", "--retry 0");
        assert!(shell(script).await.status.success());
        assert_eq!(look(&user, &check).await["status"], "down");
        assert_eq!(last(&user, &check).await["exit_status"], 3);
        let python = snippet(&user, &check, "python").await.replace("your_job()", "None");
        assert!(run("python3", vec!["-c".to_owned(), python], Vec::new()).await.status.success());
        let after = look(&user, &check).await;
        assert_eq!((&after["status"], after["last_start_at"].is_null()), (&json!("up"), false));
    }

    /// systemd names the signal where a shell has a number.
    async fn a_unit_tells_how_it_ended(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Pro).await;
        for (ended, state, status) in [("0", "up", json!(0)), ("1", "down", json!(1)), ("TERM", "down", Value::Null), ("", "down", Value::Null)] {
            let check = new_check(&user, &format!("ended {ended:?}"), json!({})).await;
            let unit = snippet(&user, &check, "systemd").await;
            let line = unit.lines().find(|line| line.starts_with("ExecStopPost=")).unwrap();
            // As systemd hands it to the shell: what is quoted is one word, and $$ is a dollar sign.
            let script = line.strip_prefix("ExecStopPost=-/bin/sh -c '").unwrap().strip_suffix('\'').unwrap().replace("$$", "$");
            assert!(!script.contains(['\'', '%']), "{script}");
            let ran = run("sh", vec!["-c".to_owned(), script], vec![("EXIT_STATUS", ended)]).await;
            assert!(ran.status.success(), "{ran:?}");
            assert_eq!((&look(&user, &check).await["status"], &last(&user, &check).await["exit_status"]), (&json!(state), &status), "{ended:?}");
        }
    }

    async fn a_crontab_line_has_the_checks_own_times(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Business).await;
        for (period, begins) in [
            (60, "* * * * * your-job; curl"),
            (300, "*/5 * * * * your-job; curl"),
            (3_600, "0 * * * * your-job; curl"),
            (7_200, "0 */2 * * * your-job; curl"),
            (86_400, "0 0 * * * your-job; curl"),
            (604_800, "0 0 * * 0 your-job; curl"),
            (420, "# a crontab cannot say every 7 minutes: this is the next shorter one that it can\n*/6 * * * * your-job; curl"),
            (172_800, "# a crontab cannot say every 2 days: this is the next shorter one that it can\n0 0 * * * your-job; curl"),
        ] {
            let check = new_check(&user, &format!("each {period}"), json!({"period_seconds": period})).await;
            let crontab = snippet(&user, &check, "crontab").await;
            assert!(crontab.starts_with(begins), "{crontab}");
        }
        let nightly = json!({"name": "n", "cron": "30 2 * * *", "timezone": "Europe/Berlin"});
        let nightly = json_of(user.send(Method::POST, "/api/checks", Some(nightly)).await).await;
        let crontab = snippet(&user, &nightly, "crontab").await;
        let lines: Vec<&str> = crontab.lines().collect();
        assert!(lines[0].starts_with("# Debian's cron ignores CRON_TZ"), "{crontab}");
        assert_eq!(lines[1], "CRON_TZ=Europe/Berlin");
        assert!(lines[2].starts_with("30 2 * * * your-job; curl"), "{crontab}");
    }

    /// Whatever comes back, the job goes on; and what is not worth a wait is not waited for.
    async fn python_raises_nothing_and_waits_no_longer_than_it_says(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Pro).await;
        let check = new_check(&user, "backup", json!({})).await;
        let url = check["ping_url"].as_str().unwrap().to_owned();
        let python = snippet(&user, &check, "python").await;
        let (ping, _) = python.split_once("\n\n\nping(").unwrap();
        for (answer, tries) in [
            ("HTTP/1.1 429 Wait\r\nRetry-After: Wed, 21 Oct 2099 07:28:00 GMT\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", 3),
            ("HTTP/1.1 429 Wait\r\nRetry-After: 31\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", 1),
            ("HTTP/1.1 429 Wait\r\nRetry-After: 99999999999999999999\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", 1),
            ("HTTP/1.1 404 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", 1),
            ("broken\r\n\r\n", 3),
            ("", 3),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let here = format!("http://{}/x", listener.local_addr().unwrap());
            let mut server = JoinSet::new();
            server.spawn(async move {
                for _ in 0..tries {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    let _ = stream.read(&mut [0; 4_096]).await.unwrap();
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            });
            // Its sleeps are only counted, so that the case is quick.
            let script = format!("{}\nslept = []\ntime.sleep = slept.append\nping()\nprint(len(slept), max(slept, default=0))", ping.replace(&url, &here));
            let ran = run("python3", vec!["-c".to_owned(), script], Vec::new()).await;
            assert!(ran.status.success(), "{answer:?}: {}", String::from_utf8_lossy(&ran.stderr));
            server.join_all().await;
            let told = String::from_utf8(ran.stdout).unwrap();
            let expected = if tries == 3 { "2 4\n" } else { "0 0\n" };
            assert_eq!(told.as_str(), expected, "{answer:?}");
        }
        assert_eq!(user.get("/api/checks").await["checks"][0]["status"], "new");
        assert_eq!(user.send(Method::GET, "/healthz", None).await.status(), StatusCode::OK);
    }
}
