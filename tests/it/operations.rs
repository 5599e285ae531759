//! Running it: health, the contract, metrics, an outage of the database, stopping, and what the log may hold.

mod agreed;
mod contract;
mod logs;
mod outage;
mod schema;
mod stopping;
