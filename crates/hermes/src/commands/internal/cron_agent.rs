//! `hermes internal cron-agent`: the agent of a scheduled job, in a process of its own. The request
//! comes over standard input; what happens is told as by `chat -q --json`.

use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;

use hermes_cron::{AgentRequest, ModelSnapshot};
use hermes_policy::injection::scan;
use hermes_proc::EndSignal;
use hermes_runtime::{ConversationRequest, configured_model, missing_skills};
use hermes_session::{SessionId, SessionStore};

use crate::commands::chat;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::tool_access;

/// Largest request.
const LARGEST: u64 = 16 * 1024 * 1024;

pub(super) fn run(context: &Context) -> Result<ExitCode> {
    let request = read()?;
    let texts = request.foreign_texts.iter();
    let mut blocked = texts.flat_map(|text| scan("the job", text).1);
    if let Some(found) = blocked.next() {
        return Err(CommandError::user(format!(
            "the text of the job, or what its script printed, tries to take over the agent ({}); \
             the job was not run",
            found.rule
        )));
    }
    let made_with = &request.made_with;
    let is_bound = *made_with != ModelSnapshot::default();
    let drift = is_bound.then(|| made_with.drift(&configured_model(context)));
    if let Some(drift) = drift.flatten() {
        let id = &request.job_id;
        return Err(CommandError::user(format!(
            "the configured model is another one than when the job was made ({drift}), so the job was \
             not run; `hermes cron edit {id} --model \"\"` lets it use the new one, --model and \
             --provider name one for good"
        )));
    }
    let missing = missing_skills(&request.skills, context);
    let mut prompt = request.prompt.clone();
    if !missing.is_empty() {
        prompt = format!(
            "These skills of the job do not exist, begin your answer by saying so: {}\n\n{prompt}",
            missing.join(", ")
        );
    }
    let skills = request.skills.iter();
    let skills = skills.filter(|skill| !missing.contains(&skill.as_str()));
    let toolsets = request.toolsets.join(",");
    let conversation = ConversationRequest {
        session_id: Some(free_session(&request.session_id, context)?),
        is_scheduled: true,
        platform: "cron".to_owned(),
        model: request.model,
        provider: request.provider,
        base_url: request.base_url,
        toolsets: (!toolsets.is_empty()).then_some(toolsets),
        skills: skills.cloned().collect(),
        directory: request.workdir.map(PathBuf::from),
        when_stuck: Some(|| EndSignal::Terminate.obey()),
        ..ConversationRequest::new("cron", tool_access::interrupt()?)
    };
    chat::run_scheduled(&prompt, conversation, context)
}

/// The id of a new session: the wanted one, numbered if an earlier run of the job began within the same
/// second. No two runs of one job work at the same time.
fn free_session(wanted: &str, context: &Context) -> Result<String> {
    let Some(store) = SessionStore::open_read_only(&context.location.home)? else {
        return Ok(wanted.to_owned());
    };
    let mut id = wanted.to_owned();
    let mut number = 1;
    while store.session(&SessionId::parse(&id)?)?.is_some() {
        number += 1;
        id = format!("{wanted}_{number}");
    }
    Ok(id)
}

fn read() -> Result<AgentRequest> {
    let unusable = |error: &dyn std::fmt::Display| {
        CommandError::usage(format!(
            "standard input describes no scheduled job: {error}"
        ))
    };
    let mut text = String::new();
    let read = std::io::stdin().take(LARGEST).read_to_string(&mut text);
    read.map_err(|error| unusable(&error))?;
    serde_json::from_str(&text).map_err(|error| unusable(&error))
}
