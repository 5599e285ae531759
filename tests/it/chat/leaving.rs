//! Readers that leave: the turn goes on without them, makes way for the next message, and is found again.

use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use tokio::time::timeout;

use super::stream::assert_contract;
use crate::asking::{Reading, Rows, lines, messages, number, remaining, rows, told, wait_for_reader, wait_for_status};
use crate::provider::{Gate, Script};
use crate::site::{Site, text};

on_both! {
    async fn the_turn_goes_on_and_is_stored_whole(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut reading = Reading::new(user.say("c", "m", "count").await);
        reading.until_said("one ").await;
        drop(reading);
        wait_for_reader(site.db(), "c", false).await;
        gate.open();
        wait_for_status(site.db(), "c", "complete").await;
        assert_eq!(
            told(site.db(), "c").await,
            lines(&[("user", "complete", "count"), ("assistant", "complete", "one two")])
        );
        assert!(!site.provider.requests()[0].client_left());
        assert_eq!(remaining(&user).await, [19], "leaving gives nothing back");
    }

    async fn the_next_message_takes_its_place(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut reading = Reading::new(user.say("c", "m1", "count").await);
        reading.until_said("one ").await;
        drop(reading);
        wait_for_reader(site.db(), "c", false).await;
        assert_eq!(text(&user.chat("c", "m2", "never mind").await), "ok");
        site.provider.requests()[0].wait_for_client_to_leave().await;
        let expected = lines(&[
            ("user", "complete", "count"),
            ("assistant", "interrupted", "one "),
            ("user", "complete", "never mind"),
            ("assistant", "complete", "ok"),
        ]);
        assert_eq!(told(site.db(), "c").await, expected);
        assert_eq!(remaining(&user).await, [18], "both are charged");
        // The model is told what had been said.
        let sent = site.provider.request(2).await.body["messages"].to_string();
        assert!(sent.contains("one ") && sent.contains("never mind"), "{sent}");
    }

    async fn also_when_nothing_has_been_said_yet(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().hold(&gate).say("too late").finish("stop"));
        {
            let asking = user.say("c", "m1", "count");
            tokio::pin!(asking);
            tokio::select! {
                _ = &mut asking => panic!("nothing has been said"),
                () = gate.reached() => {}
            }
        }
        wait_for_reader(site.db(), "c", false).await;
        assert_eq!(text(&user.chat("c", "m2", "never mind").await), "ok");
        assert_eq!(messages(site.db(), "c").await[1].status, "interrupted");
        site.provider.requests()[0].wait_for_client_to_leave().await;
        assert_eq!(remaining(&user).await, [18], "a client that leaves gets nothing back");
    }

    async fn a_message_is_stored_before_the_headers(kind) {
        let site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        let (before, after) = (Gate::default(), Gate::default());
        site.provider.push(Script::stream().hold(&before).say("one").hold(&after).finish("stop"));
        let asking = user.say("c", "m", "count");
        tokio::pin!(asking);
        tokio::select! {
            _ = &mut asking => panic!("the headers came before the first delta"),
            () = before.reached() => {}
        }
        let streaming = lines(&[("user", "complete", "count"), ("assistant", "streaming", "")]);
        assert_eq!(told(site.db(), "c").await, streaming, "before the model has answered");
        before.open();
        let reading = Reading::new(asking.await);
        assert_eq!(messages(site.db(), "c").await[0].id, "m");
        assert_eq!(user.get("/api/chat/c").await["messages"][1]["metadata"]["status"], "streaming");
        after.open();
        assert_contract(&reading.rest().await);
        // The end is stored before it is told.
        assert_eq!(messages(site.db(), "c").await[1].status, "complete");
    }

    async fn a_running_turn_is_resumed_from_its_first_chunk(kind) {
        let site = Site::start(kind).await;
        let (user, other) = (site.user("ada", Tier::Free).await, site.user("bob", Tier::Free).await);
        let nothing = |visitor: crate::site::Visitor| async move {
            let response = visitor.send(Method::GET, "/api/chat/c/stream", None).await;
            assert_eq!((response.status(), response.text().await.unwrap().as_str()), (StatusCode::NO_CONTENT, ""));
        };
        nothing(user.clone()).await;
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut reading = Reading::new(user.say("c", "m", "count").await);
        let begun = reading.until_said("one ").await;
        drop(reading);
        let mut resumed = Reading::new(user.send(Method::GET, "/api/chat/c/stream", None).await);
        let mut said = resumed.until_said("one ").await;
        assert_eq!(said[0], begun[0]);
        nothing(other).await;
        gate.open();
        said.extend(resumed.rest().await);
        assert_contract(&said);
        assert_eq!(text(&said), "one two");
        nothing(user.clone()).await;
        assert_eq!(site.provider.requests().len(), 1);
        assert_eq!(remaining(&user).await, [19]);
    }

    async fn clients_that_leave_anywhere_leave_nothing_half_done(kind) {
        let site = Site::start(kind).await;
        let mut users = Vec::new();
        for n in 0..20_u64 {
            let user = site.user(&format!("user-{n}"), Tier::Free).await;
            // Cut at another moment each time: before, during and after the message is stored.
            let _ = timeout(Duration::from_micros(n * n * 60), user.say("c", "m", "hi")).await;
            users.push(user);
        }
        let sql = "SELECT count(*) FROM messages q WHERE q.role = 'user' AND NOT EXISTS
            (SELECT 1 FROM messages a WHERE a.conversation = q.conversation AND a.reply_to = q.id)";
        assert_eq!(number(site.db(), sql).await, 0, "a question without an answer");
        for user in &users {
            assert_eq!(text(&user.chat("c", "m", "hi").await), "ok");
            assert_eq!(remaining(user).await, [19]);
        }
        assert_eq!(site.provider.requests().len(), 20, "each message was answered once");
        assert_eq!(rows(site.db()).await, Rows { conversations: 20, messages: 40, actions: 0 });
    }
}
