//! `hermes cron run`: a job at once, by the scheduler if there is one, else here.

use hermes_cron::{Ledger, RunReport, Runner, claim_now, find_job, load_jobs, trigger_job};
use hermes_runtime::cron_setup;
use serde_json::json;

use super::schedulers::SchedulerKind;
use super::signals::with_signals;
use super::{Jobs, summary};
use crate::commands::chat::settle_hooks;
use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The job, by id or name
    job_id: String,
    /// Run it in this process and wait for its end, also if a scheduler could
    #[arg(long)]
    now: bool,
    /// Accept hooks of config.yaml that nobody has seen
    #[arg(long)]
    accept_hooks: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let jobs = Jobs::to_change(context)?;
    settle_hooks(context, args.accept_hooks)?;
    let list = load_jobs(&jobs.home)?;
    let job = find_job(&list, &args.job_id)?;
    let scheduler = SchedulerKind::find(context);
    if scheduler.is_alive() && !args.now {
        let job = trigger_job(&jobs.home, job.id(), jobs.now, &jobs.settings.zone)?;
        if args.json {
            return context.json(&json!({"job_id": job.id(), "started": true, "ended": false}));
        }
        context.line(format!("Triggered {}", summary(&job, context)))?;
        return scheduler.tell(context);
    }
    let setup = cron_setup(context);
    let zone = &setup.settings.zone;
    let ledger = Ledger::open(&setup.home, zone)?;
    let run = claim_now(&setup.home, &ledger, &setup.settings, job.id(), jobs.now)?;
    let report = with_signals(false, |stops| {
        let runner = Runner {
            setup: &setup,
            ledger: &ledger,
        };
        runner.run(&run, &stops.abort)
    })??;
    let Some(report) = report else {
        return Err(CommandError::user("somebody else has taken this run over"));
    };
    if args.json {
        context.json(&json!({
            "job_id": run.job.id(),
            "started": true,
            "ended": true,
            "error": report.error,
            "delivery_error": report.delivery_error,
            "text": report.text,
            "output": report.output,
        }))?;
        return CommandError::silent_unless(report.error.is_none());
    }
    told(&report, context)
}

/// Prints the result; a failure is the error of the command.
fn told(report: &RunReport, context: &Context) -> Result<()> {
    if let Some(path) = &report.output {
        context.note(format!("Output: {}", context.display(path)))?;
    }
    if let Some(problem) = &report.delivery_error {
        context.warn(format!("the result could not be delivered: {problem}"))?;
    }
    match (&report.error, &report.text) {
        (Some(error), _) => Err(CommandError::user(error.clone())),
        (None, Some(text)) => context.line(text),
        (None, None) => context.note("Nothing to report."),
    }
}
