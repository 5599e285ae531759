//! SIGKILL while alerts are being sent: each is sent in the end, under the id it had, and none again that was known to
//! have arrived.

use flatline::on_db;
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::ground::{Ground, number, until};
use crate::provider::{FakeProvider, Received, Script};
use crate::site::json_of;

const CHECKS: usize = 12;
const ROUNDS: usize = 4;
const SENT: &str = "SELECT count(*) FROM deliveries WHERE status = 'sent'";

/// How often a delivery arrived.
fn times(receiver: &FakeProvider, id: &str) -> usize {
    receiver.requests().iter().filter(|one| one.header("webhook-id") == Some(id)).count()
}

on_both! {
    async fn a_killed_sender_loses_nothing(kind) {
        let receiver = FakeProvider::start().await;
        let host = receiver.base_url().trim_start_matches("http://").trim_end_matches("/v1").to_owned();
        let ground = Ground::new(kind).await.set("FLATLINE_OUTGOING_ALLOW", host);
        let mut child = ground.serve().await;
        ground.print(&["user", "add", "storm", "--tier", "pro"]).await;
        let token = ground.token("storm").await;
        let asker = child.user(&token);
        let channel = json!({"kind": "webhook", "name": "ops", "url": receiver.base_url()});
        assert_eq!(asker.send(Method::POST, "/api/channels", Some(channel)).await.status(), StatusCode::CREATED);
        for round in 0..ROUNDS {
            // So many arrive, the next ones hang, and the rest wait for their turn: then the process is gone.
            let (before, arrive) = (receiver.requests().len(), 3 * round);
            receiver.default(Script::silence());
            for _ in 0..arrive {
                receiver.push(Script::respond(200, &[]));
            }
            let asker = child.user(&token);
            for check in 0..CHECKS {
                let spec = json!({"name": format!("check-{round}-{check}"), "period_seconds": 3600});
                let made = json_of(asker.send(Method::POST, "/api/checks", Some(spec)).await).await;
                let url = made["ping_url"].as_str().unwrap();
                let fail = format!("{}/fail", &url[url.find("/ping/").unwrap()..]);
                assert_eq!(asker.send(Method::GET, &fail, None).await.status(), StatusCode::OK);
            }
            receiver.request(before + arrive + 2).await;
            child.kill();
            ground.settle().await;

            let db = ground.open().await;
            let all = i64::try_from((round + 1) * CHECKS).unwrap();
            assert_eq!(number(&db, "SELECT count(*) FROM deliveries").await, all, "of each flip there is one");
            let known = "SELECT id FROM deliveries WHERE status = 'sent'";
            let known: Vec<String> =
                on_db!(db.read(), pool => sqlx::query_scalar(known).fetch_all(pool).await).unwrap();
            let had: Vec<usize> = known.iter().map(|id| times(&receiver, id)).collect();
            // The leases of the dead run out.
            let lapse = "UPDATE deliveries SET claimed_until = 1 WHERE claimed_until IS NOT NULL";
            on_db!(db.autocommit(), pool => sqlx::query(lapse).execute(pool).await.map(|_| ())).unwrap();
            db.close().await;

            receiver.default(Script::respond(200, &[]));
            child = ground.serve().await;
            let db = ground.open().await;
            until("all are sent", async || (number(&db, SENT).await == all).then_some(())).await;
            let ids = "SELECT id FROM deliveries";
            let ids: Vec<String> = on_db!(db.read(), pool => sqlx::query_scalar(ids).fetch_all(pool).await).unwrap();
            db.close().await;
            for id in &ids {
                assert!(times(&receiver, id) >= 1, "{id} never arrived");
            }
            for (id, had) in known.iter().zip(had) {
                assert_eq!(times(&receiver, id), had, "{id} was sent again after it was known to have arrived");
            }
            let is_known = |one: &Received| ids.iter().any(|id| one.header("webhook-id") == Some(id));
            assert!(receiver.requests().iter().all(is_known), "an attempt under another id");
        }
    }
}
