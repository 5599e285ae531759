//! Turns that run in this process, and the readers that follow them. A reader has a cursor into the growing
//! transcript and no buffer of its own, so one that is slow or gone costs nothing and holds nothing up.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::{Stream, StreamExt, stream};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::cursor::Cursor;
use super::transcript::{Ending, Transcript};
use crate::ids::{ConversationRef, MessageId};
use crate::llm::ModelErrorKind;

/// How far a turn has come in opening its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// Waiting for the first delta.
    Waiting,
    /// The answer has begun; from here on it is a stream.
    Open,
    /// The provider gave nothing: everything was undone and the quota given back.
    Refused(ModelErrorKind),
    /// Our own database failed before the provider was asked.
    Unavailable,
}

/// A running turn.
pub struct LiveTurn {
    /// The answer.
    pub message_id: MessageId,
    /// The user message that it answers.
    pub reply_to: MessageId,
    /// Cancelled to stop it: the answer is then stored as interrupted.
    pub stop: CancellationToken,
    opening: watch::Sender<Opening>,
    transcript: Mutex<Transcript>,
    /// Moves with every change of the transcript.
    changed: watch::Sender<u64>,
    readers: AtomicUsize,
    /// Whether somebody follows it from another instance.
    followed: AtomicBool,
    /// Set when it has been persisted and removed.
    ended: CancellationToken,
}

impl LiveTurn {
    fn new(message_id: MessageId, reply_to: MessageId, stop: CancellationToken) -> Self {
        let transcript = Transcript { message_id: Some(message_id.clone()), ..Transcript::default() };
        Self {
            message_id,
            reply_to,
            stop,
            opening: watch::Sender::new(Opening::Waiting),
            transcript: Mutex::new(transcript),
            changed: watch::Sender::new(0),
            readers: AtomicUsize::new(0),
            followed: AtomicBool::new(false),
            ended: CancellationToken::new(),
        }
    }

    /// Tells those who wait how the opening went.
    pub fn set_opening(&self, opening: Opening) {
        self.opening.send_replace(opening);
    }

    /// Waits until the answer has begun, or cannot.
    pub async fn opened(&self) -> Opening {
        let mut opening = self.opening.subscribe();
        // The sender lives in `self`, so the wait cannot fail.
        opening.wait_for(|state| *state != Opening::Waiting).await.map_or(Opening::Unavailable, |state| *state)
    }

    /// Changes the transcript and wakes its readers.
    pub fn update<T>(&self, change: impl FnOnce(&mut Transcript) -> T) -> T {
        let result = change(&mut self.lock());
        self.changed.send_modify(|version| *version += 1);
        result
    }

