//! How a job pings its check, for the usual places that jobs live in. Each is honest about a refusal: it waits as long as
//! `Retry-After` says, for a bounded time, and never makes the job itself fail.

use serde::Serialize;
use utoipa::ToSchema;

use super::Check;

/// A piece of text to copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Snippet {
    /// `curl`, `crontab`, `systemd`, `python`.
    pub name: &'static str,
    /// What it is for, in words.
    pub title: &'static str,
    /// The text.
    pub text: String,
}

/// The snippets of a check whose jobs ping `ping_url`.
pub fn snippets(check: &Check, ping_url: &str) -> Vec<Snippet> {
    // curl obeys Retry-After beyond -m, so the whole of it is bounded too.
    let curl = "curl -fsS -m 10 --retry 3 --retry-max-time 30 -o /dev/null";
    let schedule = check.schedule.cron().unwrap_or("* * * * *");
    let zone = check.schedule.zone().map(|zone| format!("CRON_TZ={zone}\n")).unwrap_or_default();
    let crontab = match check.schedule.timetable() {
        Some(_) => format!("{zone}{schedule}"),
        None => "# choose the times yourself: this check only expects a ping so often\n0 * * * *".to_owned(),
    };
    vec![
        Snippet {
            name: "curl",
            title: "At the end of a script; its exit status goes with it",
            text: format!("{curl} {ping_url}/$? || true"),
        },
        Snippet {
            name: "crontab",
            title: "A line of a crontab (% is written \\% there)",
            text: format!("{crontab} your-job; {curl} {ping_url}/$? || true"),
        },
        Snippet {
            name: "systemd",
            title: "In the [Service] section of the job's unit",
            text: format!(
                "ExecStartPre=-/usr/bin/{curl} {ping_url}/start\n\
                 ExecStopPost=-/bin/sh -c '{curl} {ping_url}/$${{EXIT_STATUS:-255}}'"
            ),
        },
        Snippet {
            name: "python",
            title: "Python, without packages",
            text: format!(
                r#"import time
import urllib.error
import urllib.request


def ping(tail="", body=b"", tries=3):
    """Tells the check; waits as it is told to, 30 seconds at most, and never raises."""
    url = "{ping_url}" + tail
    for attempt in range(tries):
        try:
            urllib.request.urlopen(url, data=body[:10_000], timeout=10).close()
            return
        except urllib.error.HTTPError as refusal:
            if refusal.code not in (429, 502, 503, 504):
                return
            wait = int(refusal.headers.get("Retry-After") or 2**attempt)
        except OSError:
            wait = 2**attempt
        if wait > 30:
            return
        time.sleep(wait)


ping("/start")
try:
    your_job()
except Exception as error:
    ping("/fail", repr(error).encode())
    raise
ping()"#
            ),
        },
    ]
}
