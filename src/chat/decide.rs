//! A typed word that decides actions: read, decided and answered in one transaction, without any model.

use super::Chat;
use super::begin::title;
use super::receive::ReceiveError;
use super::store::running::{has_running_in, interrupt_stale_in};
use super::store::{self, Conversation, NewMessage, Status as MessageStatus};
use super::transcript::Part;
use super::typed::{TypedWord, Which};
use crate::actions::confirm::{Decision, DecisionError, Verdict, decide_in};
use crate::actions::store::list_of_conversation_in;
use crate::actions::{Action, Status, Via};
use crate::clock::{Clock, Millis};
use crate::db::{DbError, Tx};
use crate::ids::{ActionId, MessageId, UserId, new_v7};

/// What became of a typed word.
pub enum Decided {
    /// It was about actions; this message answers it.
    Answered(MessageId),
    /// The same message was answered before.
    Known,
    /// There is no action in this conversation: an ordinary message.
    NotAboutActions,
}

enum Stop {
    Known,
    Busy,
    NotAboutActions,
    Db(DbError),
}

impl From<DbError> for Stop {
    fn from(error: DbError) -> Self {
        Self::Db(error)
    }
}

/// Decides what `word` means in this conversation and stores question and answer with it.
///
/// # Errors
/// [`ReceiveError::TurnInProgress`], or the database's.
pub async fn decide(
    chat: &Chat,
    user: &UserId,
    owner: &str,
    conversation: &Conversation,
    question: &MessageId,
    text: &str,
    word: TypedWord,
) -> Result<Decided, ReceiveError> {
    let (clock, user, owner) = (chat.clock.clone(), user.clone(), owner.to_owned());
    let (id, question, text) = (conversation.id.clone(), question.clone(), text.to_owned());
    let decided = chat
        .db
        .write::<_, Stop, _>(move |tx| {
            Box::pin(async move {
                let now = clock.now();
                // Under this lock no action is proposed and no other word is answered in this conversation.
                let (conversation, seq) =
                    store::lock_conversation(tx, &owner, &id, &new_v7(now), &title(&text), now).await?;
                interrupt_stale_in(tx, &conversation, now).await?;
                let actions = list_of_conversation_in(tx, &conversation).await?;
                if actions.is_empty() {
                    return Err(Stop::NotAboutActions);
                }
                let message = NewMessage::of_user(&conversation, &question, seq, &text, now);
                if !store::insert_message(tx, &message).await? {
                    return Err(Stop::Known);
                }
                if has_running_in(tx, &conversation).await? {
                    return Err(Stop::Busy);
                }
                let (sentence, touched) = answer(tx, clock.as_ref(), &user, &actions, word).await?;
                let mut parts = vec![Part::Step, Part::Text { text: sentence }];
                parts.extend(touched.into_iter().map(|id| Part::Action { id }));
                let answer = MessageId(new_v7(now));
                let message = NewMessage {
                    id: &answer,
                    seq: seq + 1,
                    role: "assistant",
                    status: MessageStatus::Complete,
                    parts,
                    reply_to: Some(&question),
                    ..message
                };
                store::insert_message(tx, &message).await?;
                Ok(answer)
            })
        })
        .await;
    match decided {
        Ok(answer) => Ok(Decided::Answered(answer)),
        Err(Stop::Known) => Ok(Decided::Known),
        Err(Stop::NotAboutActions) => Ok(Decided::NotAboutActions),
        Err(Stop::Busy) => Err(ReceiveError::TurnInProgress),
        Err(Stop::Db(error)) => Err(error.into()),
    }
}

