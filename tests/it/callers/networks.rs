//! From where somebody calls: the peer, or what a trusted proxy says, counted from the right.

use flatline::config::Config;
use reqwest::StatusCode;

use crate::asking::{ledger, problem};
use crate::database::Kind;
use crate::site::{Plan, Site};

async fn site(kind: Kind, proxies: &'static [&'static str]) -> Site {
    let change = |config: &mut Config| {
        config.anon_network_limit.limit = 1;
        config.trusted_proxies = proxies.iter().map(|proxy| proxy.parse().unwrap()).collect();
    };
    Plan::new(kind).config(change).start().await
}

/// Whether a new visitor gets an answer when the request says that it came this way.
async fn passes(site: &Site, forwarded: &[&str]) -> bool {
    let request =
        site.visitor(None).request(reqwest::Method::POST, "/api/chat").header("content-type", "application/json");
    let body = serde_json::json!({"id": "c", "message": crate::asking::message("m", "hi")});
    let request =
        forwarded.iter().fold(request.body(body.to_string()), |request, hop| request.header("x-forwarded-for", *hop));
    let response = request.send().await.unwrap();
    if response.status() == StatusCode::OK {
        return true;
    }
    let refused = problem(response, 429, "quota_exceeded").await;
    assert_eq!(refused["violated-policies"], serde_json::json!(["anon-net-1h"]));
    false
}

on_both! {
    async fn a_trusted_proxy_is_believed(kind) {
        let site = site(kind, &["127.0.0.1/32", "10.0.0.0/8"]).await;
        for (forwarded, expected) in [
            (&["198.51.100.1"][..], true),
            (&["198.51.100.1"], false),
            // What the client itself wrote before it is not.
            (&["203.0.113.77, 198.51.100.1"], false),
            (&["203.0.113.77", "198.51.100.1"], false),
            (&["198.51.100.1, 10.1.2.3"], false),
            (&["::ffff:198.51.100.1"], false),
            (&["198.51.100.2"], true),
            // A /64 is one network.
            (&["2001:db8:1:2::1"], true),
            (&["2001:db8:1:2:ffff::9"], false),
            (&["2001:db8:1:3::1"], true),
            // The proxy's own: nothing usable was said.
            (&[], true),
            (&["nonsense"], false),
            (&["198.51.100.99, nonsense"], false),
        ] {
            assert_eq!(passes(&site, forwarded).await, expected, "{forwarded:?}");
        }
        let mut networks: Vec<String> = ledger(site.db()).await.into_iter().map(|(key, _)| key).collect();
        networks.retain(|key| key.starts_with("anon-net-1h:"));
        let expected = ["127.0.0.1", "198.51.100.1", "198.51.100.2", "2001:db8:1:2::/64", "2001:db8:1:3::/64"];
        assert_eq!(networks, expected.map(|network| format!("anon-net-1h:{network}")));
    }

    async fn anybody_else_is_not(kind) {
        let site = site(kind, &["10.0.0.0/8"]).await;
        assert!(passes(&site, &["198.51.100.1"]).await);
        assert!(!passes(&site, &["198.51.100.2"]).await, "a header is no new network");
        assert!(!passes(&site, &["10.1.2.3, 198.51.100.3"]).await);
        assert!(!passes(&site, &[]).await);
    }
}
