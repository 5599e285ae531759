//! The rows of conversations and messages. Running answers have their own file.

pub mod running;

use sqlx::types::Json;
use sqlx::{FromRow, Row};

use super::transcript::Part;
use crate::clock::Millis;
use crate::db::{Db, DbError, Tx};
use crate::ids::{ActionId, ConversationId, ConversationRef, MessageId};
use crate::on_db;

/// A conversation's row.
#[derive(Debug, Clone, FromRow)]
pub struct Conversation {
    /// Its key.
    #[sqlx(rename = "ref")]
    pub reference: ConversationRef,
    /// As its client calls it.
    pub id: ConversationId,
    /// The beginning of its first message.
    pub title: String,
    /// When it began.
    pub created_at: Millis,
    /// When its last message came.
    pub updated_at: Millis,
}

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Its turn runs, or died within the last 30 s.
    Streaming,
    /// All of it is there.
    Complete,
    /// It was stopped, or whoever ran it died.
    Interrupted,
    /// The provider or we failed on the way.
    Failed,
}

impl Status {
    /// The word as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Streaming => "streaming",
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

impl TryFrom<String> for Status {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        [Self::Streaming, Self::Complete, Self::Interrupted, Self::Failed]
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| format!("messages.status holds {text:?}"))
    }
}

/// A message's row.
#[derive(Debug, Clone, FromRow)]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// `user` or `assistant`.
    pub role: String,
    /// Where it stands.
    #[sqlx(try_from = "String")]
    pub status: Status,
    /// What it says.
    #[sqlx(json)]
    pub parts: Vec<Part>,
    /// For an answer: what it answers.
    pub reply_to: Option<MessageId>,
    /// Until when whoever runs it is taken to be alive.
    pub lease_until: Option<Millis>,
    /// Whether somebody reads the running answer.
    pub has_reader: bool,
    /// When it came.
    pub created_at: Millis,
}

impl Message {
    /// Where it stands at `now`: a turn whose lease has run out is interrupted, whoever writes that down.
    pub fn status_at(&self, now: Millis) -> Status {
        match (self.status, self.lease_until) {
            (Status::Streaming, Some(until)) if until <= now => Status::Interrupted,
            (status, _) => status,
        }
    }

    /// Its words.
    pub fn text(&self) -> String {
        let text = |part: &Part| match part {
            Part::Text { text } => Some(text.as_str().to_owned()),
            Part::Step | Part::Reasoning { .. } | Part::Tool { .. } | Part::Action { .. } => None,
        };
        self.parts.iter().filter_map(text).collect::<Vec<_>>().join("\n")
    }
}

/// The columns of [`Message`].
macro_rules! message_columns {
    () => {
        "id, role, status, parts, reply_to, lease_until, has_reader, created_at"
    };
}
pub(super) use message_columns;

/// The caller's conversation of that id.
pub async fn find_conversation(db: &Db, owner: &str, id: &ConversationId) -> Result<Option<Conversation>, DbError> {
    let sql = "SELECT ref, id, title, created_at, updated_at FROM conversations WHERE owner = $1 AND id = $2";
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(owner).bind(id).fetch_optional(pool).await)?)
}

/// The caller's conversations, most recently used first. The cursor is `updated_at.ref` of the last one.
pub async fn list_conversations(
    db: &Db,
    owner: &str,
    before: Option<(Millis, String)>,
    limit: i64,
) -> Result<Vec<Conversation>, DbError> {
    let (updated_at, reference) = before.unwrap_or((Millis(i64::MAX), String::new()));
    let sql = "SELECT ref, id, title, created_at, updated_at FROM conversations WHERE owner = $1
        AND (updated_at < $2 OR (updated_at = $2 AND ref < $3)) ORDER BY updated_at DESC, ref DESC LIMIT $4";
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(owner).bind(updated_at).bind(&reference).bind(limit)
        .fetch_all(pool).await)?)
}

/// Makes the conversation unless it is there, locks its row, and takes two places for messages; returns the row's key
/// and the first place. Whoever writes messages of a conversation does this first, so they come one after another.
pub(super) async fn lock_conversation(
    tx: &mut Tx,
    owner: &str,
    id: &ConversationId,
    new_ref: &str,
    title: &str,
    now: Millis,
) -> Result<(ConversationRef, i64), DbError> {
    let sql = "INSERT INTO conversations AS c (ref, owner, id, title, next_seq, created_at, updated_at)
        VALUES ($1, $2, $3, $4, 3, $5, $5)
        ON CONFLICT (owner, id) DO UPDATE SET next_seq = c.next_seq + 2,
            updated_at = CASE WHEN c.updated_at < $5 THEN $5 ELSE c.updated_at END
        RETURNING ref, next_seq - 2 AS seq";
    let (reference, seq) = on_db!(tx.on(), c => sqlx::query(sql).bind(new_ref).bind(owner).bind(id).bind(title)
        .bind(now).fetch_one(c).await.and_then(|row| Ok((row.try_get("ref")?, row.try_get("seq")?))))?;
    Ok((reference, seq))
}

