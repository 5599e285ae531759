//! The edge kit: what every slice's HTTP needs, and no slice's knowledge.

pub mod body;
pub mod caller;
pub mod contract;
pub mod cursor;
pub mod flood;
pub mod health;
pub mod metrics;
pub mod origin;
pub mod problem;
pub mod query;
pub mod request;
pub mod serve;
pub mod sse;
pub mod stall;
pub mod state;

pub use body::{
    JsonBody, MAX_BODY, Nothing, OptionalJson, RequestBody, parse_value, read_body, require_json, too_large,
};
pub use caller::{Caller, User};
pub use cursor::{Page, Paging};
pub use problem::Problem;
pub use query::{Listed, Params};
pub use state::AppState;
