//! `hermes kanban dispatch`: one tick of the board.

use hermes_board::DispatchFlags;
use hermes_board::model::{Assignee, TaskId};
use hermes_board::plan::{GuardReason, Hampered, Report};
use hermes_runtime::OrphanSweep;

use super::cards::{NAME, TITLE, joined};
use super::session::Kanban;
use crate::context::Context;
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only print what would be done
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    limits: LimitArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Limits that outrank the configuration.
#[derive(Debug, clap::Args)]
pub(crate) struct LimitArgs {
    /// Maximum number of running cards, instead of kanban.max_spawn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    max: Option<i64>,
    /// Failures after which a card is blocked, instead of kanban.failure_limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i64).range(1..))]
    failure_limit: Option<i64>,
}

impl LimitArgs {
    pub(super) fn flags(&self) -> DispatchFlags {
        DispatchFlags {
            max_spawn: self.max,
            failure_limit: self.failure_limit,
        }
    }
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    session.caller()?.may_manage("dispatch cards")?;
    let mut dispatcher = session.dispatcher(&args.limits.flags());
    let orphans = OrphanSweep::new(kanban);
    dispatcher.workers.after_loss = orphans.after_loss();
    let report = if args.dry_run {
        dispatcher.preview(&session.store)?.report
    } else {
        dispatcher.tick(&mut session.store)?
    };
    if args.json {
        kanban.json(&report)?;
    } else {
        let assignee = dispatcher.limits.default_assignee.as_ref();
        let assignee = assignee.map(Assignee::as_str).unwrap_or_default();
        kanban.out(&described(&report, assignee, args.dry_run, kanban))?;
    }
    orphans.finish();
    Ok(())
}

/// What was or would be done.
fn described(report: &Report, assignee: &str, dry: bool, context: &Context) -> String {
    if report.skipped_locked {
        return "Another dispatcher is active on this board; nothing was done.\n".to_owned();
    }
    let mut out = String::new();
    let mut count = |label: &str, ids: &[TaskId], named: bool| {
        out.push_str(&format!("{label:14}{}\n", ids.len()));
        if named && !ids.is_empty() {
            out.push_str(&format!("  {}\n", joined(ids)));
        }
    };
    count("Reclaimed:", &report.reclaimed, false);
    count("Crashed:", &report.crashed, true);
    count("Timed out:", &report.timed_out, true);
    count("Stale:", &report.stale, true);
    count("Auto-blocked:", &report.auto_blocked, true);
    count("Promoted:", &report.promoted, false);
    out.push_str(&format!("{:14}{}\n", "Spawned:", report.spawned.len()));
    for started in &report.spawned {
        let workspace = match started.workspace.as_str() {
            "" => "-".to_owned(),
            path => one_line(path, TITLE),
        };
        out.push_str(&format!(
            "  - {}  ->  {}  @ {workspace}{}\n",
            started.task_id,
            one_line(&started.assignee, NAME),
            if dry { " (dry)" } else { "" }
        ));
    }
    out.push_str(&reasons(report, assignee, context));
    out
}

