//! Actions over HTTP: what the model proposes, what a person decides, and what the rows say of it afterwards.

mod channels;
mod deciding;
mod failing;
mod kinds;
mod listing;
mod proposing;
mod telling;
mod telling_what;
