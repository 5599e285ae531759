//! Integration tests: real HTTP on a free port, every case on both databases, and a provider of our own that streams.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[macro_use]
mod database;
mod abort;
mod actions;
mod answers;
mod approvals;
mod asking;
mod badges;
mod bounds;
mod callers;
mod chat;
mod checks_api;
mod checks_flow;
mod checks_more;
mod checks_race;
mod checks_tools;
mod env_example;
mod hostile;
mod instances;
mod intake;
mod layering;
mod migrations;
mod nginx;
mod notifications;
mod operations;
mod outcomes;
mod ping_answers;
mod pings;
mod proposals;
mod provider;
mod provider_cases;
mod pruning;
mod quota;
mod race_actions;
mod race_pings;
mod race_quota;
mod refusals;
mod rig;
mod schedules;
mod site;
mod sweep;
mod tiers;
mod typed;
mod undo;
mod uptime;
