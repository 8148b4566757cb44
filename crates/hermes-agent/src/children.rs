//! Sub-agents: each a conversation of its own, in a session and a terminal of its own, that sees
//! nothing of the one that started it but its goal.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_config::Config;
use hermes_proc::{Wake, wait_for_any};
use hermes_providers::{Provider, SideModels, ToolSchema};
use hermes_session::{NewSession, SessionId, SessionStore, SystemClock};
use hermes_tools::{
    CallContext, ChildJob, ChildResult, ChildRole, ChildRunner, ChildStatus, Conversation,
    ToolSelection,
};
use serde_json::json;

use crate::agent::{Agent, Parts};
use crate::error::Result;
use crate::observer::Silent;
use crate::settings::AgentSettings;
use crate::turn::{Outcome, TurnInput, TurnResult};

/// Tools that a sub-agent never has.
const WITHHELD: &[&str] = &[
    "delegate_task",
    "clarify",
    "memory",
    "send_message",
    "execute_code",
    // A card is ended by the worker it was given to, which looks after it until then.
    "kanban_complete",
    "kanban_block",
];
/// Requests of a sub-agent where nothing else is said.
const MAX_ITERATIONS: u32 = 50;
/// How long a watcher sleeps when nothing bounds the time.
const LONG: Duration = Duration::from_hours(1);

/// Limits of sub-agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildLimits {
    /// Requests of one.
    pub max_iterations: u32,
    /// How long one may take; `None` for as long as it likes.
    pub timeout: Option<Duration>,
    /// Generations of them; one means that they start none themselves.
    pub depth: u32,
}

impl ChildLimits {
    /// What the settings say.
    pub fn resolve(config: &Config) -> Self {
        let number = |key: &str| config.int(key).and_then(|n| u32::try_from(n).ok());
        let seconds = number("delegation.child_timeout_seconds").unwrap_or(0);
        Self {
            max_iterations: number("delegation.max_iterations")
                .filter(|count| *count > 0)
                .unwrap_or(MAX_ITERATIONS),
            timeout: (seconds > 0).then(|| Duration::from_secs(u64::from(seconds))),
            depth: number("delegation.max_spawn_depth").unwrap_or(1).max(1),
        }
    }
}

/// Gives the surroundings of a sub-agent's calls: those of its parent, with a terminal of its own.
pub type ChildPlaces = dyn Fn(&CallContext, &str) -> CallContext + Send + Sync;

/// Runs sub-agents of one conversation.
#[derive(Clone)]
pub struct Children {
    /// Who answers them.
    pub provider: Arc<dyn Provider>,
    /// Home whose store keeps their sessions.
    pub home: PathBuf,
    /// The session that starts them.
    pub parent: SessionId,
    /// Where sessions of this kind are filed.
    pub source: String,
    /// Settings of the conversation.
    pub settings: AgentSettings,
    /// Their limits.
    pub limits: ChildLimits,
    /// Where they work.
    pub places: Arc<ChildPlaces>,
    /// Who does their side tasks; the one that answers if `None`.
    pub side: Option<Arc<SideModels>>,
}

impl Children {
    fn run(&self, job: &ChildJob, context: &CallContext) -> Result<TurnResult> {
        let id = SessionId::generate(&SystemClock);
        // A child that finds its route dead must not lead its parent or its siblings astray, and has
        // no need to find out what they know already.
        let provider = self.provider.branch();
        let provider = provider.unwrap_or_else(|| Arc::clone(&self.provider));
        let mut own = (self.places)(context, id.as_str());
        own.conversation = Conversation {
            session_id: Some(id.to_string()),
            judge: context.conversation.judge.clone(),
            ..Conversation::default()
        };
        if job.role == ChildRole::Orchestrator && self.limits.depth > 1 {
            own.conversation.children = Some(Arc::new(Self {
                provider: Arc::clone(&provider),
                parent: id.clone(),
                limits: ChildLimits {
                    depth: self.limits.depth - 1,
                    ..self.limits
                },
                ..self.clone()
            }));
        }
        let tools = tools_of(job, context, &own);
        own.enabled_tools = tools.iter().map(|tool| tool.name.clone()).collect();
        let parts = Parts {
            provider,
            side: self.side.clone(),
            store: SessionStore::open(&self.home)?,
            tools,
            settings: AgentSettings {
                max_iterations: self.limits.max_iterations,
                ..self.settings.clone()
            },
            stop_check: None,
            context: own,
        };
        let route = parts.provider.route();
        let new = NewSession {
            source: self.source.clone(),
            model: Some(route.model),
            model_config: Some(json!({
                "max_iterations": self.limits.max_iterations,
                "_delegate_from": self.parent.as_str(),
            })),
            parent: Some(self.parent.clone()),
            cwd: Some(parts.context.session.cwd().display().to_string()),
            ..NewSession::default()
        };
        let prompt = prompt(job, &parts.context.session.cwd().display().to_string());
        let mut agent = Agent::begin(parts, id, new, &prompt);
        let result = agent.turn(TurnInput::text(job.goal.clone()), &mut Silent);
        agent.close()?;
        Ok(result)
    }
}

