//! The server's sentences about an action, each a function of its row: what was done, or how it stands.

use super::{ActionView, Status};

impl ActionView {
    /// What its decision came to; nothing while there is none.
    pub fn said(&self) -> Option<String> {
        let number = self.number;
        match self.status {
            Status::Executed => Some(format!("{} (action {number}).", self.outcome_message())),
            Status::Failed => Some(format!(
                "Action {number} could not be carried out: {} Nothing has changed.",
                self.outcome_message()
            )),
            Status::Rejected => Some(format!("Cancelled action {number}: {}. Nothing has changed.", self.title)),
            Status::Pending | Status::Claimed | Status::Expired | Status::Superseded => None,
        }
    }

    /// How it stood before anybody asked now.
    pub fn standing(&self) -> String {
        let (number, message) = (self.number, self.outcome_message());
        match self.status {
            Status::Executed => format!("Action {number} was carried out already: {message}."),
            Status::Failed => format!("Action {number} was confirmed already and could not be carried out: {message}"),
            Status::Rejected => format!("Action {number} was cancelled already."),
            Status::Expired => format!("Action {number} has expired. Ask for it again if you want it."),
            Status::Superseded => format!("A newer proposal took the place of action {number}."),
            Status::Pending | Status::Claimed => format!("Action {number} is still open."),
        }
    }

    fn outcome_message(&self) -> &str {
        self.outcome.as_ref().map_or("", |outcome| outcome.message.as_str())
    }
}
