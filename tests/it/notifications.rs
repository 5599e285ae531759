//! Alerts: what is written with a flip, and what arrives where.

mod api;
mod keys;
mod limits;
mod mail;
mod outbox;
mod post;
mod receiver;
mod reminders;
mod sending;
mod targets;
mod tolerance;
