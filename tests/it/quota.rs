//! Quotas: exact over any window, told truthfully, and charged for nothing but messages that a model answers.

use std::collections::VecDeque;
use std::time::Duration;

use flatline::clock::{Clock, ManualClock, Millis};
use flatline::config::FloodLimit;
use flatline::limits::{Charge, Decision, Policy, Tier, delete_dead, take};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::asking::{header, ledger, problem, remaining, rows};
use crate::database::fresh;
use crate::provider::Script;
use crate::site::{Plan, cards, json_of, text};

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

on_both! {
    async fn the_twenty_first_is_told_when_it_passes(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let user = site.user("ada", Tier::Free).await;
        for n in 0..20 {
            user.chat("c", &format!("m{n}"), "hi").await;
        }
        site.advance(Duration::from_secs(563));
        let (before, recorded) = (rows(site.db()).await, ledger(site.db()).await);
        let refused = user.say("c", "m20", "hi").await;
        for (name, value) in [
            ("retry-after", "37"),
            ("ratelimit-policy", "\"user-10min\";q=20;w=600"),
            ("ratelimit", "\"user-10min\";a=0;w=37;r=0;t=37"),
            ("cache-control", "no-store"),
        ] {
            assert_eq!(header(&refused, name), Some(value), "{name}");
        }
        let mut body = problem(refused, 429, "quota_exceeded").await;
        body.as_object_mut().unwrap().remove("request_id").unwrap();
        assert_eq!(
            body,
            json!({"type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Quota Exceeded", "status": 429, "code": "quota_exceeded",
            "detail": "You have sent 20 messages in the last 10 minutes. You can send the next one in 37 seconds.",
            "violated-policies": ["user-10min"], "retry_after_seconds": 37})
        );
        assert_eq!((rows(site.db()).await, ledger(site.db()).await), (before, recorded.clone()), "nothing is recorded");
        // True to the millisecond: a moment before it refuses, and then it passes.
        site.advance(Duration::from_millis(36_999));
        let refused = user.say("c", "m20", "hi").await;
        assert_eq!(header(&refused, "retry-after"), Some("1"));
        problem(refused, 429, "quota_exceeded").await;
        assert_eq!(ledger(site.db()).await, recorded);
        site.advance(Duration::from_millis(1));
        assert_eq!(text(&user.chat("c", "m20", "hi").await), "ok");
        assert_eq!(site.provider.requests().len(), 21);
    }

    async fn the_session_shows_what_is_left(kind) {
        let site = Plan::new(kind).manual_clock().user_limit(2).start().await;
        let user = site.user("ada", Tier::Pro).await;
        let shown = |remaining: u64, wait: u64| {
            json!([{"policy": "user-10min", "limit": 2, "window_seconds": 600,
            "remaining": remaining, "retry_after_seconds": wait}])
        };
        for (left, wait) in [(2, 0), (1, 0), (0, 600)] {
            let session = json_of(user.post("/api/session").await).await;
            assert_eq!(session["limits"], shown(left, wait));
            let told = json!({"kind": session["kind"],
                "name": session["user"]["name"], "tier": session["user"]["tier"], "model": session["model"]});
            assert_eq!(
                told,
                json!({"kind": "user", "name": "ada", "tier": "pro", "model": {"name": "fake", "offline": false}})
            );
            let answer = user.say("c", &format!("m{left}"), "hi").await;
            assert_eq!(answer.status(), if left == 0 { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::OK });
            answer.text().await.unwrap();
        }
        site.advance(Duration::from_millis(599_500));
        assert_eq!(json_of(user.post("/api/session").await).await["limits"], shown(0, 1));
        site.advance(Duration::from_millis(500));
        assert_eq!(json_of(user.post("/api/session").await).await["limits"], shown(1, 0));
    }

    async fn visitors_are_counted_by_session_and_by_network(kind) {
        let site = Plan::new(kind).manual_clock().start().await;
        let visitor = site.anonymous().await;
        for n in 0..30 {
            let answer = visitor.say("c", &format!("m{n}"), "hi").await;
            let policies = "\"anon-1h\";q=30;w=3600, \"anon-net-1h\";q=120;w=3600";
            assert_eq!(header(&answer, "ratelimit-policy"), Some(policies));
            let (told, own, network) = (header(&answer, "ratelimit").unwrap(), 29 - n, 119 - n);
            assert!(told.contains(&format!("a={own};")) && told.contains(&format!("a={network};")), "{told}");
            answer.text().await.unwrap();
        }
        let recorded = ledger(site.db()).await;
        let refused = problem(visitor.say("c", "m30", "hi").await, 429, "quota_exceeded").await;
        assert_eq!(refused["violated-policies"], json!(["anon-1h"]));
        assert_eq!(ledger(site.db()).await, recorded, "its refusal is not charged to the network");
        // Three more as busy as the first.
        let network = Policy::named("anon-net", 120, Duration::from_hours(1));
        for _ in 0..90 {
            let charge = Charge::new(&network, "127.0.0.1");
            let taken = take(site.db(), site.apps[0].clock.as_ref(), vec![charge]).await.unwrap();
            assert!(matches!(taken, Decision::Admitted { .. }));
        }
        // Somebody new at the same address, by a dropped cookie or not.
        let recorded = ledger(site.db()).await;
        let newcomer = site.anonymous().await;
        assert_eq!(remaining(&newcomer).await, [30, 0]);
        for somebody in [&newcomer, &site.visitor(None)] {
            let refused = somebody.say("c", "m", "hi").await;
            assert_eq!(header(&refused, "ratelimit-policy"), Some("\"anon-net-1h\";q=120;w=3600"));
            assert_eq!(header(&refused, "retry-after"), Some("3600"));
            let refused = problem(refused, 429, "quota_exceeded").await;
            assert_eq!(refused["violated-policies"], json!(["anon-net-1h"]));
            assert_eq!(
                refused["detail"],
                "Your network has sent 120 messages in the last 1 hour. You can send the next one in 1 hour."
            );
        }
        assert_eq!(ledger(site.db()).await, recorded, "a refusal by the network is not charged to the session");
        // Users have a quota of their own.
        assert_eq!(text(&site.user("ada", Tier::Free).await.chat("c", "m", "hi").await), "ok");
        assert_eq!(site.provider.requests().len(), 31);
    }

    async fn none_is_none(kind) {
        let site = Plan::new(kind).user_limit(0).config(|config| config.anon_limit.limit = 0).start().await;
        for caller in [site.user("ada", Tier::Free).await, site.anonymous().await] {
            problem(caller.say("c", "m", "hi").await, 429, "quota_exceeded").await;
            assert_eq!(remaining(&caller).await[0], 0);
        }
        assert!(ledger(site.db()).await.is_empty() && site.provider.requests().is_empty());
        assert_eq!(rows(site.db()).await.conversations, 0);
    }

    async fn a_typed_word_costs_nothing(kind) {
        let site = Plan::new(kind).user_limit(1).start().await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::tool_call("create_check", json!({"name": "backup", "period_seconds": 3600})));
        site.provider.push(Script::text("Please confirm."));
        user.chat("c", "m1", "watch my backup").await;
        let recorded = ledger(site.db()).await;
        problem(user.say("c", "m2", "thank you").await, 429, "quota_exceeded").await;
        // Nothing is left, and what was proposed can be decided all the same.
        let said = user.chat("c", "m3", "confirm").await;
        assert_eq!(cards(&said)[0]["status"], "EXECUTED");
        assert_eq!((ledger(site.db()).await, site.provider.requests().len()), (recorded, 2));
    }

    async fn a_clock_set_back_is_no_second_quota(kind) {
        for back in [30_i64, 3_600, 86_400] {
            let site = Plan::new(kind).manual_clock().user_limit(3).start().await;
            let (user, clock) = (site.user("ada", Tier::Free).await, site.clock.clone().unwrap());
            for n in 0..3 {
                user.chat("c", &format!("m{n}"), "hi").await;
            }
            let filled = site.now();
            clock.set(Millis(filled.0 - back * 1_000));
            let refused = problem(user.say("c", "m3", "hi").await, 429, "quota_exceeded").await;
            let wait = refused["retry_after_seconds"].as_u64().unwrap();
            assert!(wait <= 600 + 60, "{back} s back: wait for {wait} s");
            assert_eq!(remaining(&user).await, [0]);
            // Free again after a window, and not before.
            site.advance(Duration::from_millis(wait * 1_000 - 1_000));
            problem(user.say("c", "m3", "hi").await, 429, "quota_exceeded").await;
            site.advance(Duration::from_secs(1));
            assert_eq!(text(&user.chat("c", "m3", "hi").await), "ok");
        }
    }

    async fn every_window_is_exact(kind) {
        let fresh = fresh(kind).await;
        for seed in 1..=6 {
            let (mut dice, limit) = (Dice(seed), u32::try_from(seed).unwrap());
            let window = Duration::from_secs(10);
            let charge = Charge::new(&Policy::named("test", limit, window), &seed.to_string());
            let clock = ManualClock::new(Millis(1_790_000_000_000));
            let mut admitted = VecDeque::<Millis>::new();
            for step in 0..150 {
                // Mostly about as often as it may, sometimes in bursts, sometimes exactly when a place comes free.
                let free_at = admitted.iter().rev().nth(limit as usize - 1).map(|oldest| oldest.plus(window));
                match (dice.below(4), free_at) {
                    (0, Some(free_at)) if free_at > clock.now() => clock.set(free_at),
                    (1, Some(free_at)) if free_at.0 - 1 > clock.now().0 => clock.set(Millis(free_at.0 - 1)),
                    (2, _) => clock.advance(Duration::from_millis(1 + dice.below(5))),
                    _ => clock.advance(Duration::from_millis(1 + dice.below(20_000 / u64::from(limit)))),
                }
                let now = clock.now();
                let in_window = admitted.iter().filter(|at| at.plus(window) > now).count();
                let decision = take(&fresh.db, &clock, vec![charge.clone()]).await.unwrap();
                match decision {
                    Decision::Admitted { standings, .. } => {
                        assert!(in_window < limit as usize, "seed {seed}, step {step}: one too many");
                        assert_eq!(standings[0].remaining as usize, limit as usize - in_window - 1);
                        admitted.push_back(now);
                    }
                    Decision::Refused(standings) => {
                        assert_eq!(in_window, limit as usize, "seed {seed}, step {step}: refused with a place free");
                        assert_eq!(now.plus(standings[0].wait), free_at.unwrap(), "seed {seed}, step {step}: the wait");
                    }
                }
            }
            assert!(admitted.len() > limit as usize);
        }
    }

    async fn what_decides_nothing_any_more_is_deleted(kind) {
        let fresh = fresh(kind).await;
        let clock = ManualClock::new(Millis(1_790_000_000_000));
        let policy = Policy::named("test", 2, Duration::from_secs(10));
        for who in ["old", "both"] {
            take(&fresh.db, &clock, vec![Charge::new(&policy, who)]).await.unwrap();
        }
        clock.advance(Duration::from_secs(5));
        take(&fresh.db, &clock, vec![Charge::new(&policy, "both")]).await.unwrap();
        clock.advance(Duration::from_secs(5));
        assert_eq!(delete_dead(&fresh.db, clock.now()).await.unwrap(), 1);
        assert_eq!(ledger(&fresh.db).await.len(), 1);
    }

    async fn floods_end_before_anything_is_looked_up(kind) {
        let flood = FloodLimit { per_second: 1, burst: 3 };
        let site = Plan::new(kind).config(|config| config.flood_limit = Some(flood)).start().await;
        let user = site.user("ada", Tier::Free).await;
        let mut answers = Vec::new();
        for n in 0..6 {
            answers.push(user.say("c", &format!("m{n}"), "").await);
        }
        let refused: Vec<_> =
            answers.into_iter().filter(|answer| answer.status() == StatusCode::TOO_MANY_REQUESTS).collect();
        assert!(!refused.is_empty());
        for answer in refused {
            assert!(header(&answer, "retry-after").unwrap().parse::<u64>().unwrap() >= 1);
            let body: Value = problem(answer, 429, "abnormal_usage").await;
            assert!(body["retry_after_seconds"].as_u64().unwrap() >= 1);
        }
        // Jobs behind the same address are not people: their pings have their own, larger measure.
        for _ in 0..20 {
            assert_eq!(
                user.send(reqwest::Method::GET, "/ping/no-such-key", None).await.status(),
                StatusCode::NOT_FOUND
            );
        }
    }
}
