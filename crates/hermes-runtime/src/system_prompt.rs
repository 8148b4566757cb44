//! The system prompt of a conversation: which files count, and what is known of its backend.

use std::sync::Arc;

use hermes_agent::prompt::{CodingRules, PromptEnvironment, PromptParts, SkillsIndex, assemble};
use hermes_agent::{Agent, AgentSettings, Parts, PromptSource};
use hermes_board::WorkerVariables;
use hermes_config::vars;
use hermes_providers::Provider;
use hermes_session::SessionId;
use hermes_session::memory::MemoryFiles;
use hermes_tools::CallContext;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use crate::coding_context::CodingContext;
use crate::context::Context;
use crate::python_remark::python_remark;
use crate::request::ConversationRequest;
use crate::skills::{cache_file, offer_facts, profile_skills};
use crate::tool_set::ToolSet;

/// Most characters of a context file unless configured.
const FILE_CHARS: usize = 20_000;

/// The parts of a conversation that its prompt speaks of.
pub(crate) struct Subject<'a> {
    pub(crate) call: &'a CallContext,
    pub(crate) provider: &'a Arc<dyn Provider>,
    tools: Vec<String>,
}

impl<'a> Subject<'a> {
    /// A conversation about to open.
    pub(crate) fn parts(parts: &'a Parts) -> Self {
        Self {
            call: &parts.context,
            provider: &parts.provider,
            tools: parts.context.enabled_tools.clone(),
        }
    }

    /// An open conversation.
    pub(crate) fn agent(agent: &'a Agent) -> Self {
        Self {
            call: agent.context(),
            provider: agent.provider(),
            tools: agent.context().enabled_tools.clone(),
        }
    }
}

/// The parts of the prompt. `notes` are added to those of the settings. Reads no file.
pub(crate) fn parts(
    subject: Subject<'_>,
    id: &SessionId,
    request: &ConversationRequest,
    tools: &ToolSet,
    notes: Vec<String>,
    context: &Context,
) -> PromptParts {
    let config = context.config();
    let call = subject.call;
    let cwd = call.session.cwd();
    let is_remote = tools.remote().is_some();
    let route = subject.provider.route();
    let file_chars = config
        .int("context_file_max_chars")
        .and_then(|count| usize::try_from(count).ok());
    let text = |key: &str| match config.text(key).trim() {
        "" => None,
        text => Some(text.to_owned()),
    };
    let files_count = !request.ignore_rules;
    let coding = CodingContext::detect(request, &cwd, is_remote, context);
    let has_terminal = subject.tools.iter().any(|tool| tool == "terminal");
    let is_probed = config.flag("agent.environment_probe") && has_terminal && !is_remote;
    PromptParts {
        soul: files_count.then(|| context.location.home.join("SOUL.md")),
        project: (files_count && !is_remote && has_project(request)).then(|| cwd.clone()),
        file_chars: file_chars.unwrap_or(FILE_CHARS),
        file_rules: tools.context_file_rules(),
        memory: (files_count && !request.is_scheduled)
            .then(|| MemoryFiles::resolve(&context.location.home, config)),
        skills: files_count
            .then(|| skills_index(&subject, request, coding.as_ref(), context))
            .flatten(),
        tools: subject.tools,
        has_card: WorkerVariables::read(&context.env).is_some(),
        environment: PromptEnvironment {
            system: if is_remote { String::new() } else { system() },
            home: if is_remote {
                String::new()
            } else {
                call.child_home.display().to_string()
            },
            cwd: cwd.display().to_string(),
            is_remote,
            remark: is_probed
                .then(|| python_remark(context.env.os(&vars::PATH)))
                .flatten(),
        },
        profile: context.current.as_ref().map(ToString::to_string),
        platform: request.source.clone(),
        platform_hint: text(&format!("platform_hints.{}", request.source)),
        environment_hint: text("agent.environment_hint"),
        tool_use_enforcement: config
            .get("agent.tool_use_enforcement")
            .cloned()
            .unwrap_or(Value::Null),
        parallel_call_guidance: config.flag("agent.parallel_tool_call_guidance"),
        completion_guidance: config.flag("agent.task_completion_guidance"),
        coding: coding.map(|coding| CodingRules {
            project: coding.project,
            instructions: coding.instructions,
        }),
        notes,
        date: today(&context.zone().resolve()),
        session_id: request.pass_session_id.then(|| id.to_string()),
        model: route.model,
        provider: route.provider,
    }
}

/// The skills that the prompt lists; `None` where the model cannot look at one.
fn skills_index(
    subject: &Subject<'_>,
    request: &ConversationRequest,
    coding: Option<&CodingContext>,
    context: &Context,
) -> Option<SkillsIndex> {
    let has = |name: &str| subject.tools.iter().any(|tool| tool == name);
    if !has("skill_view") {
        return None;
    }
    let mut facts = offer_facts(context, &request.platform);
    facts.has_board |= has("kanban_show");
    facts.toolsets = subject
        .call
        .registry
        .iter()
        .filter(|tool| has(tool.spec().name))
        .map(|tool| tool.spec().toolset.to_owned())
        .collect();
    facts.is_about_code = coding.is_some_and(|coding| coding.is_focused);
    facts.tools = Some(subject.tools.iter().cloned().collect());
    Some(SkillsIndex {
        roots: profile_skills(context, &request.platform).roots,
        cache: Some(cache_file(context)),
        facts,
    })
}

/// Whether the conversation is about the directory it works in. A scheduled job without one of its
/// own only has to be somewhere.
pub(crate) fn has_project(request: &ConversationRequest) -> bool {
    !request.is_scheduled || request.directory.is_some()
}

/// Assembles the prompt again, with the date of that day.
pub(crate) fn reassembled(parts: PromptParts, context: &Context) -> Box<PromptSource> {
    let zone = context.zone().resolve();
    Box::new(move || {
        assemble(&PromptParts {
            date: today(&zone),
            ..parts.clone()
        })
    })
}

/// The model settings that a session records.
pub(crate) fn model_config(settings: &AgentSettings, context: &Context) -> Value {
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