    /// Reads the transcript.
    pub fn view<T>(&self, look: impl FnOnce(&Transcript) -> T) -> T {
        look(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Transcript> {
        // Never held across an await, and a panic inside leaves nothing half-done that matters.
        self.transcript.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody follows it from another instance, as far as the row told last.
    pub fn is_followed(&self) -> bool {
        self.followed.load(Ordering::SeqCst)
    }

    /// Remembers what the row told.
    pub fn set_followed(&self, followed: bool) {
        self.followed.store(followed, Ordering::SeqCst);
    }

    /// Whether anybody reads it here now.
    pub fn has_reader(&self) -> bool {
        self.readers.load(Ordering::SeqCst) > 0
    }

    /// Waits until it is persisted and gone.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Counts a reader from now on.
    pub fn join(self: &Arc<Self>) -> Reader {
        self.readers.fetch_add(1, Ordering::SeqCst);
        Reader { turn: Arc::clone(self) }
    }
}

/// One reader of a running turn; leaves when dropped.
pub struct Reader {
    turn: Arc<LiveTurn>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.turn.readers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Reader {
    /// The turn's chunks from its first one, then as they come.
    pub fn chunks(self) -> impl Stream<Item = Value> + Send + 'static {
        let changed = self.turn.changed.subscribe();
        let batches =
            stream::unfold((self, Cursor::default(), changed), |(reader, mut cursor, mut changed)| async move {
                loop {
                    if cursor.is_ended() {
                        return None;
                    }
                    changed.mark_unchanged();
                    let chunks = reader.turn.view(|transcript| cursor.advance(transcript));
                    if !chunks.is_empty() {
                        return Some((stream::iter(chunks), (reader, cursor, changed)));
                    }
                    // The sender lives in the turn that the reader holds.
                    changed.changed().await.ok()?;
                }
            });
        batches.flatten()
    }
}

/// The turns of this process.
#[derive(Clone)]
pub struct Turns {
    running: Arc<Mutex<HashMap<ConversationRef, Arc<LiveTurn>>>>,
    /// The tasks that run them; awaited when the process stops.
    pub tasks: TaskTracker,
    /// Cancelled when they must end.
    pub(super) stop: CancellationToken,
}

impl Turns {
    /// No turns yet; `stop` ends all that will run.
    pub fn new(stop: CancellationToken) -> Self {
        Self { running: Arc::default(), tasks: TaskTracker::new(), stop }
    }

    /// The turn that runs in `conversation`.
    pub fn find(&self, conversation: &ConversationRef) -> Option<Arc<LiveTurn>> {
        self.lock().get(conversation).cloned()
    }

    /// Enters a turn that the database has just let begin.
    pub(super) fn enter(&self, conversation: &ConversationRef, id: MessageId, reply_to: MessageId) -> Entered {
        let turn = Arc::new(LiveTurn::new(id, reply_to, self.stop.child_token()));
        self.lock().insert(conversation.clone(), Arc::clone(&turn));
        Entered { turns: self.clone(), conversation: conversation.clone(), turn }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ConversationRef, Arc<LiveTurn>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn's place among the running ones; left when dropped, even by a panic.
pub(super) struct Entered {
    turns: Turns,
    conversation: ConversationRef,
    pub(super) turn: Arc<LiveTurn>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut running = self.turns.lock();
        if running.get(&self.conversation).is_some_and(|turn| Arc::ptr_eq(turn, &self.turn)) {
            running.remove(&self.conversation);
        }
        drop(running);
        // Whoever still waits for the opening must not wait for ever.
        self.turn.opening.send_if_modified(|opening| {
            let waits = *opening == Opening::Waiting;
            if waits {
                *opening = Opening::Unavailable;
            }
            waits
        });
        // Nor its readers for an end, should the turn have broken.
        self.turn.update(|transcript| {
            transcript.ending.get_or_insert(Ending::Failed);
        });
        self.turn.ended.cancel();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_late_reader_gets_everything_and_the_turn_forgets_who_left() {
        let turns = Turns::new(CancellationToken::new());
        let conversation = ConversationRef("c".to_owned());
        let id = |text: &str| MessageId(text.to_owned());
        let entered = turns.enter(&conversation, id("answer"), id("question"));
        let turn = turns.find(&conversation).unwrap();
        let early = turn.join();
        turn.update(|transcript| transcript.push_text("one "));
        drop(early);
        assert!(!turn.has_reader());
        let late = turn.join();
        assert!(turn.has_reader());
        turn.update(|transcript| transcript.push_text("two"));
        turn.update(|transcript| transcript.ending = Some(Ending::Complete));
        drop(entered);
        assert!(turns.find(&conversation).is_none());
        let chunks: Vec<Value> = late.chunks().collect().await;
        let kinds: Vec<&str> = chunks.iter().filter_map(|chunk| chunk["type"].as_str()).collect();
        assert_eq!(kinds, ["start", "text-start", "text-delta", "text-end", "finish"]);
        assert_eq!(chunks[2]["delta"], "one two");
    }

    #[tokio::test]
    async fn a_turn_that_breaks_ends_its_readers_streams() {
        let turns = Turns::new(CancellationToken::new());
        let conversation = ConversationRef("c".to_owned());
        let id = |text: &str| MessageId(text.to_owned());
        let entered = turns.enter(&conversation, id("answer"), id("question"));
        let reader = entered.turn.join();
        let waiting = turns.find(&conversation).unwrap();
        entered.turn.update(|transcript| transcript.push_text("half"));
        drop(entered);
        let chunks: Vec<Value> = reader.chunks().collect().now_or_never().expect("the stream goes on");
        assert_eq!(chunks.last().unwrap()["type"], "error");
        assert_eq!(waiting.opened().now_or_never(), Some(Opening::Unavailable));
        assert!(waiting.ended().now_or_never().is_some());
    }
}
