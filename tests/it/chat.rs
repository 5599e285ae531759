//! The chat over HTTP: one message from arrival to its last chunk, and what is kept of it.

mod bodies;
mod dedupe;
mod history;
mod leaving;
mod regenerate;
mod silence;
mod stream;
mod turns;
mod words;
