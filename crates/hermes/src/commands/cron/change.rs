//! `hermes cron pause`, `resume` and `remove`.

use hermes_cron::{Job, pause_job, remove_job, resume_job};

use super::{Jobs, summary};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The job, by id or name
    job_id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PauseArgs {
    /// The job, by id or name
    job_id: String,
    /// Why it is paused
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// The jobs, by id or name
    #[arg(required = true)]
    job_id: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn pause(args: &PauseArgs, context: &Context) -> Result<()> {
    let jobs = Jobs::to_change(context)?;
    let (zone, reason) = (&jobs.settings.zone, args.reason.as_deref());
    let job = pause_job(&jobs.home, &args.job_id, reason, jobs.now, zone)?;
    told("Paused", &job, args.json, context)
}

pub(super) fn resume(args: &Args, context: &Context) -> Result<()> {
    let jobs = Jobs::to_change(context)?;
    let job = resume_job(&jobs.home, &args.job_id, jobs.now, &jobs.settings.zone)?;
    told("Resumed", &job, args.json, context)
}

pub(super) fn remove(args: &RemoveArgs, context: &Context) -> Result<()> {
    let jobs = Jobs::to_change(context)?;
    let mut removed = Vec::new();
    for named in &args.job_id {
        let job = remove_job(&jobs.home, named, jobs.now, &jobs.settings.zone)?;
        if !args.json {
            context.line(format!("Removed {}", summary(&job, context)))?;
        }
        removed.push(job);
    }
    if args.json {
        context.json(&removed)?;
    }
    Ok(())
}

fn told(verb: &str, job: &Job, json: bool, context: &Context) -> Result<()> {
    if json {
        return context.json(job);
    }
    context.line(format!("{verb} {}", summary(job, context)))
}
