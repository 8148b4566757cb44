//! `hermes cron list`.

use hermes_cron::{Job, load_jobs};

use super::schedulers::SchedulerKind;
use super::{Jobs, NAME, repeat};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Table, one_line};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Also jobs that are paused, completed or missed
    #[arg(short, long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let jobs = Jobs::of(context);
    let list = load_jobs(&jobs.home)?;
    let shown: Vec<&Job> = list
        .jobs
        .iter()
        .filter(|job| args.all || job.is_enabled())
        .collect();
    if args.json {
        return context.json(&shown);
    }
    if shown.is_empty() {
        let hidden = list.jobs.len();
        return context.line(match hidden {
            0 => "No scheduled jobs. `hermes cron create \"every 1d at 09:00\" \"…\"` makes one."
                .to_owned(),
            _ => format!("No active jobs; {hidden} with --all."),
        });
    }
    let mut table = Table::new(&[
        "ID", "STATE", "NAME", "SCHEDULE", "RUNS", "NEXT RUN", "DELIVER", "WITH",
    ]);
    for job in &shown {
        table.row(vec![
            one_line(job.id(), NAME),
            one_line(job.state(), NAME),
            one_line(&job.name(), NAME),
            one_line(&job.schedule_display(), NAME),
            repeat(job),
            Jobs::minute(context, job.next_run_at().filter(|_| job.is_enabled())),
            one_line(&job.deliver(), NAME),
            with(job),
        ]);
    }
    context.out(&table.render())?;
    for job in &shown {
        for key in ["last_error", "last_delivery_error"] {
            if let Some(error) = job.filled(key) {
                let (id, error) = (one_line(job.id(), NAME), one_line(error, 200));
                context.note(format!("{id}: {error}"))?;
            }
        }
    }
    if SchedulerKind::find(context).is_alive() {
        return Ok(());
    }
    SchedulerKind::warn(context)
}

/// What a job has besides its prompt.
fn with(job: &Job) -> String {
    let mut parts: Vec<String> = job
        .skills()
        .iter()
        .map(|skill| format!("skill {}", one_line(skill, NAME)))
        .collect();
    if let Some(script) = job.script() {
        let alone = if job.is_script_only() { " alone" } else { "" };
        parts.push(format!("script {}{alone}", one_line(script, NAME)));
    }
    if let Some(workdir) = job.workdir() {
        parts.push(format!("in {}", one_line(workdir, 60)));
    }
    parts.join(", ")
}
