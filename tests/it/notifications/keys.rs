//! What a message never holds, whatever its check is called.

use flatline::checks::channels::ChannelSpec;
use flatline::checks::history::Kind;
use flatline::limits::Tier;
use serde_json::{Value, json};

use super::post::{channel, rows, sender, webhook};
use super::receiver::{Received, Receiver};
use crate::rig::Rig;

const HOSTILE: &[&str] = &[
    "</script><script>alert(1)</script>",
    "<!channel> & <https://evil.example|click>",
    "\"}, \"type\": \"check.up\", {\"",
    "'; DROP TABLE deliveries; --",
    "\u{202e}evil\r\nBcc: x@example.org",
    "🔥 備份 \\u0000",
];

on_both! {
    async fn no_ping_key_and_no_secret_leaves(kind) {
        let rig = Rig::new(kind, Tier::Business).await;
        let receiver = Receiver::willing().await;
        let check = rig.new_check().await;
        rig.set(&check, "name = 'backup', reminder_seconds = $2", 3_600).await;
        let made = webhook(&rig, "hook", &receiver.url("/hook")).await;
        channel(&rig, json!({"kind": "slack", "name": "chat", "url": receiver.url("/chat")})).await;
        for kind in [Kind::Fail, Kind::Success] {
            rig.ping(&check, kind).await;
        }
        sender(&rig, 0).deliver_due().await.unwrap();
        let requests = receiver.received();
        assert_eq!(requests.len(), 4);
        let secret = made.secret.unwrap();
        for request in requests {
            let whole = format!("{} {:?} {}", request.path, request.headers, request.body);
            assert!(!whole.contains(&check.key) && !whole.contains("/ping/"), "{whole}");
            assert!(!whole.contains(secret.trim_start_matches("whsec_")), "{whole}");
        }
        for row in rows(rig.db()).await {
            assert!(!row.payload.0.to_string().contains(&check.key));
        }
    }

    async fn a_hostile_name_stays_a_name(kind) {
        let rig = Rig::new(kind, Tier::Business).await;
        let receiver = Receiver::willing().await;
        let mut checks = Vec::new();
        for _ in HOSTILE {
            checks.push(rig.new_check().await);
        }
        webhook(&rig, "hook", &receiver.url("/hook")).await;
        channel(&rig, json!({"kind": "slack", "name": "chat", "url": receiver.url("/chat")})).await;
        for (check, name) in checks.iter().zip(HOSTILE) {
            // Past the rules of names, so that nothing here depends on them.
            let sql = "UPDATE checks SET name = $2 WHERE id = $1";
            flatline::on_db!(rig.db().autocommit(), pool =>
                sqlx::query(sql).bind(&check.id).bind(name).execute(pool).await.map(|_| ())).unwrap();
            rig.ping(check, Kind::Fail).await;
        }
        sender(&rig, 0).deliver_due().await.unwrap();
        let requests = receiver.received();
        let of = |path: &str| requests.iter().filter(|request| request.path == path).map(Received::json).collect::<Vec<Value>>();
        let (hooks, chats) = (of("/hook"), of("/chat"));
        assert_eq!((hooks.len(), chats.len()), (HOSTILE.len(), HOSTILE.len()));
        for name in HOSTILE {
            let told = hooks.iter().find(|body| body["data"]["check"]["name"] == *name).unwrap();
            assert_eq!(told["type"], "check.down");
        }
        for body in chats {
            let text = body["text"].as_str().unwrap();
            assert_eq!(body.as_object().unwrap().len(), 1);
            assert!(!text.contains(['<', '>']), "{text}");
        }
    }
}

#[test]
fn a_channels_name_follows_the_rules_of_names() {
    for name in ["", "a\u{202e}b", "a\nb", &"x".repeat(101)] {
        let spec = json!({"kind": "slack", "name": name, "url": "https://x.example/"});
        assert!(serde_json::from_value::<ChannelSpec>(spec).is_err(), "{name:?}");
    }
}
