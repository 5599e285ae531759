//! Puts tool calls together from the pieces of a stream, whichever way a server numbers, names and cuts them.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use super::nesting::{Nesting, Progress};
use super::{Delta, ToolCall};

/// Calls of one answer that are kept; further ones are rejected.
pub const MAX_CALLS: usize = 64;
/// The longest arguments of one call in bytes; a call with longer ones is rejected.
pub const MAX_ARGUMENT_BYTES: usize = 256 << 10;
/// Longer names are cut, which no tool answers to.
const MAX_NAME_CHARS: usize = 128;
/// Longer ids count as none.
const MAX_ID_BYTES: usize = 256;

/// One entry of `tool_calls` as it stands in a chunk.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct RawPiece {
    index: Value,
    id: Value,
    function: Option<RawFunction>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawFunction {
    name: Value,
    arguments: Value,
}

/// A piece as far as it tells anything; empty strings tell nothing.
struct Piece {
    index: Option<u64>,
    id: Option<String>,
    name: Option<String>,
    arguments: String,
}

impl Piece {
    fn read(raw: RawPiece) -> Self {
        let function = raw.function.unwrap_or_default();
        let name = function.name.as_str().filter(|name| !name.is_empty());
        let arguments = match function.arguments {
            Value::String(text) => text,
            Value::Null => String::new(),
            // An empty object may be a placeholder before the real pieces, and is what no arguments mean anyway.
            Value::Object(members) if members.is_empty() => String::new(),
            other => other.to_string(),
        };
        Self {
            index: raw.index.as_u64(),
            id: match raw.id {
                Value::String(id) if !id.is_empty() && id.len() <= MAX_ID_BYTES => Some(id),
                Value::Number(id) => Some(id.to_string()),
                _ => None,
            },
            name: name.map(|name| name.chars().take(MAX_NAME_CHARS).collect()),
            arguments,
        }
    }

    fn is_stub(&self) -> bool {
        self.id.is_none() && self.name.is_none() && self.arguments.is_empty()
    }
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: Option<String>,
    name: String,
    arguments: String,
    nesting: Nesting,
    /// Too many calls or too long arguments: not kept, and never to be acted on.
    over_limit: bool,
    /// Opened by a repeated name alone, so it is a call only if arguments follow.
    maybe_echo: bool,
    announced: bool,
}

/// The calls of one answer, in order of first appearance.
#[derive(Debug, Default)]
pub struct ToolCalls {
    calls: Vec<Call>,
}

impl ToolCalls {
    /// Takes one piece. Returns the bytes that it made the answer grow by, and the call's name when it has just begun.
    pub fn add(&mut self, raw: RawPiece) -> (usize, Option<String>) {
        let piece = Piece::read(raw);
        if piece.is_stub() {
            return (0, None);
        }
        let size = piece.arguments.len() + piece.name.as_ref().map_or(0, String::len);
        let position = match self.find(&piece) {
            Some(position) if !opens_another(&self.calls[position], &piece) => position,
            before => self.open(&piece, before),
        };
        let call = &mut self.calls[position];
        call.take(piece);
        let begun = !call.announced && !call.over_limit && !call.name.is_empty() && !call.is_echo();
        call.announced |= begun;
        (size, begun.then(|| call.name.clone()))
    }

    /// The call that a piece seems to belong to: by id, else by index, else the latest.
    fn find(&self, piece: &Piece) -> Option<usize> {
        let same_id = |call: &Call| piece.id.is_some() && call.id == piece.id;
        let same_index = |call: &Call| piece.index.is_some() && call.index == piece.index;
        let latest = |wanted: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(wanted);
        latest(&|call| same_id(call) && same_index(call))
            .or_else(|| latest(&same_id))
            .or_else(|| latest(&same_index))
            .or_else(|| {
                // An index that is new means a new call, unless nothing but the latest call can be meant.
                let last = self.calls.last()?;
                let unnumbered = piece.index.is_none() || (last.index.is_none() && piece.id.is_none());
                unnumbered.then(|| self.calls.len() - 1)
            })
    }

    /// All calls over the limit share one last entry, so that thousands of them cost nothing.
    fn open(&mut self, piece: &Piece, before: Option<usize>) -> usize {
        let maybe_echo = before.is_some_and(|before| {
            let before = &self.calls[before];
            piece.id.is_none() && piece.arguments.trim().is_empty() && Some(&before.name) == piece.name.as_ref()
        });
        let over_limit = self.calls.len() >= MAX_CALLS;
        self.calls.truncate(MAX_CALLS);
        self.calls.push(Call { over_limit, maybe_echo, ..Call::default() });
        self.calls.len() - 1
    }

