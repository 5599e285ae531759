//! Badges: seen by anybody who has the address, told the state and the name, and a way to nothing else.

use std::time::Duration;

use flatline::config::FloodLimit;
use flatline::limits::Tier;
use flatline::on_db;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::asking::{header, problem};
use crate::database::Kind;
use crate::rig::Rig;
use crate::site::{Plan, Site, Visitor, json_of};

async fn create(user: &Visitor, name: &str) -> Value {
    let spec = json!({"name": name, "period_seconds": 3_600, "grace_seconds": 600});
    json_of(user.send(Method::POST, "/api/checks", Some(spec)).await).await
}

/// The path of one of a check's addresses.
fn path(site: &Site, check: &Value, address: &str) -> String {
    check[address].as_str().unwrap().strip_prefix(&site.base(0)).unwrap().to_owned()
}

/// The last part of a check's address, without an ending.
fn key(check: &Value, address: &str) -> String {
    check[address].as_str().unwrap().rsplit('/').next().unwrap().trim_end_matches(".svg").to_owned()
}

on_both! {
    async fn it_tells_the_state_to_anybody(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let (user, anybody) = (site.user("ann", Tier::Free).await, site.visitor(None));
        let check = create(&user, "nightly-backup").await;
        let ping = path(&site, &check, "ping_url");
        let picture = path(&site, &check, "badge_url");
        let data = picture.replace(".svg", ".json");
        let is = async |status: &str| {
            assert_eq!(anybody.get(&data).await, json!({"name": "nightly-backup", "status": status}));
            let response = anybody.send(Method::GET, &picture, None).await;
            assert_eq!(response.status(), StatusCode::OK);
            for (name, value) in [
                ("content-type", "image/svg+xml; charset=utf-8"),
                ("cache-control", "no-cache"),
                ("content-security-policy", "default-src 'none'; sandbox"),
                ("x-content-type-options", "nosniff"),
            ] {
                assert_eq!(header(&response, name), Some(value));
            }
            let svg = response.text().await.unwrap();
            assert!(svg.contains(&format!("<title>nightly-backup: {status}</title>")), "{svg}");
            for secret in [check["id"].as_str().unwrap(), &key(&check, "ping_url"), "href", "http://127"] {
                assert!(!svg.contains(secret), "{secret} in {svg}");
            }
        };
        is("new").await;
        user.post(&ping).await;
        is("up").await;
        site.advance(Duration::from_hours(1));
        is("late").await;
        user.post(&format!("{ping}/fail")).await;
        is("down").await;
        let id = check["id"].as_str().unwrap();
        user.post(&format!("/api/checks/{id}/pause")).await;
        is("paused").await;
        let head = anybody.send(Method::HEAD, &data, None).await;
        assert_eq!((head.status(), header(&head, "cache-control")), (StatusCode::OK, Some("no-cache")));
        // Another ping URL is no other badge; without the check there is none.
        let rotated = json_of(user.post(&format!("/api/checks/{id}/rotate")).await).await;
        assert_eq!(rotated["badge_url"], check["badge_url"]);
        user.send(Method::DELETE, &format!("/api/checks/{id}"), None).await;
        problem(anybody.send(Method::GET, &picture, None).await, 404, "badge_not_found").await;
    }

    async fn its_key_opens_nothing_else(kind) {
        let site = Site::start(kind).await;
        let (user, anybody) = (site.user("ann", Tier::Free).await, site.visitor(None));
        let (one, two) = (create(&user, "one").await, create(&user, "two").await);
        let (badge, ping) = (key(&one, "badge_url"), key(&one, "ping_url"));
        assert!(badge != ping && badge != key(&two, "badge_url"));
        assert_eq!(Uuid::parse_str(&badge).unwrap().get_version_num(), 4, "122 random bits");
        problem(anybody.post(&format!("/ping/{badge}")).await, 404, "check_not_found").await;
        problem(user.send(Method::GET, &format!("/api/checks/{badge}"), None).await, 404, "check_not_found").await;
        let id = one["id"].as_str().unwrap();
        for file in [
            format!("{ping}.svg"),
            format!("{id}.json"),
            badge.clone(),
            format!("{badge}.png"),
            format!("{badge}.svg.svg"),
            format!("{}.svg", Uuid::new_v4()),
            "x.svg".to_owned(),
            ".json".to_owned(),
            "%00.svg".to_owned(),
            "%ff.svg".to_owned(),
        ] {
            problem(anybody.send(Method::GET, &format!("/badge/{file}"), None).await, 404, "badge_not_found").await;
        }
    }

    async fn a_hostile_name_stays_text(kind) {
        let site = Site::start(kind).await;
        let (user, anybody) = (site.user("ann", Tier::Free).await, site.visitor(None));
        let name = "</text><script>alert(1)</script>\"'&<a href=\"javascript:1\">";
        let check = create(&user, name).await;
        let picture = path(&site, &check, "badge_url");
        let svg = anybody.send(Method::GET, &picture, None).await.text().await.unwrap();
        assert!(!svg.contains("<script") && !svg.contains("<a") && svg.contains("&lt;script&gt;"), "{svg}");
        assert_eq!(anybody.get(&picture.replace(".svg", ".json")).await["name"], name);
    }

    async fn a_flood_of_them_is_stopped_at_the_door(kind) {
        let limit = FloodLimit { per_second: 1, burst: 3 };
        let site = Plan::new(kind).config(|config| config.flood_limit = Some(limit)).start().await;
        let anybody = site.visitor(None);
        let mut codes = Vec::new();
        for _ in 0..5 {
            codes.push(anybody.send(Method::GET, &format!("/badge/{}.svg", Uuid::new_v4()), None).await.status().as_u16());
        }
        assert_eq!((codes[0], codes[4]), (404, 429), "{codes:?}");
    }

    /// The migration's own statement, on checks that have no key.
    async fn checks_from_before_got_a_key_each(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        for _ in 0..50 {
            rig.new_check().await;
        }
        let file = match kind {
            Kind::Sqlite => include_str!("../../migrations/sqlite/0008_history.sql"),
            Kind::Postgres => include_str!("../../migrations/postgres/0008_history.sql"),
        };
        let backfill = file.split(';').find(|statement| statement.trim_start().starts_with("UPDATE checks")).unwrap();
        on_db!(rig.db().autocommit(), pool => sqlx::query(backfill).execute(pool).await.map(|_| ())).unwrap();
        let sql = "SELECT DISTINCT badge_key FROM checks";
        let keys: Vec<String> = on_db!(rig.db().read(), pool => sqlx::query_scalar(sql).fetch_all(pool).await).unwrap();
        assert_eq!(keys.len(), 50);
        for key in keys {
            let uuid = Uuid::parse_str(&key).unwrap();
            assert_eq!((uuid.get_version_num(), uuid.get_variant()), (4, uuid::Variant::RFC4122), "{key}");
            assert_eq!(uuid.to_string(), key);
        }
    }
}
