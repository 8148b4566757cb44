//! `hermes cron edit`.

use hermes_cron::{JobChange, find_job, load_jobs, update_job};

use super::job_options::JobOptions;
use super::{Jobs, summary};
use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The job, by id or name
    job_id: String,
    /// New schedule
    #[arg(long, value_name = "WHEN")]
    schedule: Option<String>,
    /// New prompt
    #[arg(long, value_name = "TEXT")]
    prompt: Option<String>,
    /// Skill to add; can be repeated
    #[arg(long, value_name = "NAME")]
    add_skill: Vec<String>,
    /// Skill to remove; can be repeated
    #[arg(long, value_name = "NAME")]
    remove_skill: Vec<String>,
    /// Remove all skills
    #[arg(long, conflicts_with = "skills")]
    clear_skills: bool,
    /// Run an agent again
    #[arg(long, conflicts_with = "no_agent")]
    agent: bool,
    #[command(flatten)]
    job: JobOptions,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let jobs = Jobs::to_change(context)?;
    let job = &args.job;
    let change = JobChange {
        schedule: args.schedule.clone(),
        prompt: args.prompt.clone(),
        name: job.name.clone(),
        deliver: job.deliver.clone(),
        repeat: job.ends(),
        skills: skills(args, &jobs)?,
        script: job.script.clone(),
        no_agent: match (job.no_agent, args.agent) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        },
        workdir: job.workdir.clone(),
        profile: job.run_as.clone(),
        model: job.model.clone(),
        provider: job.provider.clone(),
        base_url: job.base_url.clone(),
        configured: hermes_runtime::configured_model(context),
        ..JobChange::default()
    };
    if change.is_empty() {
        return Err(CommandError::usage("nothing to change was named")
            .hint("`hermes cron edit --help` lists what can be changed"));
    }
    let zone = &jobs.settings.zone;
    let changed = update_job(&jobs.home, &args.job_id, change, jobs.now, zone)?;
    if job.json {
        return context.json(&changed);
    }
    context.line(format!("Changed {}", summary(&changed, context)))
}

/// The skills that the job is to have, if they change.
fn skills(args: &Args, jobs: &Jobs) -> Result<Option<Vec<String>>> {
    if args.clear_skills {
        return Ok(Some(args.add_skill.clone()));
    }
    let changes = !args.add_skill.is_empty() || !args.remove_skill.is_empty();
    let mut skills = if !args.job.skills.is_empty() {
        args.job.skills.clone()
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
