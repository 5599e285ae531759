//! Two instances on one database: what one runs, the other follows, stops and respects.

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::asking::Reading;
use crate::provider::{Gate, Script};
use crate::site::{Plan, text, types};

on_both! {
    async fn a_reader_at_another_instance_gets_everything_and_counts(kind) {
        // On SQLite both share a file; the second start closes what the first one runs, so it comes first.
        let site = Plan::new(kind).instances(2).start().await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut here = Reading::new(user.say("c", "m", "hello").await);
        here.until_said("one ").await;
        let there = user.at(&site, 1);
        let mut following = Reading::new(there.send(Method::GET, "/api/chat/c/stream", None).await);
        let followed = following.until_said("one ").await;
        assert_eq!(types(&followed)[..2], ["start", "start-step"]);
        drop(here);
        let refused = there.say("c", "m2", "another").await;
        assert_eq!(refused.status(), StatusCode::CONFLICT, "somebody reads it, though not where it runs");
        gate.open();
        let rest = following.rest().await;
        assert_eq!(text(&followed) + &text(&rest), "one two");
        assert_eq!(types(&rest).last(), Some(&"finish"));
    }

    async fn a_stop_at_another_instance_ends_the_turn(kind) {
        let site = Plan::new(kind).instances(2).start().await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut here = Reading::new(user.say("c", "m", "hello").await);
        here.until_said("one ").await;
        let answer = user.at(&site, 1).send(Method::POST, "/api/chat/c/stop", Some(json!({}))).await;
        assert_eq!(answer.status(), StatusCode::NO_CONTENT);
        assert_eq!(types(&here.rest().await).last(), Some(&"abort"));
        let history = user.get("/api/chat/c").await;
        assert_eq!(history["messages"][1]["metadata"]["status"], "interrupted");
        site.provider.request(1).await.wait_for_client_to_leave().await;
    }
}
