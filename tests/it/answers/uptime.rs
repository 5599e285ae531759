//! `get_uptime` counts as the API does.

use std::time::Duration;

use flatline::checks::store::intake::list_gaps;
use flatline::limits::Tier;
use flatline::on_db;
use serde_json::{Value, json};

use crate::proposals::{new_check, turn};
use crate::site::{Plan, Site, Visitor};

const HOUR: Duration = Duration::from_hours(1);

/// What one read tool answers in a turn of its own.
async fn tool(site: &Site, who: &Visitor, name: &str, arguments: Value) -> Value {
    let chunks = turn(site, who, &crate::proposals::new_id(), &[(name, arguments)]).await;
    let found =
        chunks.iter().find(|chunk| chunk["type"] == "tool-output-available" || chunk["type"] == "tool-output-error");
    let found = found.unwrap();
    if found["output"].is_null() { found["errorText"].clone() } else { found["output"].clone() }
}

on_both! {
    async fn uptime_is_what_the_api_says(kind) {
        let site = Plan::new(kind).manual_clock().user_limit(100).start().await;
        let ann = site.user("ann", Tier::Free).await;
        let check = new_check(&ann, "backup", json!({"period_seconds": 86_400})).await;
        let path = format!("/api/checks/{}/uptime", check["id"].as_str().unwrap());
        let ping = check["ping_url"].as_str().unwrap().strip_prefix(&site.base(0)).unwrap().to_owned();
        let nothing = tool(&site, &ann, "get_uptime", json!({"check": "backup"})).await;
        assert_eq!((&nothing["uptime"], &nothing["outages"], &nothing["days"]), (&Value::Null, &json!([]), &json!(30)));
        // 25 outages of half an hour, four hours apart, and one absence of ours.
        for _ in 0..25 {
            ann.post(&ping).await;
            site.advance(HOUR * 4);
            ann.post(&format!("{ping}/fail")).await;
            site.advance(HOUR / 2);
        }
        ann.post(&ping).await;
        site.advance(HOUR);
        let (from, to) = (site.now().minus(HOUR * 2), site.now().minus(HOUR / 2));
        let sql = "INSERT INTO intake_gaps (id, from_at, to_at) VALUES ('g', $1, $2)";
        on_db!(site.db().autocommit(), pool => sqlx::query(sql).bind(from).bind(to).execute(pool).await.map(|_| ())).unwrap();
        for days in [1_u32, 3, 30, 400] {
            let told = tool(&site, &ann, "get_uptime", json!({"check": "backup", "days": days})).await;
            let since = site.now().minus(HOUR * 24 * days).rfc3339();
            let api = ann.get(&format!("{path}?from={since}")).await;
            for key in ["from", "to", "uptime", "up_seconds", "down_seconds", "no_data_seconds"] {
                assert_eq!(told[key], api[key], "{days} {key}");
            }
            let outages = api["outages"].as_array().unwrap();
            let shown = &outages[outages.len().saturating_sub(20)..];
            assert_eq!(told["outages"], json!(shown), "{days}");
            assert_eq!(told.get("outages_not_shown").and_then(Value::as_u64).unwrap_or(0), (outages.len() - shown.len()) as u64);
            let is_bad = |day: &&Value| day["down_seconds"] != 0 || day["no_data_seconds"] != 0;
            let bad: Vec<&Value> = api["days"].as_array().unwrap().iter().filter(is_bad).collect();
            assert_eq!(told["bad_days"], json!(bad), "{days}");
            // The site's own worker may have found the clock moved before it first looked: a gap like any other.
            let gaps = list_gaps(site.db(), site.now().minus(HOUR * 24 * days), site.now()).await.unwrap();
            let gaps: Vec<Value> = gaps.iter().map(|gap| json!({"from": gap.from, "to": gap.to})).collect();
            assert_eq!((&told["no_data"], gaps.last()), (&json!(gaps), Some(&json!({"from": from, "to": to}))), "{days}");
        }
        let usual = tool(&site, &ann, "get_uptime", json!({"check": "backup"})).await;
        assert_eq!((&usual["uptime"], &usual["outages_not_shown"]), (&ann.get(&path).await["uptime"], &json!(5)));
        for days in [json!(0), json!(401), json!(-1), json!("7")] {
            let refused = tool(&site, &ann, "get_uptime", json!({"check": "backup", "days": days})).await;
            assert!(refused.as_str().unwrap().contains("days"), "{refused}");
        }
    }
}
