//! The condition of a script turn.

use hermes_config::yaml::Node;
use regex::Regex;

use super::reader::{ScriptProblem, fields, text, unknown};
use crate::message::{Message, Role};
use crate::request::{AuxiliaryTask, ModelRequest};

/// Conditions on a request, all of which must hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Condition {
    /// Found in the last message.
    last: Option<Pattern>,
    /// Found in the last message of the user.
    user: Option<Pattern>,
    /// Found anywhere in the conversation or the system prompt.
    seen: Option<Pattern>,
    /// Found nowhere in it.
    unseen: Option<Pattern>,
    /// The last message is the result of this tool.
    tool: Option<String>,
    /// Number of the user message, from 1.
    turn: Option<u64>,
    /// Number of the request for that message, from 1.
    step: Option<u64>,
    /// The auxiliary task; none for the conversation itself.
    task: Option<AuxiliaryTask>,
}

/// A text to look for: plain, or a regular expression between slashes.
#[derive(Debug, Clone)]
enum Pattern {
    Plain(String),
    Regex(Regex),
}

/// Groups captured by the expressions, for `${name}`.
pub(super) type CapturedGroups = Vec<(String, String)>;

impl Condition {
    pub(super) fn read(node: &Node) -> Result<Self, ScriptProblem> {
        if !node.is_map() {
            return Ok(Self {
                last: Some(Pattern::read(node, "match")?),
                ..Self::default()
            });
        }
        let known = [
            "last", "user", "seen", "unseen", "tool", "turn", "step", "task",
        ];
        let fields = fields(node, "`match`", &known)?;
        let pattern = |key| {
            fields
                .get(key)
                .map(|node| Pattern::read(node, key))
                .transpose()
        };
        Ok(Self {
            last: pattern("last")?,
            user: pattern("user")?,
            seen: pattern("seen")?,
            unseen: pattern("unseen")?,
            tool: fields.text("tool")?,
            turn: fields.whole("turn")?,
            step: fields.whole("step")?,
            task: fields
                .text("task")?
                .map(|name| auxiliary_task(node, &name))
                .transpose()?,
        })
    }

    /// The captured groups, if the condition holds.
    pub(super) fn holds(&self, request: &ModelRequest) -> Option<CapturedGroups> {
        if self.task != request.task {
            return None;
        }
        let mut captures = CapturedGroups::new();
        let messages = &request.messages;
        let last = messages.last();
        if let Some(turn) = self.turn
            && turn != count(messages, Role::User)
        {
            return None;
        }
        if let Some(step) = self.step
            && step != 1 + count(since_user(messages), Role::Assistant)
        {
            return None;
        }
        if let Some(tool) = &self.tool {
            let answered = last.filter(|message| message.role == Role::Tool);
            answered.filter(|message| message.name.as_ref() == Some(tool))?;
        }
        if let Some(pattern) = &self.last {
            pattern.find(&last?.content.to_text(), &mut captures)?;
        }
        if let Some(pattern) = &self.user {
            let user = messages
                .iter()
                .rev()
                .find(|message| message.role == Role::User)?;
            pattern.find(&user.content.to_text(), &mut captures)?;
        }
        if let Some(pattern) = &self.seen {
            pattern.find_anywhere(request, &mut captures)?;
        }
        if let Some(pattern) = &self.unseen
            && pattern
                .find_anywhere(request, &mut CapturedGroups::new())
                .is_some()
        {
            return None;
        }
        Some(captures)
    }
}

impl Pattern {
    fn read(node: &Node, key: &str) -> Result<Self, ScriptProblem> {
        let text = text(node, key)?;
        let inner = text
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'))
            .filter(|inner| !inner.is_empty());
        let Some(inner) = inner else {
            return Ok(Self::Plain(text));
        };
        match Regex::new(inner) {
            Ok(regex) => Ok(Self::Regex(regex)),
            Err(error) => {
                // The last line of a regex error is the reason; the others draw the position.
                let shown = error.to_string();
                let reason = shown.lines().last().unwrap_or_default().trim().to_owned();
                Err(ScriptProblem::new(
                    node,
                    format!("`{key}` is not a regular expression: {reason}"),
                ))
            }
        }
    }

    fn find(&self, text: &str, captures: &mut CapturedGroups) -> Option<()> {
        match self {
            Self::Plain(wanted) => text.contains(wanted.as_str()).then_some(()),
            Self::Regex(regex) => {
                let found = regex.captures(text)?;
                for (index, name) in regex.capture_names().enumerate() {
                    let Some(group) = found.get(index) else {
                        continue;
                    };
                    captures.push((index.to_string(), group.as_str().to_owned()));
                    captures.extend(name.map(|name| (name.to_owned(), group.as_str().to_owned())));
                }
                Some(())
            }
        }
    }

    fn find_anywhere(&self, request: &ModelRequest, captures: &mut CapturedGroups) -> Option<()> {
        let newest_first = request.messages.iter().rev();
        newest_first
            .map(|message| message.content.to_text())
            .find_map(|text| self.find(&text, captures))
            .or_else(|| self.find(&request.system, captures))
    }
}

fn auxiliary_task(node: &Node, name: &str) -> Result<AuxiliaryTask, ScriptProblem> {
    let names = AuxiliaryTask::ALL.iter().map(|task| task.name());
    AuxiliaryTask::parse(name).ok_or_else(|| unknown(node, "auxiliary task", name, names))
}

fn since_user(messages: &[Message]) -> &[Message] {
    let user = messages
        .iter()
        .rposition(|message| message.role == Role::User);
    messages
        .get(user.map_or(0, |index| index + 1)..)
        .unwrap_or_default()
}

pub(super) fn count(messages: &[Message], role: Role) -> u64 {
    let found = messages.iter().filter(|message| message.role == role);
    u64::try_from(found.count()).unwrap_or(u64::MAX)
}
