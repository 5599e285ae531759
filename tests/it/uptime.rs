//! Uptime over HTTP: read off the flips and gaps that are stored, and which spans there are.

use std::time::Duration;

use flatline::clock::Millis;
use flatline::limits::Tier;
use flatline::on_db;
use reqwest::Method;
use serde_json::{Value, json};

use crate::asking::problem;
use crate::site::{Plan, Site, Visitor, json_of};

const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// A check's path, and the path to ping it.
async fn check(site: &Site, user: &Visitor) -> (String, String) {
    let spec = json!({"name": "backup", "period_seconds": 86_400});
    let made = json_of(user.send(Method::POST, "/api/checks", Some(spec)).await).await;
    let ping = made["ping_url"].as_str().unwrap().strip_prefix(&site.base(0)).unwrap().to_owned();
    (format!("/api/checks/{}", made["id"].as_str().unwrap()), ping)
}

async fn away(site: &Site, from: Millis, to: Millis) {
    let sql = "INSERT INTO intake_gaps (id, from_at, to_at) VALUES ($1, $2, $3)";
    on_db!(site.db().autocommit(), pool =>
        sqlx::query(sql).bind(from.rfc3339()).bind(from).bind(to).execute(pool).await.map(|_| ()))
    .unwrap();
}

fn shares(of: &Value) -> (i64, i64, i64) {
    let part = |name: &str| of[name].as_i64().unwrap();
    (part("up_seconds"), part("down_seconds"), part("no_data_seconds"))
}

