//! Flatline: heartbeat monitoring with an assistant whose changes a person confirms.

/// Users, tiers, tokens, sessions.
pub mod accounts;
/// One confirmation from tap to outcome.
pub mod actions;
/// Starts and stops an instance.
pub mod app;
/// One message from arrival to last chunk.
pub mod chat;
/// Heartbeat monitoring.
pub mod checks;
/// What time it is.
pub mod clock;
/// The settings.
pub mod config;
/// The two databases behind one handle.
pub mod db;
/// Values read into types, and what does not fit.
pub mod fields;
/// The edge kit; knows no slice.
pub mod http;
/// The ids that travel through the program.
pub mod ids;
/// Durable quotas.
pub mod limits;
/// What a model is to us.
pub mod llm;
/// Every route and layer.
pub mod router;
/// Logs and metrics.
pub mod telemetry;
/// The page and the widget.
pub mod widget;
