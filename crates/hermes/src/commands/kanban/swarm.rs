//! `hermes kanban swarm`: parallel workers, a verifier and a synthesizer.

use clap::builder::NonEmptyStringValueParser;
use hermes_board::model::{Assignee, SkillList};
use hermes_board::{NewSwarm, SwarmRole, SwarmWorker};
use hermes_home::{ProfileName, has_skill};
use hermes_tools::TOOLSET_NAMES;

use super::cards::joined;
use super::session::{Kanban, author, usage};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

/// Skill of the verifier, if its profile has it.
const VERIFIER_SKILL: &str = "requesting-code-review";
/// Skill of the synthesizer, if its profile has it.
const SYNTHESIZER_SKILL: &str = "humanizer";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Goal of the swarm
    goal: String,
    /// Profile, card and skills of one worker; can be repeated
    #[arg(long, value_name = "PROFILE:TITLE[:SKILL,SKILL]")]
    worker: Vec<String>,
    /// Profile of the verifier
    #[arg(long, value_name = "PROFILE")]
    verifier: String,
    /// Profile of the synthesizer
    #[arg(long, value_name = "PROFILE")]
    synthesizer: String,
    /// Namespace inside the board
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
    /// Priority; higher goes first
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_negative_numbers = true
    )]
    priority: i64,
    /// Who creates the cards
    #[arg(long, value_name = "NAME")]
    created_by: Option<String>,
    /// Return the existing swarm if this key was used before
    #[arg(long, value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    idempotency_key: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    if args.worker.is_empty() {
        return Err(usage("a swarm needs at least one --worker"));
    }
    let workers = args.worker.iter().map(|text| worker(text));
    let created_by = args.created_by.clone().unwrap_or_else(|| author(kanban));
    let new = NewSwarm {
        goal: args.goal.clone(),
        workers: workers.collect::<Result<_>>()?,
        verifier: role(kanban, &args.verifier, VERIFIER_SKILL)?,
        synthesizer: role(kanban, &args.synthesizer, SYNTHESIZER_SKILL)?,
        tenant: args.tenant.clone(),
        priority: args.priority,
        created_by: Assignee::parse(&created_by)?,
        idempotency_key: args.idempotency_key.clone(),
    };
    let mut session = kanban.open()?;
    session.author(args.created_by.as_ref())?;
    let swarm = session.store.create_swarm(&new)?;
    if args.json {
        return kanban.json(&swarm);
    }
    kanban.line(format!("Swarm root: {}", swarm.root_id))?;
    kanban.line(format!("Workers: {}", joined(&swarm.worker_ids)))?;
    kanban.line(format!("Verifier: {}", swarm.verifier_id))?;
    kanban.line(format!("Synthesizer: {}", swarm.synthesizer_id))
}

/// `PROFILE:TITLE` or `PROFILE:TITLE:SKILL,SKILL`.
fn worker(text: &str) -> Result<SwarmWorker> {
    let bad = |problem: &str| -> CommandError {
        usage(format!("--worker '{}': {problem}", one_line(text, 100)))
    };
    let mut parts = text.splitn(3, ':').map(str::trim);
    let (Some(profile), Some(title)) = (parts.next(), parts.next()) else {
        return Err(bad("use PROFILE:TITLE or PROFILE:TITLE:SKILL,SKILL"));
    };
    if title.is_empty() {
        return Err(bad("the title is missing"));
    }
    let skills = parts.next().unwrap_or_default().split(',');
    Ok(SwarmWorker {
        profile: Assignee::parse(profile).map_err(|error| bad(&error.to_string()))?,
        title: title.to_owned(),
        skills: SkillList::parse(skills, &TOOLSET_NAMES)
            .map_err(|error| bad(&error.to_string()))?,
    })
}

/// A missing skill would stop the worker at its start, so only an existing one is requested.
fn role(context: &Context, profile: &str, skill: &str) -> Result<SwarmRole> {
    let profile = Assignee::parse(profile)?;
    let home = ProfileName::parse(profile.as_str())
        .map(|name| context.location.profile_home(&name))
        .ok();
    let installed = home.is_some_and(|home| has_skill(&home, skill));
    let skills = installed.then_some(skill);
    Ok(SwarmRole {
        profile,
        skills: SkillList::parse(skills, &[])?,
    })
}
