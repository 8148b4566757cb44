//! `hermes cron runs`: attempts, and runs that did not happen.

use hermes_cron::{Execution, Job, Ledger, MissedRun, find_job, load_jobs};
use serde_json::json;

use super::{Jobs, NAME};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, one_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only runs of this job, by id or name
    job_id: Option<String>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let jobs = Jobs::of(context);
    let list = load_jobs(&jobs.home)?;
    // Of a job that is gone, the id still tells.
    let id = args.job_id.as_deref().map(|named| {
        find_job(&list, named).map_or_else(|_| named.to_owned(), |job| job.id().to_owned())
    });
    let (runs, missed) = history(&jobs, id.as_deref(), args.limit)?;
    if args.json {
        return context.json(&json!({"runs": runs, "missed": missed}));
    }
    if runs.is_empty() && missed.is_empty() {
        return context.line("No runs yet.");
    }
    let name = |id: &str| list.get(id).map_or_else(|| id.to_owned(), Job::name);
    let mut rows: Vec<(String, Vec<String>)> = Vec::new();
    for run in &runs {
        let end = run.finished_at.as_deref().unwrap_or("-");
        rows.push((
            run.claimed_at.clone(),
            vec![
                shown(&run.claimed_at),
                run.status.clone(),
                one_line(&name(&run.job_id), NAME),
                one_line(&run.job_id, NAME),
                shown(end),
                one_line(run.error.as_deref().unwrap_or_default(), 80),
            ],
        ));
    }
    for one in &missed {
        let count = if one.count > 1 {
            format!(" ({} runs)", one.count)
        } else {
            String::new()
        };
        rows.push((
            one.recorded_at.clone(),
            vec![
                shown(&one.first_due),
                "missed".to_owned(),
                one_line(&one.job_name, NAME),
                one_line(&one.job_id, NAME),
                shown(&one.last_due),
                format!("{}{count}", one_line(&one.reason, 80)),
            ],
        ));
    }
    rows.sort_by(|one, other| other.0.cmp(&one.0));
    let mut table = Table::new(&["WHEN", "STATUS", "NAME", "JOB", "UNTIL", "WHY"]);
    for (_, row) in rows
        .into_iter()
        .take(usize::try_from(args.limit).unwrap_or(20))
    {
        table.row(row);
    }
    context.out(&table.render())
}

/// What the ledger knows; nothing if there is none.
fn history(jobs: &Jobs, id: Option<&str>, limit: u32) -> Result<(Vec<Execution>, Vec<MissedRun>)> {
    if !jobs.home.has_history() {
        return Ok((Vec::new(), Vec::new()));
    }
    let ledger = Ledger::open(&jobs.home, &jobs.settings.zone)?;
    Ok((
        ledger.executions(id, limit)?,
        ledger.missed_runs(id, limit)?,
    ))
}

/// `2026-11-17 09:00:25` of a stored time.
fn shown(stamp: &str) -> String {
    let short: String = stamp.chars().take(19).collect();
    one_line(&short.replace('T', " "), 19)
}