/// The server's sentence, and the actions that it is about.
async fn answer(
    tx: &mut Tx,
    clock: &dyn Clock,
    user: &UserId,
    actions: &[Action],
    word: TypedWord,
) -> Result<(String, Vec<ActionId>), DbError> {
    let now = clock.now();
    let open: Vec<&Action> = actions.iter().filter(|action| action.is_open(now)).collect();
    let chosen: Vec<&Action> = match (word.which, actions.last()) {
        (Which::Number(number), _) => match actions.iter().find(|action| action.number == number) {
            Some(action) => vec![action],
            None => return Ok((format!("There is no action {number} here.{}", listing(&open)), Vec::new())),
        },
        (Which::All, _) if open.is_empty() => return Ok(("There is no open action here.".to_owned(), Vec::new())),
        (Which::All, _) => open.clone(),
        // The latest one is decided: say so and touch nothing, or a word sent twice would reach a second action.
        (Which::Latest, Some(latest)) if !latest.is_open(now) => {
            let sentence = format!("{}{}", standing(latest, now), listing(&open));
            return Ok((sentence, vec![latest.id.clone()]));
        }
        (Which::Latest, _) if open.len() > 1 => {
            return Ok((format!("Which one do you mean?{}", listing(&open)), Vec::new()));
        }
        (Which::Latest, latest) => latest.into_iter().collect(),
    };
    let mut sentences = Vec::with_capacity(chosen.len());
    for action in &chosen {
        let needs_its_number = word.verdict == Verdict::Confirm && action.preview.destructive;
        if needs_its_number && !matches!(word.which, Which::Number(_)) {
            let number = action.number;
            sentences.push(format!(
                "Action {number} ({}) cannot be undone: tap its Confirm button or type `confirm {number}`.",
                action.preview.title
            ));
            continue;
        }
        let (owner, id) = (user.clone(), action.id.clone());
        let decision = Decision { owner, action: id, via: Via::Typed, digest: None };
        let decided = decide_in(tx, clock, &decision, word.verdict).await?;
        sentences.push(match decided {
            Ok(decided) if !decided.replayed => outcome(&decided.action),
            Ok(decided) => standing(&decided.action, now),
            Err(DecisionError::Over(action)) => standing(&action, now),
            Err(DecisionError::Db(error)) => return Err(error),
            Err(DecisionError::NotFound | DecisionError::Changed) => format!("There is no action {}.", action.number),
        });
    }
    Ok((sentences.join("\n\n"), chosen.into_iter().map(|action| action.id.clone()).collect()))
}

/// What this word has just done.
fn outcome(action: &Action) -> String {
    let (number, message) = (action.number, action.outcome.as_ref().map_or("", |outcome| outcome.message.as_str()));
    match action.status {
        Status::Executed => format!("{message} (action {number})."),
        Status::Failed => format!("Action {number} could not be carried out: {message} Nothing has changed."),
        Status::Rejected => format!("Cancelled action {number}: {}. Nothing has changed.", action.preview.title),
        Status::Pending | Status::Claimed | Status::Expired | Status::Superseded => String::new(),
    }
}

/// How an action stands that this word did not change.
fn standing(action: &Action, now: Millis) -> String {
    let (number, message) = (action.number, action.outcome.as_ref().map_or("", |outcome| outcome.message.as_str()));
    match action.status_at(now) {
        Status::Executed => format!("Action {number} was carried out already: {message}."),
        Status::Failed => format!("Action {number} was confirmed already and could not be carried out: {message}"),
        Status::Rejected => format!("Action {number} was cancelled already."),
        Status::Expired => format!("Action {number} has expired. Ask for it again if you want it."),
        Status::Superseded => format!("A newer proposal took the place of action {number}."),
        Status::Pending | Status::Claimed => format!("Action {number} is still open."),
    }
}

/// The open actions with their numbers, if there are any.
fn listing(open: &[&Action]) -> String {
    if open.is_empty() {
        return String::new();
    }
    let line = |action: &&Action| format!("- {}: {}", action.number, action.preview.title);
    let lines: Vec<String> = open.iter().map(line).collect();
    format!("\n\nOpen actions:\n{}\n\nType `confirm <number>`, or `confirm all`.", lines.join("\n"))
}
