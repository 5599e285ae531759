//! Nobody's mailbox is filled: an account has an address once, and sends sixty mails an hour.

use std::sync::Arc;
use std::time::Duration;

use flatline::checks::notify::attempt::mail_charge;
use flatline::config::Smtp;
use flatline::limits::{self, Decision, Tier};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::post::{Row, channel, fill, rows};
use super::smtp::MailStub;
use crate::rig::Rig;
use crate::site::{Plan, json_of};

fn mail(name: &str, address: &str) -> Value {
    json!({"kind": "email", "name": name, "address": address})
}

async fn charge(rig: &Rig, mails: usize) {
    for _ in 0..mails {
        let decision = limits::take(rig.db(), &*rig.clock, vec![mail_charge(&rig.owner)]).await.unwrap();
        assert!(matches!(decision, Decision::Admitted { .. }));
    }
}

async fn left(rig: &Rig) -> u32 {
    limits::standings(rig.db(), &*rig.clock, &[mail_charge(&rig.owner)]).await.unwrap()[0].remaining
}

on_both! {
    async fn an_account_has_an_address_once(kind) {
        let smtp = Smtp { url: "smtp://127.0.0.1:1".to_owned(), from: "a@b.example".to_owned() };
        let site = Plan::new(kind).instances(2).config(|config| config.smtp = Some(smtp)).start().await;
        let user = site.user("ann", Tier::Free).await;
        for round in 0..5 {
            let barrier = Arc::new(Barrier::new(8));
            let mut racers = JoinSet::new();
            for n in 0..8 {
                let (user, barrier) = (user.at(&site, n % 2), Arc::clone(&barrier));
                racers.spawn(async move {
                    let address = if n % 4 < 2 { "Ann{}@Example.ORG" } else { "ann{}@example.org" };
                    let body = mail(&format!("{round} {n}"), &address.replace("{}", &round.to_string()));
                    barrier.wait().await;
                    user.send(Method::POST, "/api/channels", Some(body)).await.status()
                });
            }
            let statuses = racers.join_all().await;
            let having = |status| statuses.iter().filter(|found| **found == status).count();
            let counts = (having(StatusCode::CREATED), having(StatusCode::UNPROCESSABLE_ENTITY));
            assert_eq!(counts, (1, 7), "round {round}: {statuses:?}");
        }
        let refused = async |method: Method, path: &str, body: Value| {
            let problem = json_of(user.send(method, path, Some(body)).await).await;
            assert_eq!((&problem["code"], &problem["field"]), (&json!("invalid_field"), &json!("address")));
        };
        refused(Method::POST, "/api/channels", mail("one more", "ANN0@example.org")).await;
        let first = user.get("/api/channels").await["channels"][0].clone();
        let path = format!("/api/channels/{}", first["id"].as_str().unwrap());
        refused(Method::PATCH, &path, json!({"address": "ann1@example.org"})).await;
        // Its own address in another case, or only a new name, is none of that.
        for body in [json!({"address": "aNN0@example.org"}), json!({"name": "another"})] {
            assert_eq!(user.send(Method::PATCH, &path, Some(body)).await.status(), StatusCode::OK);
        }
        // Another account may have it too, and it is free again when its channel goes.
        let ben = site.user("ben", Tier::Free).await;
        assert_eq!(ben.send(Method::POST, "/api/channels", Some(mail("b", "ann0@example.org"))).await.status(), StatusCode::CREATED);
        assert_eq!(user.send(Method::DELETE, &path, None).await.status(), StatusCode::NO_CONTENT);
        assert_eq!(user.send(Method::POST, "/api/channels", Some(mail("a", "ann0@example.org"))).await.status(), StatusCode::CREATED);
        site.shutdown().await;
    }

    /// Beyond the sixtieth they wait, are no attempts, and are sent when the hour is over.
    async fn an_account_sends_sixty_mails_an_hour(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let stub = MailStub::start("250 well").await;
        let sender = stub.sender(&rig);
        let id = channel(&rig, mail("me", "ann@example.org")).await.channel.id;
        charge(&rig, 59).await;
        fill(&rig, &rig.owner, &id, 3, "pending", rig.now()).await;
        assert_eq!(sender.deliver_due().await.unwrap(), 3);
        let waiting: Vec<Row> = rows(rig.db()).await.into_iter().filter(|row| row.status == "pending").collect();
        assert_eq!((stub.count(), waiting.len()), (1, 2));
        for row in waiting {
            assert_eq!((row.attempts, row.last_error.as_deref()), (0, Some("more than 60 mails in an hour")));
            assert_eq!((row.next_attempt_at, row.claimed_until), (rig.now().plus(Duration::from_hours(1)), None));
        }
        rig.advance(3_601);
        assert_eq!(sender.deliver_due().await.unwrap(), 2);
        assert_eq!(stub.count(), 3);
        assert!(rows(rig.db()).await.iter().all(|row| row.status == "sent" && row.last_error.is_none()));
        // One that has waited for too long is shown as not sent.
        charge(&rig, 58).await;
        fill(&rig, &rig.owner, &id, 1, "pending", rig.now().minus(Duration::from_mins(90))).await;
        assert_eq!(sender.deliver_due().await.unwrap(), 1);
        let failed: Vec<Row> = rows(rig.db()).await.into_iter().filter(|row| row.status == "failed").collect();
        assert_eq!((failed.len(), failed[0].attempts, stub.count()), (1, 0, 3));
        assert_eq!(failed[0].last_error.as_deref(), Some("more than 60 mails in an hour"));
    }

    async fn a_mail_that_nobody_got_costs_nothing(kind) {
        let rig = Rig::new(kind, Tier::Free).await;
        let stub = MailStub::start("450 4.3.0 later").await;
        let id = channel(&rig, mail("me", "ann@example.org")).await.channel.id;
        charge(&rig, 5).await;
        fill(&rig, &rig.owner, &id, 3, "pending", rig.now()).await;
        assert_eq!(stub.sender(&rig).deliver_due().await.unwrap(), 3);
        assert!(rows(rig.db()).await.iter().all(|row| row.last_error.as_deref() == Some("SMTP 450")));
        assert_eq!(left(&rig).await, 55);
    }
}
