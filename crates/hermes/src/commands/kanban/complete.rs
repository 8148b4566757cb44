//! `hermes kanban complete`: only cards whose acceptance checks pass are done.

use std::process::ExitCode;
use std::sync::Arc;

use hermes_agent::SideJudge;
use hermes_board::dispatch::Finish;
use hermes_board::files::complete_card;
use hermes_board::model::{CheckEvidence, Object, Task, TaskId};
use hermes_board::store::{BoardStore, CompleteOutcome, Completion, Release};
use hermes_proc::Wake;
use hermes_providers::{SideModels, Wanted};
use hermes_tools::{GoalClaim, GoalJudge, GoalVerdict};
use serde_json::Value;

use super::cards::TITLE;
use super::session::{BoardSession, refusal, usage};
use super::workers::complete_checked;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{one_line, visible};

/// Lines of a failed check that are printed.
const SHOWN_LINES: usize = 20;
/// Characters of a judge's reason that are printed.
const SHOWN_REASON: usize = 500;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The cards
    #[arg(required = true, value_name = "ID")]
    ids: Vec<TaskId>,
    /// Short result
    #[arg(long, value_name = "TEXT")]
    result: Option<String>,
    /// What is handed over; only for a single card
    #[arg(long, value_name = "TEXT")]
    summary: Option<String>,
    /// Facts for programs, a JSON object; only for a single card
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    if args.ids.len() > 1 && (args.summary.is_some() || args.metadata.is_some()) {
        return Err(usage(
            "--summary and --metadata say what one card hands over; they cannot be the same for \
             several",
        )
        .hint("complete the cards one by one, or without them"));
    }
    let completion = Completion {
        result: args.result.clone(),
        summary: args.summary.clone(),
        metadata: args.metadata.as_deref().map(metadata).transpose()?,
        ..Completion::default()
    };
    let mut session = BoardSession::open(context, board)?;
    session.for_each(&args.ids, |session, id| complete(session, id, &completion))
}

fn complete(session: &mut BoardSession<'_>, id: &TaskId, completion: &Completion) -> Result<()> {
    let completion = Completion {
        expected_run: session.own_run(id),
        ..completion.clone()
    };
    ask_the_judge(session, id, &completion)?;
    let checks = match complete_card(&mut session.store, &session.home, id, &completion)? {
        CompleteOutcome::Done(_) => {
            return Ok(session.printer().line(format!("Completed {id}"))?);
        }
        CompleteOutcome::NeedsChecks(checks) => counted(checks.len()),
    };
    if !session.task(id)?.status().satisfies_children() {
        let note = format!("{id}: running {checks}");
        session.printer().note(note)?;
    }
    match complete_checked(session, id, &completion)? {
        Finish::Done { .. } => Ok(session
            .printer()
            .line(format!("Completed {id} ({checks} passed)"))?),
        Finish::CheckFailed { evidence, release } => {
            session.printer().err(&output(&evidence))?;
            Err(failed(id, &evidence, release))
        }
        Finish::LostRace => Err(refusal(format!(
            "{id} was changed by somebody else while its checks ran"
        ))),
    }
}

/// A card with a goal is done when a judge finds it reached. Without a verdict it may pass: a judge
/// who is away must not hold up work that is finished.
fn ask_the_judge(session: &BoardSession<'_>, id: &TaskId, completion: &Completion) -> Result<()> {
    let card = session.store.task(id)?;
    let open = |card: &Task| card.goal_mode && !card.status().satisfies_children();
    let Some(card) = card.filter(open) else {
        return Ok(());
    };
    let judge = SideJudge {
        side: Arc::new(SideModels::new(session.context.config(), Wanted::default())),
        account: None,
    };
    let interrupt = Wake::new().map_err(|error| {
        CommandError::environment(format!("no file descriptor is left: {error}"))
    })?;
    let claim = GoalClaim {
        title: &card.title,
        body: card.body.as_deref().unwrap_or_default(),
        said: completion.handoff().unwrap_or("(nothing was said)"),
    };
    match judge.judge(&claim, &interrupt) {
        GoalVerdict::Reached => Ok(()),
        GoalVerdict::Unjudged(why) => Ok(session.printer().note(format!(
            "{id}: completed without a verdict on its goal: {}",
            one_line(&why, TITLE)
        ))?),
        GoalVerdict::NotYet(why) => Err(refusal(format!(
            "{id} is not done: a judge finds its goal not reached: {}",
            one_line(&why, SHOWN_REASON)
        ))
        .hint("say with --summary what was reached, or do what is missing")),
    }
}

fn counted(checks: usize) -> String {
    match checks {
        1 => "1 acceptance check".to_owned(),
        more => format!("{more} acceptance checks"),
    }
}

/// The end of what a check printed; all that was kept of it is on the card.
fn output(evidence: &CheckEvidence) -> String {
    let lines: Vec<&str> = evidence.output.trim_end().lines().collect();
    let skipped = lines.len().saturating_sub(SHOWN_LINES);
    let mut out = String::new();
    for line in lines.iter().skip(skipped) {
        out.push_str(&format!("  | {}\n", visible(line)));
    }
    out
}

fn failed(id: &TaskId, evidence: &CheckEvidence, release: Release) -> CommandError {
    let what = format!(
        "{id} is not done: check {} ({}) {}",
        evidence.position,
        one_line(&evidence.command, TITLE),
        evidence.ending()
    );
    match release {
        Release::Requeued { failures } => refusal(what).hint(format!(
            "it is ready again, failure {failures} is on it; `hermes kanban show {id}` has the output"
        )),
        Release::Blocked { failures, limit } => refusal(what).hint(format!(
            "it is blocked after {failures} failures, {limit} are allowed; `hermes kanban unblock \
             {id}` sets it free"
        )),
        Release::LostRace => refusal(what),
    }
}

/// A JSON object from the command line.
pub(super) fn metadata(text: &str) -> Result<Object> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(usage("--metadata: must be a JSON object")),
        Err(error) => Err(usage(format!("--metadata: no JSON: {error}"))),
    }
}
