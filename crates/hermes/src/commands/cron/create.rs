//! `hermes cron create`.

use hermes_cron::{NewJob, create_job};

use super::job_options::JobOptions;
use super::schedulers::SchedulerKind;
use super::{Jobs, summary};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// When: '30m', 'every 2h', 'every 1d at 09:00', 'every monday 9am', '0 9 * * *', '@daily' or
    /// '2027-02-03T14:00'
    schedule: String,
    /// What the agent is to do
    prompt: Option<String>,
    /// Job whose last output precedes the prompt; can be repeated
    #[arg(long, value_name = "ID")]
    context_from: Vec<String>,
    #[command(flatten)]
    job: JobOptions,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let jobs = Jobs::to_change(context)?;
    let job = &args.job;
    let new = NewJob {
        schedule: args.schedule.clone(),
        prompt: args.prompt.clone().unwrap_or_default(),
        name: job.name.clone(),
        deliver: job.deliver.clone(),
        repeat: job.ends(),
        skills: job.skills.clone(),
        script: job.script.clone(),
        no_agent: job.no_agent,
        context_from: args.context_from.clone(),
        workdir: job.workdir.clone(),
        profile: job.run_as.clone(),
        model: job.model.clone(),
        provider: job.provider.clone(),
        base_url: job.base_url.clone(),
        configured: hermes_runtime::configured_model(context),
        ..NewJob::default()
    };
    let created = create_job(&jobs.home, new, jobs.now, &jobs.settings.zone)?;
    if job.json {
        context.json(&created)?;
    } else {
        context.line(format!("Created {}", summary(&created, context)))?;
    }
    warn_about_missing(args, context, &jobs)?;
    SchedulerKind::find(context).tell(context)
}

/// Names what the job needs and cannot find yet; it may come before the first run.
fn warn_about_missing(args: &Args, context: &Context, jobs: &Jobs) -> Result<()> {
    if let Some(script) = &args.job.script
        && !jobs.home.scripts().join(script).exists()
    {
        let place = context.display(&jobs.home.scripts());
        context.warn(format!("there is no script {script} in {place} yet"))?;
    }
    for name in hermes_runtime::missing_skills(&args.job.skills, context) {
        context.warn(format!("there is no skill '{name}' yet"))?;
    }
    Ok(())
}
