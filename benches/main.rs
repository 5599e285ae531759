//! What the documents claim about speed, measured: `bash tests/run bench` prints it. Each claim is a ratio to the bare
//! thing in the same run.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a measurement fails by panicking")]

#[macro_use]
#[path = "../tests/it"]
#[expect(dead_code, reason = "shared with the integration tests, which use all of it")]
mod it {
    #[macro_use]
    pub mod database;
    pub mod provider;
    pub mod rig;
    pub mod site;
}
#[path = "../tests/crash/child.rs"]
#[expect(dead_code, reason = "shared with the crash tests, which use all of it")]
mod child;
#[path = "../tests/crash/ground.rs"]
#[expect(dead_code, reason = "shared with the crash tests, which use all of it")]
mod ground;
mod pings;
mod relay;

use it::{database, provider, rig, site};

#[tokio::main]
async fn main() {
    // `cargo test --benches` only wants to know that it starts.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    relay::measure().await;
    pings::measure().await;
}
