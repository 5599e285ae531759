//! What the read tools answer, each from the rows: why, who was told, what is next, what would be, how it went.

mod foresight;
pub mod ground;
mod offline;
mod owners;
mod runs;
mod uptime;
mod why;
