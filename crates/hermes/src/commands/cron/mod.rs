//! `hermes cron`: scheduled jobs, a file per verb.
//!
//! Commands turn arguments into requests and results into text; `hermes-cron` decides what a job is
//! and when it runs.

mod change;
mod create;
mod edit;
mod job_options;
mod list;
mod run;
mod runs;
mod schedulers;
mod signals;
mod status;
mod tick;

use std::process::ExitCode;

use hermes_cron::{CronHome, CronSettings, Job};
use jiff::Timestamp;

pub(super) use schedulers::SchedulerKind;

use super::exit;
use crate::commands::chat::settle_hooks;
use crate::context::Context;
use crate::error::Result;
use crate::ui::one_line;

/// Columns of a name.
const NAME: usize = 40;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Accept hooks of config.yaml that nobody has seen
    #[arg(long)]
    accept_hooks: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Context;
    /// List scheduled jobs
    [visible_alias("ls")]
    List(list::Args) => list::run,
    /// Schedule a job
    [visible_alias("add")]
    Create(create::Args) => create::run,
    /// Change a job; an empty text removes what it had
    Edit(edit::Args) => edit::run,
    /// Keep a job from running until it is resumed
    Pause(change::PauseArgs) => change::pause,
    /// Let a paused job run again
    Resume(change::Args) => change::resume,
    /// Run a job now
    Run(run::Args) => run::run,
    /// Remove jobs and their outputs
    [visible_aliases(["rm", "delete"])]
    Remove(change::RemoveArgs) => change::remove,
    /// Show whether jobs are run, and what comes next
    Status(status::Args) => status::run,
    /// List runs, and those that were missed
    [visible_alias("history")]
    Runs(runs::Args) => runs::run,
    /// Run what is due, once
    Tick(tick::Args) => tick::run,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    if args.accept_hooks {
        settle_hooks(context, true)?;
    }
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(list::run(&list::Args::default(), context)),
    }
}

/// The jobs of the profile, and how they are run.
struct Jobs {
    home: CronHome,
    settings: CronSettings,
    now: Timestamp,
}

impl Jobs {
    fn of(context: &Context) -> Self {
        let zone = context.zone().resolve();
        Self {
            home: CronHome::new(&context.location.home),
            settings: CronSettings::resolve(context.config(), &context.env, zone),
            now: Timestamp::now(),
        }
    }

    /// The same, for a command that changes something.
    fn to_change(context: &Context) -> Result<Self> {
        context.refuse_to_agents("changing scheduled jobs")?;
        context.ensure_home()?;
        context.start_logging();
        Ok(Self::of(context))
    }

    /// A time of a job, for people.
    fn minute(context: &Context, at: Option<Timestamp>) -> String {
        at.map_or_else(|| "-".to_owned(), |at| context.minute(at.as_second()))
    }
}

/// `2/5` or `∞`.
fn repeat(job: &Job) -> String {
    match job.repeat() {
        (Some(times), done) => format!("{done}/{times}"),
        (None, _) => "∞".to_owned(),
    }
}

/// One line about a job.
fn summary(job: &Job, context: &Context) -> String {
    format!(
        "{}  {}  ({}; next run {})",
        one_line(job.id(), NAME),
        one_line(&job.name(), NAME),
        one_line(&job.schedule_display(), NAME),
        Jobs::minute(context, job.next_run_at().filter(|_| job.is_enabled())),
    )
}