    /// Ends the answer. A call may be acted on if the answer was not cut and its arguments are one JSON object.
    pub fn finish(self, may_act: bool) -> Vec<Delta> {
        let mut ids: HashSet<String> = self.calls.iter().filter_map(|call| call.id.clone()).collect();
        let mut used = HashSet::new();
        let calls = self.calls.into_iter().filter(|call| !call.is_echo() && !call.is_nothing());
        calls
            .map(|mut call| {
                let Some(arguments) = call.parse_arguments().filter(|_| may_act) else {
                    return Delta::RejectedToolCall { name: call.name };
                };
                let id = call.id.take().filter(|id| used.insert(id.clone())).unwrap_or_else(|| invent_id(&mut ids));
                Delta::ToolCall(ToolCall { id, name: call.name, arguments })
            })
            .collect()
    }
}

impl Call {
    fn take(&mut self, piece: Piece) {
        self.index = self.index.or(piece.index);
        self.id = self.id.take().or(piece.id);
        let mut repeated = false;
        if let Some(name) = piece.name {
            // Some servers close a call by sending it whole once more.
            repeated = self.nesting.progress() == Progress::Whole && piece.arguments == self.arguments;
            if self.name.is_empty() {
                self.name = name;
            }
        }
        if repeated {
            return;
        }
        self.nesting.feed(piece.arguments.as_bytes());
        self.over_limit |= self.arguments.len() + piece.arguments.len() > MAX_ARGUMENT_BYTES;
        if self.over_limit {
            self.arguments = String::new();
        } else {
            self.arguments.push_str(&piece.arguments);
        }
    }

    fn is_echo(&self) -> bool {
        self.maybe_echo && self.nesting.progress() == Progress::Empty
    }

    /// An id without a name and arguments: nothing was called.
    fn is_nothing(&self) -> bool {
        self.name.is_empty() && self.nesting.progress() == Progress::Empty
    }

    fn parse_arguments(&self) -> Option<serde_json::Map<String, Value>> {
        if self.over_limit || self.name.is_empty() {
            return None;
        }
        match self.nesting.progress() {
            Progress::Empty => Some(serde_json::Map::new()),
            Progress::Whole => serde_json::from_str(&self.arguments).ok(),
            Progress::Open | Progress::Broken => None,
        }
    }
}

/// Whether a piece that seems to belong to `call` begins another one. Only a piece with a name can.
fn opens_another(call: &Call, piece: &Piece) -> bool {
    let Some(name) = &piece.name else { return false };
    if call.name.is_empty() {
        return false;
    }
    if call.name != *name {
        return true;
    }
    // The same name again: repeated on every piece, or a second call of the same tool?
    let differs = |ours: bool, theirs: bool, equal: bool| ours && theirs && !equal;
    let other_index = differs(call.index.is_some(), piece.index.is_some(), call.index == piece.index);
    let other_id = differs(call.id.is_some(), piece.id.is_some(), call.id == piece.id);
    let same_id = call.id.is_some() && call.id == piece.id && !other_index;
    let alone = progress_after(Nesting::default(), piece);
    match call.nesting.progress() {
        Progress::Open if same_id => false,
        Progress::Empty => other_id || other_index,
        Progress::Open if alone == Progress::Empty => other_id || other_index,
        Progress::Open => {
            let breaks = progress_after(call.nesting, piece) == Progress::Broken;
            other_index || breaks || (other_id && alone == Progress::Whole)
        }
        Progress::Whole => !same_id || !(alone == Progress::Empty || piece.arguments == call.arguments),
        Progress::Broken => !same_id && (other_id || other_index || alone != Progress::Broken),
    }
}

fn progress_after(mut nesting: Nesting, piece: &Piece) -> Progress {
    nesting.feed(piece.arguments.as_bytes());
    nesting.progress()
}

/// An id that no call of this answer has.
fn invent_id(ids: &mut HashSet<String>) -> String {
    let mut number = 0;
    loop {
        let id = format!("call_{number}");
        if ids.insert(id.clone()) {
            return id;
        }
        number += 1;
    }
}