on_both! {
    async fn a_span_is_read_off_what_happened(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ann", Tier::Free).await;
        let (path, ping) = check(&site, &user).await;
        let uptime = format!("{path}/uptime");
        let nothing = user.get(&uptime).await;
        assert_eq!((shares(&nothing), &nothing["uptime"]), ((0, 0, 0), &Value::Null));
        assert_eq!((&nothing["to"], &nothing["from"]), (
            &json!(site.now().rfc3339()), &json!(site.now().minus(30 * DAY).rfc3339())));
        assert!((30..=31).contains(&nothing["days"].as_array().unwrap().len()));

        // New for an hour, up for two, down for one, up for half an hour; nobody listened for ten minutes.
        site.advance(HOUR);
        user.post(&ping).await;
        let pinged = site.now();
        site.advance(2 * HOUR);
        user.post(&format!("{ping}/3")).await;
        let failed = site.now();
        site.advance(HOUR);
        user.post(&ping).await;
        let recovered = site.now();
        site.advance(HOUR / 2);
        away(&site, pinged.plus(HOUR), pinged.plus(HOUR + Duration::from_mins(10))).await;

        let told = user.get(&uptime).await;
        assert_eq!(shares(&told), (9_000 - 600, 3_600, 600));
        assert_eq!(told["uptime"], json!(8_400.0 / 12_000.0));
        assert_eq!(told["outages"], json!([{"from": failed.rfc3339(), "to": recovered.rfc3339(), "seconds": 3_600,
            "reason": "exit"}]));
        let days = told["days"].as_array().unwrap();
        let sum = days.iter().map(shares).fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
        assert_eq!(sum, shares(&told));
        let last = days.last().unwrap()["date"].as_str().unwrap().to_owned();
        assert!(site.now().minus(Duration::from_millis(1)).rfc3339().starts_with(&last));

        // A span that begins in one state and ends in another.
        let (from, to) = (failed.minus(HOUR / 2), failed.plus(HOUR / 4));
        let told = user.get(&format!("{uptime}?from={}&to={}", from.rfc3339(), to.rfc3339())).await;
        assert_eq!(shares(&told), (1_800, 900, 0));
        assert_eq!((&told["from"], &told["to"]), (&json!(from.rfc3339()), &json!(to.rfc3339())));
        assert_eq!(told["outages"][0]["to"], json!(recovered.rfc3339()), "an outage is told whole");
        // Before the first ping there is nothing, whatever the check is now.
        let told = user.get(&format!("{uptime}?to={}", pinged.rfc3339())).await;
        assert_eq!((shares(&told), &told["outages"]), ((0, 0, 0), &json!([])));
        // The future has not happened.
        let told = user.get(&format!("{uptime}?to={}", site.now().plus(DAY).rfc3339())).await;
        assert_eq!(told["to"], json!(site.now().rfc3339()));
    }

    async fn what_was_paused_counts_for_neither(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ann", Tier::Free).await;
        let (path, ping) = check(&site, &user).await;
        let uptime = format!("{path}/uptime");
        user.post(&ping).await;
        site.advance(HOUR);
        // Ended by hand after two of its hours; while it went on, it counted for nothing already.
        let until = json!({"until": site.now().plus(3 * HOUR).rfc3339()});
        assert_eq!(user.send(Method::POST, &format!("{path}/pause"), Some(until)).await.status(), 200);
        site.advance(HOUR);
        assert_eq!(shares(&user.get(&uptime).await), (3_600, 0, 3_600));
        // Nobody listened for an hour of it, and for half an hour after it: that is told once.
        away(&site, site.now(), site.now().plus(HOUR + HOUR / 2)).await;
        site.advance(HOUR);
        user.post(&format!("{path}/resume")).await;
        site.advance(HOUR);
        assert_eq!(shares(&user.get(&uptime).await), (3_600 + 1_800, 0, 7_200 + 1_800));
        // Down, and paused without an end; then with one, which comes by itself.
        user.post(&format!("{ping}/fail")).await;
        user.post(&format!("{path}/pause")).await;
        site.advance(HOUR);
        let until = json!({"until": site.now().plus(HOUR).rfc3339()});
        assert_eq!(user.send(Method::POST, &format!("{path}/pause"), Some(until)).await.status(), 200);
        site.advance(3 * HOUR);
        assert_eq!(shares(&user.get(&uptime).await), (5_400, 7_200, 9_000 + 7_200));
    }

    async fn a_span_that_there_is_not_is_refused_by_name(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ann", Tier::Free).await;
        let (path, _) = check(&site, &user).await;
        let ago = |span: Duration| site.now().minus(span).rfc3339();
        for (query, field) in [
            ("from=yesterday".to_owned(), "from"),
            ("to=1".to_owned(), "to"),
            ("to=".to_owned(), "to"),
            (format!("from={}", ago(400 * DAY + Duration::from_millis(1))), "from"),
            (format!("from={}", ago(Duration::ZERO)), "from"),
            (format!("from={}&to={}", ago(HOUR), ago(2 * HOUR)), "from"),
            (format!("to={}", ago(401 * DAY)), "to"),
        ] {
            let told = problem(user.send(Method::GET, &format!("{path}/uptime?{query}"), None).await, 422, "invalid_field")
                .await;
            assert_eq!(told["field"], field, "{query}");
        }
        let told = user.get(&format!("{path}/uptime?from={}", ago(400 * DAY))).await;
        assert!((400..=401).contains(&told["days"].as_array().unwrap().len()));
        let told = user.get(&format!("{path}/uptime?to={}", ago(399 * DAY))).await;
        assert_eq!(told["from"], json!(ago(400 * DAY)));
    }

    async fn a_check_that_never_rests_is_told_of_in_shorter_spans(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ann", Tier::Free).await;
        let (path, _) = check(&site, &user).await;
        // 10,000 flips in the last 10,000 minutes, and one more.
        let sql = "INSERT INTO flips (id, check_id, at, from_status, to_status, reason)
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
            SELECT 'f' || i, $1, $2 - i * 60000, 'up', 'down', 'fail' FROM n";
        let id = path.rsplit('/').next().unwrap();
        on_db!(site.db().autocommit(), pool =>
            sqlx::query(sql).bind(id).bind(site.now()).execute(pool).await.map(|_| ()))
        .unwrap();
        let told = problem(user.send(Method::GET, &format!("{path}/uptime"), None).await, 422, "invalid_field").await;
        assert_eq!(told["field"], "from");
        let from = site.now().minus(Duration::from_mins(9_999)).rfc3339();
        let told = user.get(&format!("{path}/uptime?from={from}")).await;
        assert_eq!(told["outages"].as_array().unwrap().len(), 9_999);
    }
}
