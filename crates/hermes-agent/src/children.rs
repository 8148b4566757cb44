//! Sub-agents: each is a separate conversation with its own session and terminal, and sees of its
//! parent only the goal.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hermes_config::Config;
use hermes_hooks::{HookEvent, Occasion};
use hermes_proc::{Wake, wait_for_any};
use hermes_providers::{AuxiliaryModels, Effort, OpenError, Provider, ToolSchema};
use hermes_session::{NewSession, SessionId, SessionStore};
use hermes_tools::{
    Argument, CallContext, ChildJob, ChildResult, ChildRunner, ChildStatus, ToolConversation,
    ToolSelection, ToolSpec,
};
use serde_json::{Value, json};

use crate::agent::{Agent, Parts};
use crate::observer::TurnEvent;
use crate::settings::AgentSettings;
use crate::turn::{TurnInput, TurnOutcome, TurnResult};

/// Sets of schemas that conversations share. There are as many as choices of tools.
static SHARED_SCHEMAS: Mutex<Vec<SharedSchemas>> = Mutex::new(Vec::new());
const MOST_SHARED_SCHEMAS: usize = 8;

/// Tools, and what the model is told of them.
type SharedSchemas = (Vec<Arguments>, Arc<[ToolSchema]>);
/// Where the arguments of a tool are declared: by us, or by a server whose text is kept meanwhile.
type Arguments = (&'static [Argument], Option<Arc<Value>>);

/// Tools that sub-agents never have.
const WITHHELD: &[&str] = &[
    "delegate_task",
    "clarify",
    "memory",
    "send_message",
    "execute_code",
    // Only the worker of a card may end it.
    "kanban_complete",
    "kanban_block",
];
/// Wait of the watcher without a timeout.
const UNBOUNDED_WAIT: Duration = Duration::from_hours(1);

/// Settings of sub-agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildLimits {
    /// Maximum requests of one sub-agent.
    pub max_iterations: u32,
    /// Timeout of one sub-agent; `None` for no limit.
    pub timeout: Option<Duration>,
    /// Levels of sub-agents; with 1 they start none themselves.
    pub depth: u32,
    /// How much they think, if not as much as their parent.
    pub effort: Option<Effort>,
    /// Whether one that gets fewer toolsets keeps those of MCP servers.
    pub keeps_mcp: bool,
}

impl ChildLimits {
    /// Reads the settings.
    pub fn resolve(config: &Config) -> Self {
        let number = |key: &str| config.int(key).and_then(|n| u32::try_from(n).ok());
        let seconds = number("delegation.child_timeout_seconds").unwrap_or(0);
        Self {
            max_iterations: number("delegation.max_iterations")
                .filter(|count| *count > 0)
                .unwrap_or(50),
            timeout: (seconds > 0).then(|| Duration::from_secs(u64::from(seconds))),
            depth: number("delegation.max_spawn_depth")
                .filter(|_| config.flag("delegation.orchestrator_enabled"))
                .unwrap_or(1)
                .max(1),
            effort: effort(config.text("delegation.reasoning_effort").trim()),
            keeps_mcp: config.flag("delegation.inherit_mcp_toolsets"),
        }
    }
}

fn effort(text: &str) -> Option<Effort> {
    let found = Effort::parse(&text.to_ascii_lowercase());
    if found.is_none() && !text.is_empty() {
        tracing::warn!("delegation.reasoning_effort: no such level: '{text}'");
    }
    found
}

/// Creates the call context of a sub-agent: that of its parent with a separate terminal.
pub type ChildContextFactory = dyn Fn(&CallContext, &str) -> CallContext + Send + Sync;

/// Runs sub-agents of one conversation.
#[derive(Clone)]
pub struct SubAgentRunner {
    pub provider: Arc<dyn Provider>,
    /// The home whose store has their sessions.
    pub home: PathBuf,
    pub parent: SessionId,
    /// The source of their sessions.
    pub source: String,
    pub settings: AgentSettings,
    pub limits: ChildLimits,
    pub child_context: Arc<ChildContextFactory>,
    /// Models for auxiliary tasks; the main provider if `None`.
    pub auxiliary: Option<Arc<AuxiliaryModels>>,
}

