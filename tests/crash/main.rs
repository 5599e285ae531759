//! Crash tests: the built program as a child process on either database, killed and stopped at chosen moments, and its
//! commands.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[macro_use]
#[path = "../it"]
#[expect(dead_code, reason = "shared with the integration tests, which use all of it")]
mod it {
    #[macro_use]
    pub mod database;
    pub mod provider;
    pub mod site;
}
mod alerts;
mod child;
mod commands;
mod confirms;
mod failures;
mod first_start;
mod ground;
mod intake;
mod proposals;
mod resume;
mod stop;
mod streams;
mod wire;

use it::{database, provider, site};
