//! Stopping in order: not ready at once, running turns get their time, and every stream is told its end.

use std::time::Duration;

use flatline::limits::Tier;
use reqwest::{Method, StatusCode};
use tokio::time::Instant;

use crate::asking::{Reading, eventually, header, lines, problem, told};
use crate::provider::{Gate, Script};
use crate::site::{Site, types};

on_both! {
    async fn a_turn_that_ends_in_time_ends_whole(kind) {
        let mut site = Site::start(kind).await;
        let (user, nobody) = (site.user("ada", Tier::Free).await, site.visitor(None));
        let gate = Gate::default();
        site.provider.push(Script::stream().say("one ").hold(&gate).say("two").finish("stop"));
        let mut reading = Reading::new(user.say("c", "m", "count").await);
        reading.until_said("one ").await;
        let app = site.apps.remove(0);
        let addr = app.addr;
        let asking = async {
            eventually("it is still ready", || async {
                nobody.send(Method::GET, "/readyz", None).await.status() == StatusCode::SERVICE_UNAVAILABLE
            })
            .await;
            assert_eq!(nobody.send(Method::GET, "/healthz", None).await.status(), StatusCode::OK);
            for response in [user.say("c2", "m", "hi").await, user.send(Method::GET, "/api/checks", None).await] {
                assert!(header(&response, "retry-after").is_some());
                problem(response, 503, "temporarily_unavailable").await;
            }
            gate.open();
            reading.rest().await
        };
        let ((), said) = tokio::join!(app.shutdown(), asking);
        assert_eq!(types(&said), ["text-delta", "text-end", "finish-step", "finish"]);
        assert_eq!(
            told(site.db(), "c").await,
            lines(&[("user", "complete", "count"), ("assistant", "complete", "one two")])
        );
        assert!(told(site.db(), "c2").await.is_empty());
        assert!(tokio::net::TcpStream::connect(addr).await.is_err(), "nobody listens any more");
    }

    async fn a_turn_that_does_not_end_is_interrupted(kind) {
        let mut site = Site::start(kind).await;
        let user = site.user("ada", Tier::Free).await;
        site.provider.push(Script::stream().say("one ").hang());
        let mut reading = Reading::new(user.say("c", "m", "count").await);
        reading.until_said("one ").await;
        let began = Instant::now();
        let ((), said) = tokio::join!(site.apps.remove(0).shutdown(), reading.rest());
        let took = began.elapsed();
        assert!(took >= Duration::from_secs(10) && took < Duration::from_secs(15), "{took:?}");
        assert_eq!(types(&said), ["text-end", "finish-step", "abort"]);
        site.provider.requests()[0].wait_for_client_to_leave().await;
        assert_eq!(
            told(site.db(), "c").await,
            lines(&[("user", "complete", "count"), ("assistant", "interrupted", "one ")])
        );
    }

    async fn with_nothing_running_it_stops_at_once(kind) {
        let mut site = Site::start(kind).await;
        site.user("ada", Tier::Free).await.chat("c", "m", "hi").await;
        let began = Instant::now();
        site.apps.remove(0).shutdown().await;
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
}
