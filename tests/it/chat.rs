//! The chat over HTTP: one message from arrival to its last chunk, and what is kept of it.

mod bodies;
mod cancelled;
mod dedupe;
mod history;
mod leaving;
mod regenerate;
mod silence;
mod stream;
mod tabs;
mod turns;
mod words;

pub use stream::assert_contract;