impl ChildRunner for Children {
    fn run_child(&self, job: &ChildJob, context: &CallContext) -> ChildResult {
        let begun = Instant::now();
        let (interrupt, finished) = match (Wake::new(), Wake::new()) {
            (Ok(interrupt), Ok(finished)) => (Arc::new(interrupt), finished),
            (Err(error), _) | (_, Err(error)) => {
                return failed(self, begun, format!("no file descriptor is left: {error}"));
            }
        };
        let own = CallContext {
            interrupt: Arc::clone(&interrupt),
            ..context.clone()
        };
        let timeout = self.limits.timeout;
        let (result, timed_out) = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(&context.interrupt, &finished, timeout, &interrupt));
            // The watcher waits for the end, so a bug must not skip it.
            let result = hermes_telemetry::contained(|| self.run(job, &own));
            finished.raise();
            (result, watcher.join().unwrap_or(false))
        });
        match result {
            Ok(Ok(result)) => told(result, timed_out, begun),
            Ok(Err(error)) => failed(self, begun, error.to_string()),
            Err(_) => failed(self, begun, "a bug; the log has the details".to_owned()),
        }
    }
}

/// Passes the parent's interrupt on and ends a sub-agent that takes too long; says whether it did.
fn watch(parent: &Wake, finished: &Wake, timeout: Option<Duration>, child: &Wake) -> bool {
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        let left = deadline.map_or(LONG, |at| at.saturating_duration_since(Instant::now()));
        match wait_for_any(&[finished, parent], left) {
            Some(0) => return false,
            Some(_) => {
                child.raise();
                return false;
            }
            None if deadline.is_some_and(|at| at <= Instant::now()) => {
                child.raise();
                return true;
            }
            None => {}
        }
    }
}

fn tools_of(job: &ChildJob, parent: &CallContext, own: &CallContext) -> Arc<[ToolSchema]> {
    let all = vec!["all".to_owned()];
    let selection = ToolSelection {
        names: if job.toolsets.is_empty() {
            all
        } else {
            job.toolsets.clone()
        },
        ..ToolSelection::default()
    };
    let may_delegate = own.conversation.children.is_some();
    let allowed = |name: &str| {
        let of_parent =
            parent.enabled_tools.is_empty() || parent.enabled_tools.iter().any(|tool| tool == name);
        let withheld = WITHHELD.contains(&name) && !(may_delegate && name == "delegate_task");
        of_parent && !withheld
    };
    let offer = own.registry.offer(&selection, own);
    offer
        .tools
        .into_iter()
        .filter(|tool| allowed(tool.name))
        .map(|tool| ToolSchema {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            parameters: tool.schema,
        })
        .collect()
}

fn prompt(job: &ChildJob, cwd: &str) -> String {
    let mut text = format!(
        "You are a sub-agent. Another agent has given you one task and sees nothing but your final \
         answer. Do the task with your tools, check the result, and end with a report: what you \
         did, what you found, which files you changed, what is left open. Nobody can be asked.\n\n\
         Working directory: {cwd}"
    );
    if let Some(context) = job
        .context
        .as_deref()
        .filter(|text| !text.trim().is_empty())
    {
        text.push_str("\n\n# What you need to know\n\n");
        text.push_str(context.trim());
    }
    text
}

fn told(result: TurnResult, timed_out: bool, begun: Instant) -> ChildResult {
    let status = match result.outcome {
        Outcome::Completed => ChildStatus::Completed,
        _ if timed_out => ChildStatus::TimedOut,
        Outcome::Interrupted => ChildStatus::Interrupted,
        Outcome::Partial | Outcome::Failed => ChildStatus::Failed,
    };
    let why = result.failure.map(|failure| failure.message);
    ChildResult {
        status,
        summary: match (result.final_response, why) {
            (Some(text), Some(why)) => format!("{text}\n\n[{why}]"),
            (Some(text), None) => text,
            (None, Some(why)) => why,
            (None, None) => "There is no answer.".to_owned(),
        },
        api_calls: result.api_calls,
        duration: begun.elapsed(),
        model: result.route.model,
        exit_reason: result.exit_reason.name(),
        input_tokens: result.usage.prompt(),
        output_tokens: result.usage.output,
        tool_trace: result.tool_trace,
    }
}

fn failed(children: &Children, begun: Instant, why: String) -> ChildResult {
    ChildResult {
        status: ChildStatus::Failed,
        summary: why,
        api_calls: 0,
        duration: begun.elapsed(),
        model: children.provider.route().model,
        exit_reason: "not_started".to_owned(),
        input_tokens: 0,
        output_tokens: 0,
        tool_trace: Vec::new(),
    }
}
