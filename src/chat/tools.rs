//! The tools: reads run now, a write becomes a proposal. Whatever the model calls, nothing here changes a check.

use serde_json::{Value, json};

use super::Chat;
use super::prompt::Prompts;
use super::transcript::ToolResult;
use super::turn::Job;
use crate::accounts;
use crate::actions::propose::{Place, propose};
use crate::actions::undo::{find_last_edit, undo};
use crate::actions::{Action, MAX_PER_TURN};
use crate::checks::CheckError;
use crate::checks::read;
use crate::checks::tools::{ReadKind, Tool, tool_schema};
use crate::db::DbError;
use crate::http::Caller;
use crate::ids::{ConversationId, ConversationRef, UserId};
use crate::limits;
use crate::llm::{Message, ToolCall, ToolSpec};

/// What is offered to the model: nothing for visitors.
pub fn specs(prompts: &Prompts, caller: &Caller) -> Vec<ToolSpec> {
    let spec = |tool: Tool| ToolSpec {
        name: tool.name(),
        description: prompts.tool(tool.name()).to_owned(),
        parameters: tool_schema(tool),
    };
    match caller {
        Caller::User(_) => Tool::ALL.into_iter().map(spec).collect(),
        Caller::Anonymous { .. } => Vec::new(),
    }
}

/// Whether the model has been sent ping bodies: text that neither the owner nor this program wrote.
pub fn holds_foreign_text(messages: &[Message]) -> bool {
    let has_body = |ping: &Value| ping["body"].as_str().is_some_and(|body| !body.is_empty());
    let of_why = |why: &Value| has_body(&why["last_ping"]) || has_body(&why["before"]["last_ping"]);
    messages.iter().any(|message| match message {
        Message::Tool { content, .. } => {
            content["recent_pings"].as_array().is_some_and(|pings| pings.iter().any(has_body))
                || of_why(&content["why"])
        }
        Message::User(_) | Message::Assistant { .. } => false,
    })
}

/// What a turn's tool calls share.
#[derive(Debug)]
pub struct Toolbox {
    caller: Caller,
    conversation: ConversationRef,
    conversation_id: ConversationId,
    proposed: usize,
    read_foreign_text: bool,
    /// Whether the client has approvals of its own.
    native_approvals: bool,
}

/// What a call came to.
#[derive(Debug)]
pub struct Executed {
    /// For the transcript.
    pub result: ToolResult,
    /// The action that it proposed.
    pub action: Option<Action>,
}

impl Executed {
    fn error(message: impl Into<String>) -> Self {
        Self { result: ToolResult::Error(message.into()), action: None }
    }
}

impl Toolbox {
    /// For one turn. `read_foreign_text` if the history holds results with other people's text.
    pub fn new(job: &Job, read_foreign_text: bool) -> Self {
        Self {
            caller: job.caller.clone(),
            conversation: job.conversation.clone(),
            conversation_id: job.conversation_id.clone(),
            proposed: 0,
            read_foreign_text,
            native_approvals: job.native_approvals,
        }
    }

    /// Runs a read, or makes a proposal of a write. Every failure is an answer for the model.
    pub async fn execute(&mut self, chat: &Chat, call: &ToolCall) -> Executed {
        // Decided by who calls, whatever tools were offered.
        let Some(owner) = self.caller.user().cloned() else {
            return Executed::error("Visitors have no tools. They must sign in first.");
        };
        let Some(tool) = Tool::named(&call.name) else {
            return Executed::error("There is no such tool.");
        };
        let executed = match tool {
            Tool::Read(kind) => self.read(chat, &owner, kind, call).await,
            Tool::Propose(_) | Tool::Undo if self.proposed >= MAX_PER_TURN => {
                return Executed::error(format!("At most {MAX_PER_TURN} changes can be proposed in one message."));
            }
            Tool::Propose(kind) => {
                let proposed = propose(&chat.db, &chat.clock, self.place(chat, owner), kind, call.arguments.clone());
                proposed.await.map(|action| self.card(action))
            }
            Tool::Undo => {
                let proposed = undo(&chat.db, &chat.clock, self.place(chat, owner), call.arguments.clone());
                proposed.await.map(|action| self.card(action))
            }
        };
        executed.unwrap_or_else(|error| match error {
            CheckError::Refused(refusal) => Executed::error(refusal.message),
            CheckError::Db(error) => {
                tracing::error!(tool = tool.name(), %error, "a tool failed");
                Executed::error("This is not possible at the moment. Nothing has changed.")
            }
        })
    }

    /// Where this turn's proposals are made.
    fn place(&self, chat: &Chat, owner: UserId) -> Place {
        Place {
            owner,
            conversation: self.conversation.clone(),
            conversation_id: self.conversation_id.clone(),
            ttl: chat.config.action_ttl,
            read_foreign_text: self.read_foreign_text,
        }
    }

    /// What the proposing call is answered with.
    fn card(&mut self, action: Action) -> Executed {
        self.proposed += 1;
        let id = action.id.clone();
        let result = if self.native_approvals { ToolResult::Awaiting(id) } else { ToolResult::Proposed(id) };
        Executed { result, action: Some(action) }
    }

    async fn read(
        &mut self,
        chat: &Chat,
        owner: &UserId,
        kind: ReadKind,
        call: &ToolCall,
    ) -> Result<Executed, CheckError> {
        let mut found = read::read(&chat.db, chat.clock.now(), owner, kind, call.arguments.clone()).await?;
        self.read_foreign_text |= found.has_foreign_text;
        if kind == ReadKind::GetAccount {
            found.result["messages"] = self.message_quota(chat).await?;
        }
        if let Some((check, version)) = &found.about {
            found.result["last_edit"] = json!(find_last_edit(&chat.db, owner, check, *version).await?);
        }
        Ok(Executed { result: ToolResult::Output(found.result), action: None })
    }

    async fn message_quota(&self, chat: &Chat) -> Result<Value, DbError> {
        let charges = accounts::charges(&chat.config, &self.caller);
        let standings = limits::standings(&chat.db, chat.clock.as_ref(), &charges).await?;
        let quota = standings.first().map(|standing| {
            json!({"limit": standing.policy.limit, "window_seconds": standing.policy.window.as_secs(),
                "remaining": standing.remaining})
        });
        Ok(quota.unwrap_or(Value::Null))
    }
}
