//! A typed word that decides actions, without any model: read, decided and answered in one transaction. Only `all` is
//! decided before, each action in a transaction of its own.

use super::Chat;
use super::begin::title;
use super::receive::ReceiveError;
use super::store::running::{has_running_in, interrupt_stale_in};
use super::store::{self, Conversation, NewMessage, Status as MessageStatus};
use super::transcript::Part;
use super::typed::{TypedWord, Which};
use crate::actions::confirm::{self, Decision, DecisionError, Verdict, confirm, decide_in, reject};
use crate::actions::store::{list_of_conversation, list_of_conversation_in};
use crate::actions::{Action, ActionView, Via};
use crate::clock::{Clock, Millis};
use crate::db::{DbError, Tx};
use crate::ids::{ActionId, ConversationRef, MessageId, UserId, new_v7};

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
    // `all` is many decisions, each claimed on its own: together they would hold locks in no order.
    let decided_each = match word.which {
        Which::All => decide_each(chat, user, &conversation.reference, word.verdict).await?,
        Which::Latest | Which::Number(_) => None,
    };
    let (clock, user, owner) = (chat.clock.clone(), user.clone(), owner.to_owned());
    let (id, asked, text) = (conversation.id.clone(), question.clone(), text.to_owned());
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
                let message = NewMessage::of_user(&conversation, &asked, seq, &text, now);
                if !store::insert_message(tx, &message).await? {
                    return Err(Stop::Known);
                }
                if has_running_in(tx, &conversation).await? {
                    return Err(Stop::Busy);
                }
                let (sentence, touched) = match decided_each {
                    Some(said) => said,
                    None => answer(tx, clock.as_ref(), &user, &actions, word).await?,
                };
                let mut parts = vec![Part::Step, Part::Text { text: sentence }];
                parts.extend(touched.into_iter().map(|id| Part::Action { id }));
                let answer = MessageId(new_v7(now));
                let message = NewMessage {
                    id: &answer,
                    seq: seq + 1,
                    role: "assistant",
                    status: MessageStatus::Complete,
                    parts,
                    reply_to: Some(&asked),
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
        // The reply to COMMIT was lost: the stored answer tells what was done.
        Err(Stop::Db(DbError::CommitUnknown(error))) => {
            match store::find_answer(&chat.db, &conversation.reference, question).await? {
                Some(answer) => Ok(Decided::Answered(answer.id)),
                None => Err(DbError::CommitUnknown(error).into()),
            }
        }
        Err(Stop::Db(error)) => Err(error.into()),
    }
}

/// What is said to a word, and the actions that it is about.
type Said = (String, Vec<ActionId>);

/// Decides every open action; `None` if there is none.
async fn decide_each(
    chat: &Chat,
    user: &UserId,
    conversation: &ConversationRef,
    verdict: Verdict,
) -> Result<Option<Said>, ReceiveError> {
    let now = chat.clock.now();
    let mut open = list_of_conversation(&chat.db, conversation).await?;
    open.retain(|action| action.is_open(now));
    let mut sentences = Vec::with_capacity(open.len());
    let mut any_decided = false;
    for action in &open {
        if verdict == Verdict::Confirm && action.preview.destructive {
            sentences.push(needs_its_number(action));
            continue;
        }
        let (owner, id) = (user.clone(), action.id.clone());
        let decision = Decision { owner, action: id, via: Via::Typed, digest: None };
        let decided = match verdict {
            Verdict::Confirm => confirm(&chat.db, &chat.clock, decision).await,
            Verdict::Reject => reject(&chat.db, &chat.clock, decision).await,
        };
        let sentence = said(action, decided, now);
        sentences.push(sentence.map_err(|error| ReceiveError::undecided(error, any_decided))?);
        any_decided = true;
    }
    let touched = open.into_iter().map(|action| action.id).collect();
    Ok((!sentences.is_empty()).then(|| (sentences.join("\n\n"), touched)))
}

/// The server's sentence for one decision.
fn said(action: &Action, decided: Result<confirm::Decided, DecisionError>, now: Millis) -> Result<String, DbError> {
    Ok(match decided {
        Ok(decided) => {
            let (view, is_new) = (ActionView::new(decided.action, now), !decided.replayed);
            view.said().filter(|_| is_new).unwrap_or_else(|| view.standing())
        }
        Err(DecisionError::Over(action)) => ActionView::new(*action, now).standing(),
        Err(DecisionError::Db(error)) => return Err(error),
        Err(DecisionError::NotFound | DecisionError::Changed) => format!("There is no action {}.", action.number),
    })
}

fn needs_its_number(action: &Action) -> String {
    let number = action.number;
    let title = &action.preview.title;
    format!("Action {number} ({title}) needs more than that: tap its Confirm button or type `confirm {number}`.")
}

/// Reads and decides inside the transaction that stores the answer.
async fn answer(
    tx: &mut Tx,
    clock: &dyn Clock,
    user: &UserId,
    actions: &[Action],
    word: TypedWord,
) -> Result<Said, DbError> {
    let now = clock.now();
    let open: Vec<&Action> = actions.iter().filter(|action| action.is_open(now)).collect();
    let chosen: &Action = match (word.which, actions.last()) {
        (Which::Number(number), _) => match actions.iter().find(|action| action.number == number) {
            Some(action) => action,
            None => return Ok((format!("There is no action {number} here.{}", listing(&open)), Vec::new())),
        },
        (Which::All, _) => return Ok(("There is no open action here.".to_owned(), Vec::new())),
        // The latest one is decided: say so and touch nothing, or a word sent twice would reach a second action.
        (Which::Latest, Some(latest)) if !latest.is_open(now) => {
            let sentence = format!("{}{}", ActionView::new(latest.clone(), now).standing(), listing(&open));
            return Ok((sentence, vec![latest.id.clone()]));
        }
        (Which::Latest, _) if open.len() > 1 => {
            return Ok((format!("Which one do you mean?{}", listing(&open)), Vec::new()));
        }
        (Which::Latest, Some(latest)) => latest,
        (Which::Latest, None) => return Ok((String::new(), Vec::new())),
    };
    let touched = vec![chosen.id.clone()];
    let is_named = matches!(word.which, Which::Number(_));
    if word.verdict == Verdict::Confirm && chosen.preview.destructive && !is_named {
        return Ok((needs_its_number(chosen), touched));
    }
    let decision = Decision { owner: user.clone(), action: chosen.id.clone(), via: Via::Typed, digest: None };
    let decided = decide_in(tx, clock, &decision, word.verdict).await?;
    Ok((said(chosen, decided, now)?, touched))
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
