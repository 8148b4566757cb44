//! `hermes cron edit`.

use hermes_cron::{Ends, JobChange, find_job, load_jobs, update_job};

use super::{Jobs, summary};
use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Args {
    /// The job, by id or name
    job_id: String,
    /// New schedule
    #[arg(long, value_name = "WHEN")]
    schedule: Option<String>,
    /// New prompt
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// New name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// New targets
    #[arg(long, value_name = "TARGET")]
    deliver: Option<String>,
    /// Number of runs after which the job ends; 0 for never
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    repeat: Option<i64>,
    /// Skills instead of the present ones; can be repeated
    #[arg(long = "skill", value_name = "NAME", conflicts_with = "clear_skills")]
    skills: Vec<String>,
    /// Skill to add; can be repeated
    #[arg(long, value_name = "NAME")]
    add_skill: Vec<String>,
    /// Skill to remove; can be repeated
    #[arg(long, value_name = "NAME")]
    remove_skill: Vec<String>,
    /// Remove all skills
    #[arg(long)]
    clear_skills: bool,
    /// New script; an empty one removes it
    #[arg(long, value_name = "FILE")]
    script: Option<String>,
    /// Run the script alone
    #[arg(long, conflicts_with = "agent")]
    no_agent: bool,
    /// Run an agent again
    #[arg(long)]
    agent: bool,
    /// New directory; an empty one removes it
    #[arg(long, value_name = "DIR")]
    workdir: Option<String>,
    /// New model; an empty one means the configured one
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// New provider; an empty one means the configured one
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// New profile to run with; an empty one means this one
    #[arg(long = "run-as", value_name = "NAME")]
    run_as: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let jobs = Jobs::to_change(context)?;
    let change = JobChange {
        schedule: args.schedule.clone(),
        prompt: args.prompt.clone(),
        name: args.name.clone(),
        deliver: args.deliver.clone(),
        repeat: args.repeat.map(Ends::from_count),
        skills: skills(args, &jobs)?,
        script: args.script.clone(),
        no_agent: match (args.no_agent, args.agent) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        },
        workdir: args.workdir.clone(),
        profile: args.run_as.clone(),
        model: args.model.clone(),
        provider: args.provider.clone(),
        ..JobChange::default()
    };
    if change.is_empty() {
        return Err(CommandError::usage("nothing to change was named")
            .hint("`hermes cron edit --help` lists what can be changed"));
    }
    let zone = &jobs.settings.zone;
    let job = update_job(&jobs.home, &args.job_id, change, jobs.now, zone)?;
    if args.json {
        return context.json(&job);
    }
    context.line(format!("Changed {}", summary(&job, context)))
}

/// The skills that the job is to have, if they change.
fn skills(args: &Args, jobs: &Jobs) -> Result<Option<Vec<String>>> {
    if args.clear_skills {
        return Ok(Some(args.add_skill.clone()));
    }
    let changes = !args.add_skill.is_empty() || !args.remove_skill.is_empty();
    let mut skills = if !args.skills.is_empty() {
        args.skills.clone()
    } else if changes {
        let list = load_jobs(&jobs.home)?;
        find_job(&list, &args.job_id)?.skills()
    } else {
        return Ok(None);
    };
    skills.retain(|skill| !args.remove_skill.contains(skill));
    skills.extend(args.add_skill.iter().cloned());
    Ok(Some(skills))
}
