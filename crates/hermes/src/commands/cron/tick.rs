//! `hermes cron tick`: what is due, once, or until a signal.

use hermes_cron::{
    Ledger, RunReport, Scheduler, SchedulerEvent, TickOutcome, claim_due, run_claimed,
};
use hermes_runtime::cron_setup;
use serde_json::{Value, json};

use super::signals::with_signals;
use super::{Jobs, NAME};
use crate::commands::chat::settle_hooks;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Go on and run jobs whenever they are due, until a signal: for machines without a gateway
    #[arg(long, conflicts_with = "json")]
    watch: bool,
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
    if args.watch {
        return watch(context);
    }
    let setup = cron_setup(context);
    let ledger = Ledger::open(&setup.home, &setup.settings.zone)?;
    let outcome = claim_due(&setup.home, &ledger, &setup.settings, jobs.now)?;
    let reports = with_signals(false, |stops| {
        run_claimed(&setup, &ledger, &outcome, &stops.abort)
    })?;
    let mut rows = Vec::new();
    let mut failed = false;
    for (run, report) in outcome.runs.iter().zip(reports) {
        let Some(report) = report? else { continue };
        failed |= report.error.is_some();
        rows.push((run.job.id(), run.job.name(), report));
    }
    if args.json {
        let ran: Vec<Value> = rows
            .iter()
            .map(|(id, name, report)| row(id, name, report))
            .collect();
        context.json(&json!({
            "ran": ran,
            "missed": outcome.missed,
            "skipped_locked": outcome.skipped_locked,
        }))?;
    } else {
        told(&outcome, &rows, context)?;
    }
    CommandError::silent_unless(!failed)
}

fn row(id: &str, name: &str, report: &RunReport) -> Value {
    json!({
        "job_id": id,
        "name": name,
        "error": report.error,
        "delivery_error": report.delivery_error,
        "output": report.output,
    })
}

fn told(
    outcome: &TickOutcome,
    rows: &[(&str, String, RunReport)],
    context: &Context,
) -> Result<()> {
    if outcome.skipped_locked {
        return context.line("A scheduler is at it already; nothing was done.");
    }
    for (id, name, report) in rows {
        context.line(ended(id, name, report))?;
    }
    for (job, reason) in &outcome.given_up {
        let (id, name) = (one_line(job.id(), NAME), one_line(&job.name(), NAME));
        context.line(format!("missed  {id}  {name}: {}", one_line(reason, 200)))?;
    }
    if outcome.missed > 0 {
        context.note(format!(
            "{} missed; `hermes cron runs` has the reasons.",
            runs(outcome.missed)
        ))?;
    }
    if rows.is_empty() && outcome.given_up.is_empty() {
        context.line("Nothing is due.")?;
    }
    Ok(())
}

fn ended(id: &str, name: &str, report: &RunReport) -> String {
    let (id, name) = (one_line(id, NAME), one_line(name, NAME));
    match (&report.error, &report.delivery_error) {
        (Some(error), _) => format!("failed  {id}  {name}: {}", one_line(error, 200)),
        (None, Some(problem)) => {
            format!(
                "ok      {id}  {name} (not delivered: {})",
                one_line(problem, 200)
            )
        }
        (None, None) => format!("ok      {id}  {name}"),
    }
}

fn runs(count: u64) -> String {
    if count == 1 {
        "1 run was".to_owned()
    } else {
        format!("{count} runs were")
    }
}

/// Serves the profile until a signal; runs that are under way may end, unless a second one comes.
fn watch(context: &Context) -> Result<()> {
    context.note(format!(
        "Running jobs when they are due (pid {}). Ctrl-C to stop.",
        std::process::id()
    ))?;
    let printer = context.printer;
    let observe = |event: &SchedulerEvent<'_>| {
        let printed = match event {
            SchedulerEvent::Started(run) => {
                let (id, name) = (
                    one_line(run.job.id(), NAME),
                    one_line(&run.job.name(), NAME),
                );
                printer.line(format!("begins  {id}  {name}"))
            }
            SchedulerEvent::Ended(run, report) => {
                printer.line(ended(run.job.id(), &run.job.name(), report))
            }
            SchedulerEvent::Missed(count) => printer.line(format!("{} missed", runs(*count))),
            SchedulerEvent::Failed(problem) => printer.warn(one_line(problem, 500)),
        };
        // Nobody may be reading; the jobs go on.
        drop(printed);
    };
    let source = |env| context.with_env(env);
    let setup = move || cron_setup(&source(context.env.clone()));
    let scheduler = Scheduler {
        setup: &setup,
        observe: &observe,
    };
    with_signals(true, |stops| scheduler.run(&stops.stop, &stops.abort))??;
    context.note("Stopped.")
}