/// Why cards were assigned or skipped.
fn reasons(report: &Report, assignee: &str, context: &Context) -> String {
    let mut out = String::new();
    let mut list = |label: &str, ids: &[TaskId]| {
        if !ids.is_empty() {
            out.push_str(&format!("{label}: {}\n", joined(ids)));
        }
    };
    let given = format!(
        "Auto-assigned to kanban.default_assignee='{}'",
        one_line(assignee, NAME)
    );
    list(&given, &report.auto_assigned_default);
    list("Skipped (unassigned)", &report.skipped_unassigned);
    for one in &report.skipped_per_profile_capped {
        let who = one_line(&one.assignee, NAME);
        let label = format!(
            "Deferred ({who} at per-profile cap, {} running)",
            one.current
        );
        list(&label, std::slice::from_ref(&one.task_id));
    }
    list(
        "Skipped (assignee is not a profile; to be claimed by others)",
        &report.skipped_nonspawnable,
    );
    // From here on what only this program tells.
    for (label, hampered) in [
        ("Cannot run", &report.cannot_start),
        ("Delayed", &report.delayed),
    ] {
        for (who, problem, ids) in by_problem(hampered) {
            let who = one_line(who, NAME);
            list(
                &format!("{label} ({who}: {})", one_line(problem, 300)),
                &ids,
            );
        }
    }
    for (cap, limit, current, ids) in by_cap(report) {
        let label = format!("Deferred (kanban.{cap} is {limit}, {current} in progress)");
        list(&label, &ids);
    }
    for (why, ids) in by_place(report) {
        list(&format!("For other hosts ({})", one_line(&why, 300)), &ids);
    }
    for one in &report.respawn_guarded {
        let label = format!(
            "Held back ({}, until {})",
            guard_words(one.reason),
            context.minute(one.until)
        );
        list(&label, std::slice::from_ref(&one.task_id));
    }
    for one in &report.skipped_scheduled {
        let label = format!("Scheduled (for {})", context.minute(one.at));
        list(&label, std::slice::from_ref(&one.task_id));
    }
    for one in &report.spawn_failed {
        let label = format!("Could not start ({})", one_line(&one.error, 300));
        list(&label, std::slice::from_ref(&one.task_id));
    }
    list("Reached a quota", &report.rate_limited);
    list("Woken", &report.woken);
    list("Waiting for a parent again", &report.sent_back);
    list("Worker found and recorded", &report.adopted);
    list("Claim prolonged", &report.extended);
    list("Worker could not be terminated", &report.reclaim_deferred);
    list(
        "Changed by somebody else in the meantime",
        &report.lost_race,
    );
    out
}

/// Cards that ask for other hosts, grouped by what is the matter with those.
fn by_place(report: &Report) -> Vec<(String, Vec<TaskId>)> {
    let mut groups: Vec<(String, Vec<TaskId>)> = Vec::new();
    for one in &report.skipped_placement {
        let why = one.why.in_words();
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, ids)) => ids.push(one.task_id.clone()),
            None => groups.push((why, vec![one.task_id.clone()])),
        }
    }
    groups
}

/// Cards whose workers have the same in their way.
fn by_problem(hampered: &[Hampered]) -> Vec<(&str, &str, Vec<TaskId>)> {
    let mut groups: Vec<(&str, &str, Vec<TaskId>)> = Vec::new();
    for one in hampered {
        let same = groups
            .iter_mut()
            .find(|(who, problem, _)| *who == one.assignee && *problem == &*one.problem);
        match same {
            Some((.., ids)) => ids.push(one.task_id.clone()),
            None => groups.push((&one.assignee, &one.problem, vec![one.task_id.clone()])),
        }
    }
    groups
}

/// Cards that wait for a limit, grouped by limit: there may be thousands.
fn by_cap(report: &Report) -> Vec<(&'static str, usize, usize, Vec<TaskId>)> {
    let mut groups: Vec<(&'static str, usize, usize, Vec<TaskId>)> = Vec::new();
    for one in &report.skipped_capped {
        let same = groups.iter_mut().find(|(cap, limit, current, _)| {
            (*cap, *limit, *current) == (one.cap, one.limit, one.current)
        });
        match same {
            Some((.., ids)) => ids.push(one.task_id.clone()),
            None => groups.push((one.cap, one.limit, one.current, vec![one.task_id.clone()])),
        }
    }
    groups
}

fn guard_words(reason: GuardReason) -> &'static str {
    match reason {
        GuardReason::RateLimitCooldown => "its worker reached a quota",
        GuardReason::BlockerAuth => "its last failure was about quota or permission",
        GuardReason::RecentSuccess => "it was completed recently",
        GuardReason::ActivePr => "a pull request was mentioned on it",
        GuardReason::PreviousWorkerAlive => "a worker of its last attempt is still running",
    }
}
