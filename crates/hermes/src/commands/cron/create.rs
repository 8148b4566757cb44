//! `hermes cron create`.

use hermes_cron::{Ends, NewJob, create_job};

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
    /// Name of the job
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Where results go besides the output file: local (nowhere), board, board:SLUG or
    /// board:CARD; several with commas
    #[arg(long, value_name = "TARGET")]
    deliver: Option<String>,
    /// Number of runs after which the job ends; 0 for never
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(0..))]
    repeat: Option<i64>,
    /// Skill that the agent begins with; can be repeated
    #[arg(long = "skill", value_name = "NAME")]
    skills: Vec<String>,
    /// Script of the directory `scripts` that runs before the agent; its output precedes the prompt
    #[arg(long, value_name = "FILE")]
    script: Option<String>,
    /// Run the script alone; its output is the result
    #[arg(long)]
    no_agent: bool,
    /// Absolute path of the directory to work in
    #[arg(long, value_name = "DIR")]
    workdir: Option<String>,
    /// Model instead of the configured one
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Provider instead of the configured one
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// Job whose last output precedes the prompt; can be repeated
    #[arg(long, value_name = "ID")]
    context_from: Vec<String>,
    /// Profile to run with instead of this one
    #[arg(long = "run-as", value_name = "NAME")]
    run_as: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let jobs = Jobs::to_change(context)?;
    let new = NewJob {
        schedule: args.schedule.clone(),
        prompt: args.prompt.clone().unwrap_or_default(),
        name: args.name.clone(),
        deliver: args.deliver.clone(),
        repeat: args.repeat.map(Ends::from_count),
        skills: args.skills.clone(),
        script: args.script.clone(),
        no_agent: args.no_agent,
        context_from: args.context_from.clone(),
        workdir: args.workdir.clone(),
        profile: args.run_as.clone(),
        model: args.model.clone(),
        provider: args.provider.clone(),
        ..NewJob::default()
    };
    let job = create_job(&jobs.home, new, jobs.now, &jobs.settings.zone)?;
    if args.json {
        context.json(&job)?;
    } else {
        context.line(format!("Created {}", summary(&job, context)))?;
    }
    warn_about_missing(args, context, &jobs)?;
    SchedulerKind::find(context).tell(context)
}

/// Names what the job needs and cannot find yet; it may come before the first run.
fn warn_about_missing(args: &Args, context: &Context, jobs: &Jobs) -> Result<()> {
    if let Some(script) = &args.script
        && !jobs.home.scripts().join(script).exists()
    {
        let place = context.display(&jobs.home.scripts());
        context.warn(format!("there is no script {script} in {place} yet"))?;
    }
    for name in hermes_runtime::missing_skills(&args.skills, context) {
        context.warn(format!("there is no skill '{name}' yet"))?;
    }
    Ok(())
}
