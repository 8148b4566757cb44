//! The review of a conversation in the background: a copy of it goes to the model once more, which
//! keeps what is worth keeping with the tools for memory and skills.
//!
//! The copy is sent as the conversation is, so that the provider's cache serves it. Nothing of the
//! review is stored but what its tools keep, and it never delays a turn or the end of the program.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use hermes_proc::Wake;
use hermes_providers::{AuxiliaryTask, ErrorClass, Message, ModelRequest, Provider, ToolCall};
use hermes_session::SessionId;
use hermes_tools::{CallContext, call_with_hooks};
use serde_json::Value;

use crate::Agent;
use crate::auxiliary::{Account, cost, record};
use crate::history_repair::sendable;
use crate::message_conversion::to_wire;

/// Most requests of one review.
const MAX_REQUESTS: usize = 16;
/// Tools that a review may call.
const TOOLS: [&str; 4] = ["memory", "skills_list", "skill_view", "skill_manage"];
/// Those of them that keep something.
const KEEPING: [&str; 2] = ["memory", "skill_manage"];

const ABOUT_MEMORY: &str = "Has the user said something about themselves, a preference or a \
    correction that will matter in later conversations? Has something stable been learned about \
    their machines, projects or tools? Keep it with `memory`, unless it is there already.";
const ABOUT_SKILLS: &str = "Was there a way of doing something that took several attempts, or that \
    the user corrected, and that will be needed again? Look with `skills_list` and `skill_view` \
    whether a skill covers it, and change that one with `skill_manage`; create one only for a kind \
    of task, not for this single one.";

/// What a review looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReviewScope {
    pub memory: bool,
    pub skills: bool,
}

/// A review that is to be made.
pub struct ReviewJob {
    provider: Arc<dyn Provider>,
    request: ModelRequest,
    context: CallContext,
    account: Account,
}

/// A review under way.
pub struct PendingReview {
    thread: JoinHandle<()>,
    stop: Arc<Wake>,
}

impl Agent {
    /// A review of the conversation so far. `context` has the tools that it may call; `provider` is
    /// asked instead of that of the conversation, if given.
    pub fn review(
        &self,
        scope: ReviewScope,
        context: CallContext,
        provider: Option<Arc<dyn Provider>>,
        home: PathBuf,
    ) -> ReviewJob {
        let own = || {
            let branch = self.provider.branch();
            branch.unwrap_or_else(|| Arc::clone(&self.provider))
        };
        let messages = self.history.iter();
        let messages = messages.filter_map(|entry| to_wire(&entry.message));
        let prefill = self.settings.prefill.iter().cloned();
        let asked = std::iter::once(Message::user(instructions(scope)));
        let messages = prefill.chain(messages).chain(asked).collect();
        let request = ModelRequest {
            tools: Arc::clone(&self.tools),
            effort: self.settings.effort,
            session_id: Some(self.session.to_string()),
            task: Some(AuxiliaryTask::BackgroundReview),
            ..ModelRequest::new(self.sent_system(), sendable(messages))
        };
        ReviewJob {
            provider: provider.unwrap_or_else(own),
            request,
            context,
            account: Some((home, SessionId::clone(&self.session))),
        }
    }
}

fn instructions(scope: ReviewScope) -> String {
    let questions = [
        scope.memory.then_some(ABOUT_MEMORY),
        scope.skills.then_some(ABOUT_SKILLS),
    ];
    let questions: Vec<&str> = questions.into_iter().flatten().collect();
    format!(
        "[This message is not from the user, who does not see the answer.] Look back at this \
         conversation.\n\n{}\n\nOnly the tools for memory and skills work now. Do not keep progress \
         of the task, failures that will pass, or what can be looked up. If there is nothing to keep, \
         which is the usual case, answer `Nothing to keep.` and call nothing.",
        questions.join("\n\n")
    )
}

impl ReviewJob {
    /// Starts the review in a thread. `tell` is called with what it kept, one line each.
    pub fn start(
        mut self,
        tell: impl FnOnce(&[String]) + Send + 'static,
    ) -> std::io::Result<PendingReview> {
        let stop = Arc::new(Wake::new()?);
        self.context.interrupt = Arc::clone(&stop);
        let interrupt = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("hermes-review".to_owned())
            .spawn(move || {
                let kept = self.run(&interrupt);
                if !kept.is_empty() {
                    tell(&kept);
                }
            })?;
        Ok(PendingReview { thread, stop })
    }

    fn run(mut self, interrupt: &Wake) -> Vec<String> {
        let mut kept = Vec::new();
        for _ in 0..MAX_REQUESTS {
            let response = match self
                .provider
                .complete(&self.request, &mut |_| {}, interrupt)
            {
                Ok(response) => response,
                // A script without a turn for reviews has none.
                Err(error)
                    if matches!(error.class, ErrorClass::Interrupted | ErrorClass::Script) =>
                {
                    break;
                }
                Err(error) => {
                    tracing::warn!(%error, "the conversation was not reviewed");
                    break;
                }
            };
            let task = AuxiliaryTask::BackgroundReview.name();
            record(
                &self.account,
                &cost(&response, &self.provider.route(), task),
            );
            if response.tool_calls.is_empty() || interrupt.is_raised() {
                break;
            }
            self.request.messages.push(response.to_message());
            for call in &response.tool_calls {
                let result = self.call(call, &mut kept);
                self.request
                    .messages
                    .push(Message::tool_result(call, result));
            }
        }
        kept
    }

    fn call(&self, call: &ToolCall, kept: &mut Vec<String>) -> String {
        let name = call.name.as_str();
        if !TOOLS.contains(&name) {
            return hermes_tools::error("Only the tools for memory and skills work in a review.")
                .to_string();
        }
        let arguments: Value = match serde_json::from_str(&call.arguments) {
            Ok(arguments @ Value::Object(_)) => arguments,
            _ => return hermes_tools::error("The arguments are not a JSON object.").to_string(),
        };
        let result = call_with_hooks(name, &arguments, &call.id, &self.context);
        if KEEPING.contains(&name) && result["success"] == true {
            kept.push(line(name, &arguments, &result));
        }
        match result {
            Value::String(text) => text,
            other => other.to_string(),
        }
    }
}

/// What was kept, for the person.
fn line(tool: &str, arguments: &Value, result: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let what = match (tool, text(&arguments["content"])) {
        ("memory", content) if !content.is_empty() => content,
        _ => text(&result["message"]),
    };
    let waits = if result["staged"] == true {
        " (waits for approval)"
    } else {
        ""
    };
    let subject = if tool == "memory" { "memory" } else { "skills" };
    format!("{subject}: {}{waits}", hermes_text::one_line(&what, 160))
}

impl PendingReview {
    /// Whether the review has ended.
    pub fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the review, if it still runs. What it has kept stays.
    pub fn finish(self) {
        self.stop.raise();
        if self.thread.join().is_err() {
            tracing::error!("the review of a conversation panicked");
        }
    }
}
