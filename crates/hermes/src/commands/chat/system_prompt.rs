//! The system prompt of a conversation from the command line: which files count, and what is known
//! of the place it works in.

use std::sync::Arc;

use hermes_agent::prompt::{Place, PromptParts, assemble};
use hermes_agent::{Agent, AgentSettings, Parts, PromptSource};
use hermes_board::boards::BoardHome;
use hermes_providers::Provider;
use hermes_session::SessionId;
use hermes_tools::CallContext;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::wishes::Wishes;
use crate::context::Context;
use crate::toolbox::Toolbox;

/// Most characters of a context file where nothing else is said.
const FILE_CHARS: usize = 20_000;

/// The parts of a conversation that its prompt speaks of.
pub(super) struct Subject<'a> {
    pub(super) call: &'a CallContext,
    pub(super) provider: &'a Arc<dyn Provider>,
    tools: Vec<String>,
}

impl<'a> Subject<'a> {
    /// A conversation about to begin.
    pub(super) fn parts(parts: &'a Parts) -> Self {
        Self {
            call: &parts.context,
            provider: &parts.provider,
            tools: parts.tool_names(),
        }
    }

    /// One that begins anew.
    pub(super) fn agent(agent: &'a Agent) -> Self {
        Self {
            call: agent.context(),
            provider: agent.provider(),
            tools: agent.tool_names(),
        }
    }
}

/// What the prompt is made of. `notes` are added to what the settings say. Reads no file.
pub(super) fn of(
    subject: Subject<'_>,
    id: &SessionId,
    wishes: &Wishes,
    toolbox: &Toolbox,
    notes: Vec<String>,
    context: &Context,
) -> PromptParts {
    let config = context.config();
    let call = subject.call;
    let cwd = call.session.cwd();
    let is_elsewhere = toolbox.elsewhere().is_some();
    let route = subject.provider.route();
    let file_chars = config
        .int("context_file_max_chars")
        .and_then(|count| usize::try_from(count).ok());
    let text = |key: &str| match config.text(key).trim() {
        "" => None,
        text => Some(text.to_owned()),
    };
    let files_count = !wishes.ignore_rules;
    let board = BoardHome::resolve(&context.env, &context.location);
    PromptParts {
        soul: files_count.then(|| context.location.home.join("SOUL.md")),
        project: (files_count && !is_elsewhere).then(|| cwd.clone()),
        file_chars: file_chars.unwrap_or(FILE_CHARS),
        tools: subject.tools,
        has_card: board.worker_task().is_some(),
        place: Place {
            system: if is_elsewhere {
                String::new()
            } else {
                system()
            },
            home: if is_elsewhere {
                String::new()
            } else {
                call.child_home.display().to_string()
            },
            cwd: cwd.display().to_string(),
            is_elsewhere,
        },
        profile: context.current.as_ref().map(ToString::to_string),
        platform: wishes.source.clone(),
        platform_hint: text(&format!("platform_hints.{}", wishes.source)),
        environment_hint: text("agent.environment_hint"),
        tool_use_enforcement: config
            .get("agent.tool_use_enforcement")
            .cloned()
            .unwrap_or(Value::Null),
        notes,
        date: today(&context.zone().resolve()),
        session_id: wishes.pass_session_id.then(|| id.to_string()),
        model: route.model,
        provider: route.provider,
    }
}

/// Puts the prompt together again on a later day.
pub(super) fn again(parts: PromptParts, context: &Context) -> Box<PromptSource> {
    let zone = context.zone().resolve();
    Box::new(move || {
        assemble(&PromptParts {
            date: today(&zone),
            ..parts.clone()
        })
    })
}

/// What a session records of its settings.
pub(super) fn model_config(settings: &AgentSettings, context: &Context) -> Value {
    let config = context.config();
    let reasoning = match config.text("agent.reasoning_effort").trim() {
        "" => Value::Null,
        "none" => json!({"enabled": false}),
        effort => json!({"enabled": true, "effort": effort}),
    };
    json!({
        "max_iterations": settings.max_iterations,
        "reasoning_config": reasoning,
        "max_tokens": config.int("model.max_tokens"),
    })
}

fn system() -> String {
    let names = rustix::system::uname();
    format!(
        "{} {} ({})",
        names.sysname().to_string_lossy(),
        names.release().to_string_lossy(),
        names.machine().to_string_lossy()
    )
}

fn today(zone: &TimeZone) -> String {
    let now = jiff::Timestamp::now().to_zoned(zone.clone());
    now.strftime("%A, %B %d, %Y").to_string()
}