/// Why a sub-agent did not get to work.
#[derive(Debug, thiserror::Error)]
enum NotStarted {
    #[error("the model that `delegation` in config.yaml names cannot be used: {0}")]
    Model(#[from] OpenError),
    #[error(transparent)]
    Store(#[from] crate::Error),
}

impl SubAgentRunner {
    fn run(
        &self,
        id: SessionId,
        job: &ChildJob,
        context: &CallContext,
    ) -> Result<TurnResult, NotStarted> {
        let provider = self.provider_of_child()?;
        let mut own = (self.child_context)(context, id.as_str());
        own.conversation = ToolConversation {
            session_id: Some(id.to_string()),
            judge: context.conversation.judge.clone(),
            hooks: context.conversation.hooks.clone(),
            checkpoints: context
                .conversation
                .checkpoints
                .as_ref()
                .map(|checkpoints| Arc::new(checkpoints.of_child())),
            tool_search: context.conversation.tool_search,
            ..ToolConversation::default()
        };
        if job.may_delegate && self.limits.depth > 1 {
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
        let window = provider.route().context_length;
        let (tools, names) = self.tools_of(job, context, &own, window);
        own.enabled_tools = names;
        let parts = Parts {
            provider,
            auxiliary: self.auxiliary.clone(),
            store: SessionStore::open(&self.home)?,
            tools,
            settings: AgentSettings {
                max_iterations: self.limits.max_iterations,
                effort: self.limits.effort.or(self.settings.effort),
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
        let mut silent = |_: TurnEvent<'_>| {};
        let result = agent.turn(TurnInput::text(job.goal.clone()), &mut silent);
        agent.close()?;
        Ok(result)
    }
}

impl SubAgentRunner {
    /// The model of `delegation`, or that of the parent.
    fn provider_of_child(&self) -> Result<Arc<dyn Provider>, OpenError> {
        let models = self.auxiliary.as_ref();
        let delegated = models.map(|models| models.open_delegated()).transpose()?;
        let provider = delegated.flatten();
        let provider = provider.unwrap_or_else(|| Arc::clone(&self.provider));
        // A fallback of the child must not change the route of its parent and siblings, but it starts
        // at their current route.
        Ok(provider.branch().unwrap_or(provider))
    }

    /// What a sub-agent is told of, and what it may call.
    fn tools_of(
        &self,
        job: &ChildJob,
        parent: &CallContext,
        own: &CallContext,
        window: u64,
    ) -> (Arc<[ToolSchema]>, Vec<String>) {
        let mut names = job.toolsets.clone();
        if names.is_empty() {
            names.push("all".to_owned());
        }
        let selection = ToolSelection {
            names,
            // What the parent may call decides below.
            adds_servers: self.limits.keeps_mcp,
            ..ToolSelection::default()
        };
        let may_delegate = own.conversation.children.is_some();
        let allowed = |name: &str| {
            let withheld = WITHHELD.contains(&name) && !(may_delegate && name == "delegate_task");
            parent.may_call(name) && !withheld
        };
        let mut offer = own.registry.offer(&selection, own);
        // What a memory service knows is the parent's business.
        offer
            .tools
            .retain(|spec| allowed(spec.name) && spec.toolset != "memory");
        offer.defer(&own.conversation.tool_search, window);
        let names = offer.names();
        (tool_schemas(offer.tools), names)
    }

    /// Lets hooks know that a sub-agent has ended.
    fn tell_end(&self, id: &SessionId, result: &ChildResult, context: &CallContext) {
        let event = HookEvent::SubagentStop;
        let hooks = context.conversation.hooks.as_ref();
        let Some(hooks) = hooks.filter(|hooks| hooks.has(event)) else {
            return;
        };
        hooks.tell(&Occasion {
            event,
            tool: None,
            session: self.parent.as_str(),
            cwd: &context.session.cwd(),
            extra: hooks.with_platform(json!({
                "child_session_id": id.as_str(),
                "child_role": null,
                "child_summary": result.summary,
                "child_status": result.status,
                "duration_ms": u64::try_from(result.duration.as_millis()).unwrap_or(u64::MAX),
            })),
            interrupt: Some(&context.interrupt),
        });
    }
}

impl ChildRunner for SubAgentRunner {
    fn run_child(&self, job: &ChildJob, context: &CallContext) -> ChildResult {
        let begun = Instant::now();
        let failed = |why: String| ChildResult {
            duration: begun.elapsed(),
            model: self.provider.route().model,
            ..ChildResult::failed(why, "not_started")
        };
        let (interrupt, finished) = match (Wake::new(), Wake::new()) {
            (Ok(interrupt), Ok(finished)) => (Arc::new(interrupt), finished),
            (Err(error), _) | (_, Err(error)) => {
                return failed(format!("could not create a file descriptor: {error}"));
            }
        };
        let own = CallContext {
            interrupt: Arc::clone(&interrupt),
            ..context.clone()
        };
        let id = SessionId::generate();
        let timeout = self.limits.timeout;
        let (result, timed_out) = std::thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(&context.interrupt, &finished, timeout, &interrupt));
            // Also after a panic: the watcher waits for the end.
            let result = hermes_telemetry::contained(|| self.run(id.clone(), job, &own));
            finished.raise();
            (result, watcher.join().unwrap_or(false))
        });
        let result = match result {
            Ok(Ok(result)) => child_result(result, timed_out, begun),
            Ok(Err(error)) => failed(error.to_string()),
            Err(_) => failed("internal error; see the log".to_owned()),
        };
        self.tell_end(&id, &result, context);
        result
    }
}

/// Forwards the parent's interrupt and interrupts the child at its timeout. Returns whether it timed
/// out.
fn watch(parent: &Wake, finished: &Wake, timeout: Option<Duration>, child: &Wake) -> bool {
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    loop {
        let left = deadline.map_or(UNBOUNDED_WAIT, |at| {
            at.saturating_duration_since(Instant::now())
        });
        match wait_for_any(&[finished, parent], left) {
            Some(0) => return false,
            None if deadline.is_none_or(|at| at > Instant::now()) => {}
            woken => {
                child.raise();
                return woken.is_none();
            }
        }
    }
}

/// Tools as a model is told of them.
pub fn tool_schemas<'a>(specs: impl IntoIterator<Item = ToolSpec<'a>>) -> Arc<[ToolSchema]> {
    let specs: Vec<ToolSpec<'a>> = specs.into_iter().collect();
    let mut shared = SHARED_SCHEMAS
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let known = shared.iter().find(|known| is_same(known, &specs));
    if let Some((_, schemas)) = known {
        return Arc::clone(schemas);
    }
    let schemas = specs.iter().map(|spec| ToolSchema {
        name: spec.name.to_owned(),
        description: spec.description.to_owned(),
        parameters: spec.schema(),
    });
    let schemas: Arc<[ToolSchema]> = schemas.collect();
    if shared.len() >= MOST_SHARED_SCHEMAS {
        shared.remove(0);
    }
    let arguments = specs
        .iter()
        .map(|spec| (spec.arguments, spec.given_schema.cloned()));
    shared.push((arguments.collect(), Arc::clone(&schemas)));
    schemas
}

fn is_same((arguments, schemas): &SharedSchemas, specs: &[ToolSpec<'_>]) -> bool {
    let same_arguments =
        |(own, given): &Arguments, spec: &ToolSpec<'_>| match (given, spec.given_schema) {
            (None, None) => std::ptr::eq(*own, spec.arguments),
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, Some(_)) | (Some(_), None) => false,
        };
    specs.len() == schemas.len()
        && specs.iter().zip(schemas.iter()).all(|(spec, schema)| {
            spec.name == schema.name && spec.description == schema.description
        })
        && specs
            .iter()
            .zip(arguments)
            .all(|(spec, arguments)| same_arguments(arguments, spec))
}

fn prompt(job: &ChildJob, cwd: &str) -> String {
    let mut text = format!(
        "You are a sub-agent. Another agent has given you one task and sees nothing but your final \
         answer. Do the task with your tools, check the result, and end with a report: what you \
         did, what you found, which files you changed, what is left open. Nobody can be asked.\n\n\
         Working directory: {cwd}"
    );
    if let Some(context) = &job.context {
        text.push_str("\n\n# What you need to know\n\n");
        text.push_str(context.trim());
    }
    text
}

fn child_result(result: TurnResult, timed_out: bool, begun: Instant) -> ChildResult {
    let status = match result.outcome {
        TurnOutcome::Completed => ChildStatus::Completed,
        _ if timed_out => ChildStatus::TimedOut,
        TurnOutcome::Interrupted => ChildStatus::Interrupted,
        TurnOutcome::Partial | TurnOutcome::Failed => ChildStatus::Failed,
    };
    let why = result.failure.map(|failure| failure.message);
    ChildResult {
        status,
        summary: match (result.final_response, why) {
            (Some(text), Some(why)) => format!("{text}\n\n[{why}]"),
            (Some(text), None) => text,
            (None, Some(why)) => why,
            (None, None) => "The sub-agent gave no answer.".to_owned(),
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
