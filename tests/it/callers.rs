//! Who is calling, and what each kind of caller may: tokens, sessions, visitors, strangers, origins, networks.

mod networks;
mod origins;
mod sign_in;
mod strangers;
mod tokens;
mod visitors;

use flatline::accounts::create_token;
use reqwest::Method;

use crate::site::Site;

/// Every operation that the contract names below `prefix`.
pub async fn operations(site: &Site, prefix: &str) -> Vec<(Method, String)> {
    let contract = site.visitor(None).get("/openapi.json").await;
    let mut operations = Vec::new();
    for (path, item) in contract["paths"].as_object().unwrap() {
        for method in ["get", "head", "post", "patch", "delete", "put"] {
            if item.get(method).is_some() && path.starts_with(prefix) {
                operations.push((Method::from_bytes(method.to_uppercase().as_bytes()).unwrap(), path.clone()));
            }
        }
    }
    assert!(!operations.is_empty());
    operations
}

/// An API token of a user that is there.
async fn api_token(site: &Site, name: &str) -> String {
    create_token(site.db(), site.apps[0].clock.as_ref(), name, "another").await.unwrap()
}
