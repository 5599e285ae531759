//! Flatline: heartbeat monitoring with an assistant whose changes a person confirms.

/// What time it is.
pub mod clock;
/// The two databases behind one handle.
pub mod db;
/// The ids that travel through the program.
pub mod ids;
/// What a model is to us.
pub mod llm;
