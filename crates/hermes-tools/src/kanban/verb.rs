//! The common shape of the tools of the board: arguments and a function.

use std::sync::Arc;

use hermes_board::Error;
use hermes_secret::{Redactor, Sink};
use serde_json::{Map, Value};

use super::desk::KanbanDesk;
use super::{attach, block, comment, complete, create, heartbeat, link, list, show};
use crate::argument::Argument;
use crate::context::CallContext;
use crate::tool::{Tool, error};

/// Who may use a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Workers and orchestrators.
    All,
    /// Profiles that manage many cards.
    Orchestrators,
}

/// What a tool is, and what it does.
pub(super) struct Verb {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) arguments: &'static [Argument],
    pub(super) audience: Audience,
    pub(super) run: fn(&Call<'_>) -> Result<Map<String, Value>, Refusal>,
}

/// One call.
pub(super) struct Call<'c> {
    pub(super) desk: &'c KanbanDesk,
    pub(super) args: &'c Value,
    pub(super) context: &'c CallContext,
}

impl Call<'_> {
    /// A text argument, masked for the board; a blank one counts as none.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let text = self.args[name]
            .as_str()
            .filter(|text| !text.trim().is_empty())?;
        Some(self.redactor().redact(text).into_owned())
    }

    /// Masks what is stored on the board, where others read it for a long time: values after the
    /// name of a secret are masked too.
    pub(super) fn redactor(&self) -> Redactor {
        self.context.redactor.for_sink(Sink::Variables)
    }
}

/// Why a call was refused, as a sentence with facts.
#[derive(Debug)]
pub(super) struct Refusal {
    message: String,
    facts: Map<String, Value>,
}

impl Refusal {
    /// Adds a fact.
    pub(super) fn with(mut self, name: &str, fact: impl Into<Value>) -> Self {
        self.facts.insert(name.to_owned(), fact.into());
        self
    }

    fn into_result(self) -> Value {
        let mut result = error(self.message);
        if let Value::Object(fields) = &mut result {
            fields.extend(self.facts);
        }
        result
    }
}

impl From<&str> for Refusal {
    fn from(message: &str) -> Self {
        Self::from(message.to_owned())
    }
}

impl From<String> for Refusal {
    fn from(message: String) -> Self {
        Self {
            message,
            facts: Map::new(),
        }
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        // Other hints are about the command line, which agents are not to use.
        let hint = match &error {
            Error::StaleRun { .. }
            | Error::PhantomCards { .. }
            | Error::Artifact { .. }
            | Error::ForeignBoard { .. }
            | Error::ToolsetsAsSkills { .. }
            | Error::SkillWithComma { .. }
            | Error::BadAssignee { .. }
            | Error::ChecksInProgress { .. } => error.hint(),
            _ => None,
        };
        let refusal = match hint {
            Some(hint) => Self::from(format!("{error}; {hint}")),
            None => Self::from(error.to_string()),
        };
        match &error {
            Error::PhantomCards { phantom, .. } => {
                let ids: Vec<&str> = phantom
                    .iter()
                    .map(hermes_board::model::TaskId::as_str)
                    .collect();
                refusal.with("phantom_cards", ids)
            }
            Error::StaleRun { .. } => refusal.with("attempt_over", true),
            _ => refusal,
        }
    }
}

/// A tool of the board.
pub struct KanbanTool {
    desk: Arc<KanbanDesk>,
    verb: &'static Verb,
}

/// All tools of the board.
pub fn kanban_tools(desk: KanbanDesk) -> Vec<KanbanTool> {
    const VERBS: &[&Verb] = &[
        &show::SHOW,
        &list::LIST,
        &create::CREATE,
        &complete::COMPLETE,
        &block::BLOCK,
        &block::UNBLOCK,
        &comment::COMMENT,
        &heartbeat::HEARTBEAT,
        &link::LINK,
        &attach::ATTACH,
        &attach::ATTACH_URL,
        &attach::ATTACHMENTS,
    ];
    let desk = Arc::new(desk);
    VERBS
        .iter()
        .map(|verb| KanbanTool {
            desk: Arc::clone(&desk),
            verb,
        })
        .collect()
}

impl KanbanTool {
    /// Why a worker must not use it, if so.
    fn kept_from_workers(&self) -> Option<&'static str> {
        let kept = self.verb.audience == Audience::Orchestrators && self.desk.worker.is_some();
        kept.then_some("workers manage their own card only")
    }
}

impl Tool for KanbanTool {
    fn name(&self) -> &'static str {
        self.verb.name
    }

    fn toolset(&self) -> &'static str {
        "kanban"
    }

    fn description(&self) -> &'static str {
        self.verb.description
    }

    fn arguments(&self) -> &'static [Argument] {
        self.verb.arguments
    }

    fn unavailable(&self, _: &CallContext) -> Option<String> {
        if let Some(reason) = self.kept_from_workers() {
            return Some(reason.to_owned());
        }
        let wanted = self.desk.worker.is_some() || self.desk.is_orchestrator;
        (!wanted).then(|| {
            "this process is no worker, and the profile's toolsets do not list kanban".to_owned()
        })
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        if let Some(reason) = self.kept_from_workers() {
            return error(format!("{} cannot be used here: {reason}.", self.verb.name));
        }
        let call = Call {
            desk: &self.desk,
            args,
            context,
        };
        match (self.verb.run)(&call) {
            Ok(facts) => {
                let mut result = Map::new();
                result.insert("ok".to_owned(), Value::Bool(true));
                result.extend(facts);
                Value::Object(result)
            }
            Err(refusal) => refusal.into_result(),
        }
    }
}

/// An object from literal JSON.
macro_rules! facts {
    ($($name:literal: $value:expr),* $(,)?) => {{
        let mut facts = serde_json::Map::new();
        $(facts.insert($name.to_owned(), serde_json::json!($value));)*
        facts
    }};
}
pub(super) use facts;