/// A message to be written.
#[derive(Debug)]
pub(super) struct NewMessage<'a> {
    pub conversation: &'a ConversationRef,
    pub id: &'a MessageId,
    pub seq: i64,
    pub role: &'static str,
    pub status: Status,
    pub parts: Vec<Part>,
    pub reply_to: Option<&'a MessageId>,
    pub lease_until: Option<Millis>,
    pub model: Option<&'a str>,
    pub prompt_hash: Option<&'a str>,
    pub now: Millis,
}

impl<'a> NewMessage<'a> {
    /// What a user wrote.
    pub(super) fn of_user(
        conversation: &'a ConversationRef,
        id: &'a MessageId,
        seq: i64,
        text: &str,
        now: Millis,
    ) -> Self {
        let parts = vec![Part::Text { text: text.to_owned() }];
        let (reply_to, lease_until, model, prompt_hash) = (None, None, None, None);
        let (role, status) = ("user", Status::Complete);
        Self { conversation, id, seq, role, status, parts, reply_to, lease_until, model, prompt_hash, now }
    }
}

/// Inserts a message; `false` if its id is there already, or if it would be a second running turn.
pub(super) async fn insert_message(tx: &mut Tx, message: &NewMessage<'_>) -> Result<bool, DbError> {
    let sql = "INSERT INTO messages (conversation, id, seq, role, status, parts, reply_to, lease_until, has_reader,
            model, prompt_hash, created_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, true, $9, $10, $11) ON CONFLICT DO NOTHING";
    let inserted = on_db!(tx.on(), c => sqlx::query(sql).bind(message.conversation).bind(message.id).bind(message.seq)
        .bind(message.role).bind(message.status.as_str()).bind(Json(&message.parts)).bind(message.reply_to)
        .bind(message.lease_until).bind(message.model).bind(message.prompt_hash).bind(message.now)
        .execute(c).await.map(|done| done.rows_affected()))?;
    Ok(inserted == 1)
}

/// One message.
pub(super) async fn find_message(
    db: &Db,
    conversation: &ConversationRef,
    id: &MessageId,
) -> Result<Option<Message>, DbError> {
    let sql = concat!("SELECT ", message_columns!(), " FROM messages WHERE conversation = $1 AND id = $2");
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(conversation).bind(id).fetch_optional(pool).await)?)
}

/// The answer to a user's message: the newest one.
pub(super) async fn find_answer(
    db: &Db,
    conversation: &ConversationRef,
    question: &MessageId,
) -> Result<Option<Message>, DbError> {
    let sql = concat!(
        "SELECT ",
        message_columns!(),
        " FROM messages WHERE conversation = $1 AND reply_to = $2 ORDER BY seq DESC LIMIT 1"
    );
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(conversation).bind(question).fetch_optional(pool).await)?)
}

/// The newest user message.
pub(super) async fn find_last_question(db: &Db, conversation: &ConversationRef) -> Result<Option<Message>, DbError> {
    let sql = concat!(
        "SELECT ",
        message_columns!(),
        " FROM messages WHERE conversation = $1 AND role = 'user' ORDER BY seq DESC LIMIT 1"
    );
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(conversation).fetch_optional(pool).await)?)
}

/// The messages of a conversation that are still shown, oldest first: the last `limit` of them.
pub(super) async fn list_messages(
    db: &Db,
    conversation: &ConversationRef,
    limit: i64,
) -> Result<Vec<Message>, DbError> {
    let sql = concat!(
        "SELECT ",
        message_columns!(),
        " FROM messages WHERE conversation = $1 AND replaced = false ORDER BY seq DESC LIMIT $2"
    );
    let mut messages: Vec<Message> =
        on_db!(db.read(), pool => sqlx::query_as(sql).bind(conversation).bind(limit).fetch_all(pool).await)?;
    messages.reverse();
    Ok(messages)
}

/// The answers that name an action anywhere, also those that a regenerated one took the place of.
pub(super) async fn list_answers_naming(
    db: &Db,
    conversation: &ConversationRef,
    action: &ActionId,
) -> Result<Vec<Message>, DbError> {
    // A uuid as text is found as text, whatever the parts around it.
    let sql = concat!(
        "SELECT ",
        message_columns!(),
        " FROM messages WHERE conversation = $1 AND role = 'assistant'
        AND CAST(parts AS TEXT) LIKE '%' || $2 || '%' ORDER BY seq"
    );
    Ok(on_db!(db.read(), pool => sqlx::query_as(sql).bind(conversation).bind(action).fetch_all(pool).await)?)
}

/// Deletes a conversation and its messages; `false` if it was gone.
pub(super) async fn delete_conversation(tx: &mut Tx, conversation: &ConversationRef) -> Result<bool, DbError> {
    let sql = "DELETE FROM conversations WHERE ref = $1";
    let deleted = on_db!(tx.on(), c => sqlx::query(sql).bind(conversation).execute(c).await
        .map(|done| done.rows_affected()))?;
    Ok(deleted == 1)
}
