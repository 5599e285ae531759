//! What a turn asks the model first: who it is, what was said before, and what it may call.

use jiff::tz::TimeZone;

use super::store::list_messages;
use super::stored::find_cards;
use super::tools::specs;
use super::transcript::Transcript;
use super::turn::Job;
use super::{Chat, history};
use crate::db::DbError;
use crate::llm::ModelRequest;

/// Messages that are looked at for history; the budget in characters cuts further.
const MAX_HISTORY: i64 = 200;

/// The request with all that was said before, and how many messages that is.
pub(super) async fn first(chat: &Chat, job: &Job) -> Result<(ModelRequest, usize), DbError> {
    let now = chat.clock.now();
    let mut rows = list_messages(&chat.db, &job.conversation, MAX_HISTORY).await?;
    let actions = find_cards(&chat.db, &job.conversation, now).await?;
    if job.new_question.is_none() {
        // Answered again: as if the last answer had not been given.
        let last_question = rows.iter().rposition(|row| row.role == "user").map_or(0, |index| index + 1);
        rows.truncate(last_question);
    }
    let messages = history::messages(rows, &Transcript { actions, ..Transcript::default() });
    let base = messages.len();
    let system = chat.prompts.system(job.caller.user().is_some(), now, job.timezone.as_ref());
    let zone = job.timezone.as_ref().map_or(TimeZone::UTC, |zone| zone.rules().clone());
    Ok((ModelRequest { system, messages, tools: specs(&chat.prompts, &job.caller), zone }, base))
}
