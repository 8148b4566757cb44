//! `hermes cron status`.

use std::time::Duration;

use hermes_cron::{load_jobs, ticker_age};
use serde_json::json;

use super::schedulers::SchedulerKind;
use super::{Jobs, NAME};
use crate::context::Context;
use crate::error::Result;
use crate::ui::one_line;

/// A scheduler that has not looked for this long does not work.
const STALE: Duration = Duration::from_secs(200);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let jobs = Jobs::of(context);
    let list = load_jobs(&jobs.home)?;
    let scheduler = SchedulerKind::find(context);
    let age = ticker_age(&jobs.home);
    let active: Vec<_> = list.jobs.iter().filter(|job| job.is_enabled()).collect();
    let next = active
        .iter()
        .filter_map(|job| Some((job.next_run_at()?, *job)))
        .min_by_key(|(at, _)| *at);
    let is_stale = scheduler.is_alive() && age.is_some_and(|age| age > STALE);
    if args.json {
        return context.json(&json!({
            "scheduler": scheduler.name(),
            "pid": match scheduler {
                SchedulerKind::Gateway(pid) => Some(pid),
                SchedulerKind::Elsewhere | SchedulerKind::Own | SchedulerKind::Nobody => None,
            },
            "last_look_seconds_ago": age.map(|age| age.as_secs()),
            "stale": is_stale,
            "jobs": list.jobs.len(),
            "active": active.len(),
            "next_run_at": next.and_then(|(_, job)| job.filled("next_run_at")),
            "next_job": next.map(|(_, job)| job.id()),
        }));
    }
    match scheduler {
        SchedulerKind::Gateway(pid) => {
            context.line(format!("Scheduler: the gateway (pid {pid})"))?;
        }
        SchedulerKind::Elsewhere => context.line("Scheduler: the gateway on another host")?,
        SchedulerKind::Own => context.line("Scheduler: hermes cron tick --watch")?,
        SchedulerKind::Nobody => context.line("Scheduler: none is running")?,
    }
    if let Some(age) = age {
        let seconds = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
        context.line(format!("Last look: {}", hermes_time::ago(seconds)))?;
    }
    context.line(format!(
        "Jobs:      {} active, {} in all",
        active.len(),
        list.jobs.len()
    ))?;
    if let Some((at, job)) = next {
        context.line(format!(
            "Next run:  {}, {}",
            context.minute(at.as_second()),
            one_line(&job.name(), NAME)
        ))?;
    }
    if is_stale {
        context.warn("the scheduler has not looked at the jobs for more than 200 s")?;
        context.hint("its log says why: `hermes logs gateway`")?;
    }
    if !scheduler.is_alive() && !active.is_empty() {
        SchedulerKind::warn(context)?;
    }
    Ok(())
}
