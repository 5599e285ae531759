//! Alerts: what is written with a flip, and what arrives where.

mod api;
mod claims;
mod keys;
mod limits;
mod mail;
mod mailboxes;
mod order;
mod outbox;
mod post;
mod receiver;
mod reminders;
mod removal;
mod sending;
mod smtp;
mod targets;
mod tolerance;
mod worker;
