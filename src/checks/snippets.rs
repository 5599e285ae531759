//! How a job pings its check, for the usual places that jobs live in. Each is honest about a refusal: it waits as long as
//! `Retry-After` says, for a bounded time, and never makes the job itself fail.

use serde::Serialize;
use utoipa::ToSchema;

use super::Check;
use super::floor::floor_seconds;
use super::schedule::{Schedule, Timetable};
use super::words::every;

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

/// Spans that a crontab can name, in seconds, shortest first.
const STEPS: [(i64, &str); 20] = [
    (60, "* * * * *"),
    (2 * 60, "*/2 * * * *"),
    (3 * 60, "*/3 * * * *"),
    (4 * 60, "*/4 * * * *"),
    (5 * 60, "*/5 * * * *"),
    (6 * 60, "*/6 * * * *"),
    (10 * 60, "*/10 * * * *"),
    (12 * 60, "*/12 * * * *"),
    (15 * 60, "*/15 * * * *"),
    (20 * 60, "*/20 * * * *"),
    (30 * 60, "*/30 * * * *"),
    (3_600, "0 * * * *"),
    (2 * 3_600, "0 */2 * * *"),
    (3 * 3_600, "0 */3 * * *"),
    (4 * 3_600, "0 */4 * * *"),
    (6 * 3_600, "0 */6 * * *"),
    (8 * 3_600, "0 */8 * * *"),
    (12 * 3_600, "0 */12 * * *"),
    (86_400, "0 0 * * *"),
    (7 * 86_400, "0 0 * * 0"),
];

/// The times of a check as a crontab has them.
fn crontab(check: &Check) -> String {
    let period = match &check.schedule {
        Schedule::At(Timetable { cron, zone }) => {
            let (cron, zone) = (cron.as_str(), zone.as_str());
            return format!(
                "# Debian's cron ignores CRON_TZ: there, write the times as they are in the machine's own zone\n\
                 CRON_TZ={zone}\n{cron}"
            );
        }
        Schedule::Every(period) => (*period).max(floor_seconds(check.tier)),
    };
    let (step, times) = STEPS.into_iter().rfind(|(step, _)| *step <= period).unwrap_or(STEPS[0]);
    let note = if step == period {
        String::new()
    } else {
        format!("# a crontab cannot say {}: this is the next shorter one that it can\n", every(period))
    };
    format!("{note}{times}")
}

/// The snippets of a check whose jobs ping `ping_url`.
pub fn snippets(check: &Check, ping_url: &str) -> Vec<Snippet> {
    // curl obeys Retry-After beyond -m, so the whole of it is bounded too.
    let curl = "curl -fsS -m 10 --retry 3 --retry-max-time 30 -o /dev/null";
    let crontab = crontab(check);
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
                 # EXIT_STATUS is the name of a signal if the job was killed, by the kernel or a timeout say\n\
                 ExecStopPost=-/bin/sh -c 'case \"$$EXIT_STATUS\" in \"\"|*[!0-9]*) EXIT_STATUS=fail;; esac; \
                 {curl} {ping_url}/$$EXIT_STATUS'"
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
    """Tells the check. Waits as it is told to, for about 30 seconds in all, and never raises."""
    deadline = time.monotonic() + 30
    for attempt in range(1, tries + 1):
        wait = 2**attempt
        try:
            left = min(10, deadline - time.monotonic())
            urllib.request.urlopen("{ping_url}" + tail, data=body[:10_000], timeout=left).close()
            return
        except urllib.error.HTTPError as refusal:
            if refusal.code not in (429, 502, 503, 504):
                return
            told = refusal.headers.get("Retry-After", "")
            wait = float(told) if told.isdecimal() else wait  # it may also be a date
        except Exception:
            pass  # whatever it is, the job is not to fail for it
        if attempt == tries or time.monotonic() + wait >= deadline:
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
